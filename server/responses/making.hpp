#pragma once

#include "server/event_stream.hpp"
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

/// A response between its request and its end. Not thread-safe: one thread at a time.
class Making {
public:
    using Clock = std::chrono::steady_clock;
    /// Where frames go; false when nobody wants more.
    using Sink = std::function<bool(std::string_view frame)>;

    /// Reads the body of a request, and loads what it goes on from. Errors: those of reading, of load_past()
    /// and of the model's name.
    static std::variant<std::shared_ptr<Making>, ApiError> prepare(Service& service,
                                                                   const HttpRequest& request,
                                                                   const Call& call, const Json& body,
                                                                   Purpose purpose = Purpose::answer);

    [[nodiscard]] const Request& request() const { return request_; }
    [[nodiscard]] const std::shared_ptr<Run>& run() const { return run_; }
    [[nodiscard]] openai::Answering& answering() { return *answering_; }
    [[nodiscard]] Json object() const;
    /// All that the model is given beside the instructions.
    [[nodiscard]] const Json& items() const { return items_; }

    /// Takes the model. `is_unwanted` is asked while it waits, here and below. Errors: those of
    /// Answering::acquire().
    std::optional<ApiError> acquire(const std::function<bool()>& is_unwanted);

    /// Takes the model if that has not been done, and queues the answer. Errors: those of acquire() and
    /// Answering::begin(), in the words of this API.
    std::optional<ApiError> begin(const std::function<bool()>& is_unwanted);
    [[nodiscard]] bool has_begun() const { return has_begun_; }
    /// Whether somebody may ask for its events.
    [[nodiscard]] bool can_be_followed() const { return request_.is_streamed && request_.stores; }

    /// How many tokens its prompt has, without an answer. Errors: as begin().
    std::variant<std::size_t, ApiError> count(const std::function<bool()>& is_unwanted);

    /// As count(), of what truncation leaves.
    std::variant<std::size_t, ApiError> count_left(const std::function<bool()>& is_unwanted);

    /// Drops the oldest items until there is room for the answer that is asked for, or a part of the context
    /// if that is less. To be called before begin(). Errors: those of count().
    std::optional<ApiError> leave_room(const std::function<bool()>& is_unwanted);

    /// Keeps it as one that is being made, so that it is found again after the process has died. Error: 500.
    std::optional<ApiError> keep_pending();

    /// Makes the answer, begins it before that if it has not begun, and keeps it. Every event goes to `send`;
    /// what fails is told as the response's failure. When `is_unwanted` says so, or `send`, it ends.
    void make(const Sink& send, const std::function<bool()>& is_unwanted);

    /// What is known of the answer by now, for the log.
    [[nodiscard]] AnswerLog log() const;

    /// Why there is no response; for clients that wait for a whole one. Empty where there is one.
    [[nodiscard]] const std::optional<ApiError>& failure() const { return failure_; }

private:
    Making(Service& service, const HttpRequest& request, Request asked);

    std::variant<openai::GenerationCall, ApiError> read(const Json& body,
                                                        const openai::RequestContext& context);
    std::optional<ApiError> load_items();
    std::optional<ApiError> check_wishes();
    void leave_queue();
    void answer(const std::function<bool()>& is_unwanted);
    /// Tokens of a prompt.
    struct Room {
        std::size_t most;
        std::size_t after_dropping;
    };
    [[nodiscard]] Room room() const;
    void drop_to_fit(std::size_t tokens_max, const std::function<bool()>& is_unwanted);
    bool drop_to_one_of(const std::vector<std::size_t>& places, std::size_t tokens_max,
                        const std::function<bool()>& is_unwanted);
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
    bool is_waiting(const std::function<bool()>& is_unwanted);

    Service* service_; ///< borrowed
    memory::Owner owner_;
    Request request_;
    Purpose purpose_ = Purpose::answer;
    Past past_;
    std::size_t dropped_ = 0; ///< of the items, the oldest, for want of room
    Json items_;              ///< all that the model is given
    Response response_;
    std::shared_ptr<Run> run_;
    openai::AnswerKind kind_;
    OutputForm form_;
    std::shared_ptr<openai::Answering> answering_;
    std::shared_ptr<Output> output_ = std::make_shared<Output>();
    std::optional<ApiError> failure_;
    bool has_begun_ = false;
    bool is_left_ = false; ///< its client had gone before its end
    Sink send_;
    bool is_heard_ = true;
    int64_t next_number_ = 0;
    Clock::time_point told_ = {}; ///< when the last event was
};

/// Sends the events of a response that somebody else makes, from a number on, to its end.
void follow(const Run& run, std::size_t number, EventStream& stream);

} // namespace etna::server::responses
