#include "server/api/answer.hpp"

#include "server/api/model_choice.hpp"

#include <chrono>
#include <exception>

namespace etna::server::api {

Status Answer::run(generate::CollectedAnswer::Options collected, const Receiver& receive,
                   const CancelPoll& is_cancelled) {
    answers.assign(active.generation()->choices(), generate::CollectedAnswer(std::move(collected)));
    return active.run(
        [&](uint32_t choice, const generate::Event& event) {
            answers[choice].take(event);
            if (!receive(choice, event))
                return Delivery::disconnected;
            return active.ends_after_call() && answers[choice].complete_calls() > 0 ? Delivery::complete
                                                                                    : Delivery::proceed;
        },
        is_cancelled);
}

std::chrono::milliseconds Answer::head_wait() const {
    return active.services().options.keep_alive;
}

namespace {

using Clock = std::chrono::steady_clock;

ApiStatus begin(Answer& answer, const CancelPoll& is_cancelled) {
    ApiStatus begun = answer.begin(is_cancelled);
    if (!begun)
        answer.active.record_error(begun.error());
    return begun;
}

/// For a request whose model is still loading.
ApiStatus load_and_begin(Answer& answer, EventStream& stream) {
    const auto must_end = [&] { return answer.poll(stream); };
    if (const Status loaded = answer.active.acquire(must_end); !loaded)
        return answer.active.report_failure(loaded.error());
    return begin(answer, must_end);
}

/// Returns whether the client has received the end of the stream.
ApiResult<bool> try_send(Answer& answer, AnswerStart start, EventStream& stream) {
    try {
        answer.open(stream);
        if (start == AnswerStart::loading)
            ETNA_CHECK(load_and_begin(answer, stream));
        return answer.stream(stream);
    } catch (const std::exception&) { // no caller can report it: the headers have been sent
        return ApiError{.status = 500,
                        .message = "internal server error",
                        .type = "server_error",
                        .code = "internal_error"};
    }
}

HttpReply stream_reply(const std::shared_ptr<Answer>& answer, AnswerStart start) {
    HttpReply reply = answer->stream_head();
    report_ignored(answer->active.ignored(), reply);
    answer->active.expect_stream();
    reply.stream = [answer, start](HttpWriter& writer) {
        EventStream stream(writer, answer->active.services().options.keep_alive, answer->keep_alive_frame());
        send_answer(*answer, start, stream);
    };
    reply.final_log = [answer] { return answer->active.log(); };
    return reply;
}

HttpReply complete_reply(Answer& answer, const HttpRequest& request, const RoutedRequest& routed) {
    auto body = answer.complete([&] { return request.is_client_gone(); });
    if (!body) {
        answer.active.record_error(body.error());
        return routed.write_error(request, body.error());
    }
    answer.active.end(request.is_client_gone() ? client_closed_status : 200);
    HttpReply reply = {.body = std::move(*body)};
    report_ignored(answer.active.ignored(), reply);
    return reply;
}

/// Adds the answering model and the log entry.
void describe(const ActiveRequest& active, HttpReply& reply) {
    report_model(active.model_name(), reply);
    complete_log(active.log(), reply);
    reply.is_counted = true;
}

HttpReply reply_to(const std::shared_ptr<Answer>& answer, const HttpRequest& request,
                   const RoutedRequest& routed, bool is_streamed) {
    const auto start =
        start_answer(*answer, request, is_streamed ? std::optional(answer->head_wait()) : std::nullopt);
    if (!start)
        return routed.write_error(request, start.error());
    return is_streamed ? stream_reply(answer, *start) : complete_reply(*answer, request, routed);
}

} // namespace

ApiResult<AnswerStart> start_answer(Answer& answer, const HttpRequest& request,
                                    std::optional<std::chrono::milliseconds> load_wait) {
    const auto began = Clock::now();
    const auto has_waited = [&] { return load_wait && Clock::now() - began > *load_wait; };
    const Status loaded = answer.active.acquire([&] { return request.is_client_gone() || has_waited(); });
    const bool is_loading = !loaded && loaded.error().kind == ErrorKind::cancelled && has_waited() &&
                            !answer.active.services().is_aborting && !request.is_client_gone();
    if (is_loading)
        return AnswerStart::loading;
    if (!loaded)
        return answer.active.report_failure(loaded.error());
    ETNA_CHECK(begin(answer, request.is_client_gone));
    return AnswerStart::begun;
}

void send_answer(Answer& answer, AnswerStart start, EventStream& stream) {
    const auto is_received = try_send(answer, start, stream);
    if (is_received)
        return answer.active.end(*is_received ? 200 : client_closed_status);
    answer.active.record_error(is_received.error());
    answer.send_failure(stream, is_received.error());
}

HttpReply reply_with(const std::shared_ptr<Answer>& answer, const HttpRequest& request,
                     const RoutedRequest& routed, bool is_streamed) {
    HttpReply reply = reply_to(answer, request, routed, is_streamed);
    describe(answer->active, reply);
    return reply;
}

HttpReply reply_once(ActiveRequest& active, ApiResult<HttpReply> result, const HttpRequest& request,
                     const RoutedRequest& routed) {
    if (result) {
        active.end(200);
    } else {
        active.record_error(result.error());
    }
    HttpReply reply = result ? std::move(*result) : routed.write_error(request, result.error());
    describe(active, reply);
    return reply;
}

} // namespace etna::server::api
