#pragma once

#include "core/base/cancel.hpp"
#include "core/generate/collected_answer.hpp"
#include "server/api/active_request.hpp"
#include "server/http/sse.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::api {

/// The answer to a request that generates, in the form of one API. Not thread-safe.
class Answer {
public:
    explicit Answer(ActiveRequest request) : active(std::move(request)) {}
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;
    virtual ~Answer() = default;

    /// Reads the body and queues the generation. Precondition: the model is acquired. Errors, which the
    /// caller records: those of reading, and of ActiveRequest::begin().
    virtual ApiStatus begin(const CancelPoll& is_cancelled) = 0;

    /// Generates the answer, and returns the body of the complete response. Precondition here and below:
    /// begin() has succeeded.
    virtual ApiResult<std::string> complete(const CancelPoll& is_cancelled) = 0;

    /// Sends the events that precede the generation. begin() follows if the model loads slowly.
    virtual void open(EventStream& /*stream*/) {}

    /// Generates, and sends everything after open(). Returns whether the client has received the end. Errors
    /// are for send_failure().
    virtual ApiResult<bool> stream(EventStream& stream) = 0;

    /// Ends a stream with an error, because the headers have been sent. begin() may have failed.
    virtual void send_failure(EventStream& stream, const ApiError& error) = 0;

    /// Called periodically after open() while a stream waits for its model; may send events. Returns whether
    /// the answer must end; by default, whether the client has disconnected.
    virtual bool poll(EventStream& stream) { return stream.is_disconnected(); }

    /// The head of a stream; by default, of server-sent events.
    [[nodiscard]] virtual HttpReply stream_head() const { return event_stream_reply(); }

    /// The time that the head of a stream waits for the model; by default, the keep-alive interval.
    [[nodiscard]] virtual std::chrono::milliseconds head_wait() const;

    /// The keep-alive frame of an idle stream; static.
    [[nodiscard]] virtual std::string_view keep_alive_frame() const { return sse::keep_alive; }

    ActiveRequest active;

protected:
    /// Receives an event, which is collected already; returns false if the client is gone.
    using Receiver = std::function<bool(uint32_t choice, const generate::Event& event)>;

    /// Runs the generation and collects its answers. Errors: those of ActiveRequest::run().
    Status run(generate::CollectedAnswer::Options collected, const Receiver& receive,
               const CancelPoll& is_cancelled);

    std::vector<generate::CollectedAnswer> answers; ///< of each choice, from run() on
};

/// The state of an answer whose stream is about to be sent.
enum class AnswerStart : uint8_t {
    begun,
    loading, ///< begin() follows when its model is loaded
};

/// Acquires the model, at most for `load_wait` (empty: without a limit), and begins the answer. Errors, which
/// are recorded: those of Models::acquire() and Answer::begin().
ApiResult<AnswerStart> start_answer(Answer& answer, const HttpRequest& request,
                                    std::optional<std::chrono::milliseconds> load_wait);

/// Sends the answer's stream to its end, and records its status. An exception ends it with an error 500.
void send_answer(Answer& answer, AnswerStart start, EventStream& stream);

/// Replies with the answer, streamed or complete. All errors that have a status are detected before the
/// headers are sent, unless a model loads for longer than Answer::head_wait(): then the stream starts early,
/// and a failure is reported in it.
HttpReply reply_with(const std::shared_ptr<Answer>& answer, const HttpRequest& request,
                     const RoutedRequest& routed, bool is_streamed);

/// Completes and returns the reply of a request that was answered without a stream: its errors are written,
/// and the answer's log entry is added.
HttpReply reply_once(ActiveRequest& active, ApiResult<HttpReply> result, const HttpRequest& request,
                     const RoutedRequest& routed);

} // namespace etna::server::api
