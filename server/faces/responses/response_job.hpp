#pragma once

#include "core/base/cancel.hpp"
#include "server/api/answer.hpp"
#include "server/faces/responses/output.hpp"
#include "server/faces/responses/prepared_response.hpp"
#include "server/faces/responses/response_stream.hpp"
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

/// Runs one `/v1/responses` request, from the parsed body to the stored result, for its client and for those
/// that follow it by its id. Not thread-safe.
class ResponseJob : public api::Answer {
public:
    using Clock = std::chrono::steady_clock;

    ResponseJob(const Services& services, const HttpRequest& request, const RoutedRequest& routed,
                PreparedResponse prepared);
    ResponseJob(const ResponseJob&) = delete;
    ResponseJob& operator=(const ResponseJob&) = delete;
    /// Ends its events for those that follow it.
    ~ResponseJob() override;

    [[nodiscard]] const Request& request() const { return request_; }
    /// Its state for other requests.
    [[nodiscard]] const std::shared_ptr<ResponseStream>& shared() const { return shared_; }
    [[nodiscard]] Json object() const { return to_json(response_, options_.standard); }
    /// All model input except the instructions.
    [[nodiscard]] const Json& items() const { return prompt_.items(); }

    /// Counts its prompt tokens after truncation, without generating. Acquires the model; here and below,
    /// `is_cancelled` is polled while waiting. Errors: those of ActiveRequest::acquire() and of begin().
    ApiResult<std::size_t> count(const CancelPoll& is_cancelled);

    /// Acquires the model, and truncates the oldest items until the requested answer fits, or a fraction of
    /// the context if that is less. Call before begin(). Errors: those of count().
    ApiStatus truncate(const CancelPoll& is_cancelled);

    /// Stores it as pending with its request, so that the next process continues it: see rerun.hpp. Error:
    /// 500.
    ApiStatus store_pending();

    /// `hook`: called once, on the thread of send_answer(), when the answer leaves the queue; empty: nothing.
    void on_begin(std::function<void()> hook) { on_begin_ = std::move(hook); }

    ApiStatus begin(const CancelPoll& is_cancelled) override;

    /// Also stores the response, whose object is the body.
    ApiResult<std::string> complete(const CancelPoll& is_cancelled) override;

    void open(EventStream& stream) override;
    ApiResult<bool> stream(EventStream& stream) override;

    /// Stores the failed response, and sends its final events.
    void send_failure(EventStream& stream, const ApiError& error) override;

    /// Also sends progress events.
    bool poll(EventStream& stream) override;

    [[nodiscard]] std::chrono::milliseconds head_wait() const override;

private:
    ApiStatus acquire(const CancelPoll& is_cancelled);
    /// Sets the output options and the parameters that the response repeats.
    void adopt(const generate::Request& generation);

    ApiStatus generate(const CancelPoll& must_end);
    void leave_queue();
    void keep_output();
    void set_final_status();
    void fail(const ApiError& error);
    /// Whether the next process continues it, because this one ends.
    [[nodiscard]] bool is_left_pending() const;

    void send_state(std::string_view type);
    void send(Json event);
    ApiResult<bool> send_end();
    std::string frame_of(Json event);
    std::vector<std::string> final_frames();
    /// Whether its events can be requested later.
    [[nodiscard]] bool is_replayable() const { return request_.is_streamed && request_.stores; }

    ApiStatus store_end(const std::vector<std::string>& final_frames);
    Status store(const std::vector<std::string>& final_frames);
    [[nodiscard]] bool is_storable() const;
    [[nodiscard]] bool joins_conversation() const;

    const Services services_;
    Request request_;
    std::string rerun_;                       ///< rerun_text() of a background response
    std::optional<storage::History> history_; ///< that of the previous response
    ResponsePrompt prompt_;
    Response response_;
    std::shared_ptr<ResponseStream> shared_;
    ResponseOptions options_;
    std::shared_ptr<Output> output_ = std::make_shared<Output>();
    std::optional<ApiError> failure_;
    bool is_abandoned_ = false;  ///< the client disconnected before the end of the answer
    bool is_unstorable_ = false; ///< the store has refused it
    std::function<void()> on_begin_;
    EventStream* client_ = nullptr; ///< borrowed from open() on; null: it is sent whole
    bool is_connected_ = true;      ///< the client still accepts frames
    int64_t next_number_ = 0;
    Clock::time_point last_event_ = {};
};

/// Streams the events of another request's response, from `number` to its end.
void follow(const ResponseStream& response, std::size_t number, EventStream& stream);

} // namespace etna::server::responses
