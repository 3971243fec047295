#pragma once

#include "server/http/sse.hpp"
#include "server/openai/answering.hpp"
#include "server/responses/object.hpp"
#include "server/responses/output.hpp"
#include "server/responses/past.hpp"
#include "server/router.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace etna::server::responses {

/// Runs one `/v1/responses` request, from the parsed body to the stored result. Not thread-safe.
class Making {
public:
    using Clock = std::chrono::steady_clock;
    /// The receiver of frames; returns false to stop.
    using Sink = std::function<bool(std::string_view frame)>;

    /// Reads the body of a request, and loads the prior context. Errors: those of reading, of load_past() and
    /// of the model's name.
    static std::variant<std::shared_ptr<Making>, ApiError> prepare(Service& service,
                                                                   const HttpRequest& request,
                                                                   const Call& call, const Json& body,
                                                                   Purpose purpose = Purpose::answer);

    [[nodiscard]] const Request& request() const { return request_; }
    [[nodiscard]] const std::shared_ptr<Run>& run() const { return run_; }
    [[nodiscard]] openai::Answering& answering() { return *answering_; }
    [[nodiscard]] Json object() const;
    /// All model input except the instructions.
    [[nodiscard]] const Json& items() const { return items_; }

    /// Acquires the model. Here and below, `is_cancelled` is polled while waiting. Errors: those of
    /// Answering::acquire().
    std::optional<ApiError> acquire(const std::function<bool()>& is_cancelled);

    /// Acquires the model if necessary, and queues the answer. Errors: those of acquire() and
    /// Answering::begin(), mapped to this API's fields.
    std::optional<ApiError> begin(const std::function<bool()>& is_cancelled);
    [[nodiscard]] bool has_begun() const { return has_begun_; }
    /// Whether its events can be requested later.
    [[nodiscard]] bool can_be_followed() const { return request_.is_streamed && request_.stores; }

    /// Counts its prompt tokens, without generating. Errors: as begin().
    std::variant<std::size_t, ApiError> count(const std::function<bool()>& is_cancelled);

    /// As count(), after truncation.
    std::variant<std::size_t, ApiError> count_left(const std::function<bool()>& is_cancelled);

    /// Truncates the oldest items until the requested answer fits, or a fraction of the context if that is
    /// less. Call before begin(). Errors: those of count().
    std::optional<ApiError> leave_room(const std::function<bool()>& is_cancelled);

    /// Stores it as pending, so that it is found after a crash. Error: 500.
    std::optional<ApiError> keep_pending();

    /// Generates the answer, after begin() if that was not called, and stores it. Every event goes to `send`;
    /// an error becomes the response's failure. Ends early when `is_cancelled` returns true or `send` returns
    /// false.
    void make(const Sink& send, const std::function<bool()>& is_cancelled);

    /// The log entry for the answer so far.
    [[nodiscard]] AnswerLog log() const;

    /// Why there is no response, for clients that wait for a complete one; empty if there is one.
    [[nodiscard]] const std::optional<ApiError>& failure() const { return failure_; }

private:
    Making(Service& service, const HttpRequest& request, Request asked);

    std::variant<openai::GenerationCall, ApiError> read(const Json& body,
                                                        const openai::RequestContext& context);
    std::optional<ApiError> load_items();
    std::optional<ApiError> check_wishes();
    void leave_queue();
    void answer(const std::function<bool()>& is_cancelled);
    /// Limits on prompt tokens.
    struct Room {
        std::size_t most;
        std::size_t after_dropping;
    };
    [[nodiscard]] Room room() const;
    void drop_to_fit(std::size_t tokens_max, const std::function<bool()>& is_cancelled);
    bool drop_to_one_of(const std::vector<std::size_t>& places, std::size_t tokens_max,
                        const std::function<bool()>& is_cancelled);
    [[nodiscard]] Json left_items() const;
    void compose();
    void settle(const Status& status);
    void lose(const Error& error);
    void fail(const ApiError& error);
    std::vector<std::string> last_frames();
    [[nodiscard]] bool is_to_be_kept() const;
    [[nodiscard]] bool joins_conversation() const;
    Status keep(const std::vector<std::string>& last);
    void tell_end();
    void tell_state(std::string_view type);
    std::string frame_of(Json event);
    bool tell(Json event);
    bool is_waiting(const std::function<bool()>& is_cancelled);

    Service* service_; ///< borrowed
    storage::Owner owner_;
    Request request_;
    Purpose purpose_ = Purpose::answer;
    Past past_;
    std::size_t dropped_ = 0; ///< number of oldest items truncated
    Json items_;              ///< the complete model input
    Response response_;
    std::shared_ptr<Run> run_;
    openai::EndpointSpec kind_;
    OutputForm form_;
    std::shared_ptr<openai::Answering> answering_;
    std::shared_ptr<Output> output_ = std::make_shared<Output>();
    std::optional<ApiError> failure_;
    bool has_begun_ = false;
    bool is_left_ = false; ///< the client disconnected before its end
    Sink send_;
    bool is_heard_ = true;
    int64_t next_number_ = 0;
    Clock::time_point told_ = {}; ///< time of the last event
};

/// Streams the events of another request's response, from `number` to its end.
void follow(const Run& run, std::size_t number, EventStream& stream);

} // namespace etna::server::responses
