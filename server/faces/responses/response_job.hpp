#pragma once

#include "core/base/cancel.hpp"
#include "server/api/route.hpp"
#include "server/faces/responses/object.hpp"
#include "server/faces/responses/output.hpp"
#include "server/faces/responses/prior_context.hpp"
#include "server/faces/responses/response_prompt.hpp"
#include "server/faces/responses/services.hpp"
#include "server/http/sse.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::responses {

/// The identity of a response.
struct ResponseId {
    std::string id; ///< "resp_..."
    int64_t created_unix_s = 0;
};

/// Runs one `/v1/responses` request, from the parsed body to the stored result. Not thread-safe.
class ResponseJob {
public:
    using Clock = std::chrono::steady_clock;
    /// The receiver of frames; returns false to stop.
    using Sink = std::function<bool(std::string_view frame)>;

    /// Reads the body of a request, and loads the prior context. Errors: those of reading, of
    /// load_prior_context() and of the model's name. `known`: of a response that is generated again; empty: a
    /// new one.
    static ApiResult<std::shared_ptr<ResponseJob>>
    prepare(const Services& services, const HttpRequest& request, const RoutedRequest& routed,
            const Json& body, Purpose purpose = Purpose::answer, std::optional<ResponseId> known = {});

    [[nodiscard]] const Request& request() const { return request_; }
    [[nodiscard]] const std::shared_ptr<ResponseStream>& stream() const { return stream_; }
    [[nodiscard]] api::ActiveRequest& active() { return *active_; }
    [[nodiscard]] Json object() const;
    /// All model input except the instructions.
    [[nodiscard]] const Json& items() const { return prompt_.items(); }

    /// Acquires the model. Here and below, `is_cancelled` is polled while waiting. Errors: those of
    /// ActiveRequest::acquire().
    ApiStatus acquire(const CancelPoll& is_cancelled);

    /// Acquires the model if necessary, and queues the answer. Errors: those of acquire() and
    /// ActiveRequest::begin(), with the field.
    ApiStatus begin(const CancelPoll& is_cancelled);

    /// Counts its prompt tokens after truncation, without generating. Errors: as begin().
    ApiResult<std::size_t> count(const CancelPoll& is_cancelled);

    /// Truncates the oldest items until the requested answer fits, or a fraction of the context if that is
    /// less. Call before begin(). Errors: those of count().
    ApiStatus truncate(const CancelPoll& is_cancelled);

    /// Stores it as pending with its request, so that the next process continues it: see rerun.hpp. Error:
    /// 500.
    ApiStatus store_pending();

    /// `hook`: called once, on the thread of run(), when the answer leaves the queue; empty: nothing.
    void on_begin(std::function<void()> hook) { on_begin_ = std::move(hook); }

    /// Generates the answer, after begin() if that was not called, and stores it. Every event goes to `send`;
    /// an error becomes the response's failure. Ends early when `is_cancelled` returns true or `send` returns
    /// false.
    void run(const Sink& send, const CancelPoll& is_cancelled);

    /// Returns the log entry for the answer so far.
    [[nodiscard]] AnswerLog log() const;

    /// Why there is no response, for clients that wait for a complete one; empty if there is one.
    [[nodiscard]] const std::optional<ApiError>& failure() const { return failure_; }

private:
    ResponseJob(const Services& services, const HttpRequest& request, Request parsed, Purpose purpose,
                ResponseId identity);

    void choose_seed();
    [[nodiscard]] std::string rerun_of(const HttpRequest& request, Json body) const;
    ApiStatus load_prompt();
    ApiStatus check_support();
    /// Sets the output options and the parameters that the response repeats.
    void adopt(const generate::Request& generation);

    void generate(const CancelPoll& is_cancelled);
    bool poll(const CancelPoll& is_cancelled);
    void leave_queue();
    void complete(const Status& status);
    void fail(const ApiError& error);
    /// Whether the next process continues it, because this one ends.
    [[nodiscard]] bool is_left_pending() const;

    void send_end();
    void send_state(std::string_view type);
    bool send(Json event);
    std::string frame_of(Json event);
    std::vector<std::string> final_frames();
    /// Whether its events can be requested later.
    [[nodiscard]] bool is_replayable() const { return request_.is_streamed && request_.stores; }

    Status store(const std::vector<std::string>& final_frames);
    void handle_store_failure(const Error& error);
    [[nodiscard]] bool is_storable() const;
    [[nodiscard]] bool joins_conversation() const;

    const Services services_;
    storage::Owner owner_;
    Request request_;
    std::string rerun_;                       ///< rerun_text() of a background response
    std::optional<storage::History> history_; ///< that of the previous response
    ResponsePrompt prompt_;
    Response response_;
    std::shared_ptr<ResponseStream> stream_;
    ResponseOptions options_;
    std::unique_ptr<api::ActiveRequest> active_;
    std::shared_ptr<Output> output_ = std::make_shared<Output>();
    std::optional<ApiError> failure_;
    bool has_begun_ = false;
    bool is_abandoned_ = false; ///< the client disconnected before the end of the answer
    std::function<void()> on_begin_;
    Sink sink_;
    bool is_connected_ = true; ///< the sink still accepts frames
    int64_t next_number_ = 0;
    Clock::time_point last_event_ = {};
};

/// Streams the events of another request's response, from `number` to its end.
void follow(const ResponseStream& response, std::size_t number, EventStream& stream);

} // namespace etna::server::responses
