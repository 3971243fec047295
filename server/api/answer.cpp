#include "server/api/answer.hpp"

#include "server/api/model_choice.hpp"

#include <chrono>

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

namespace {

using Clock = std::chrono::steady_clock;

void send(Answer& answer, EventStream& stream) {
    const auto is_received = answer.stream(stream);
    if (is_received)
        return answer.active.end(*is_received ? 200 : client_closed_status);
    answer.active.record_error(is_received.error());
    answer.send_failure(stream, is_received.error());
}

ApiStatus begin(Answer& answer, const CancelPoll& is_cancelled) {
    ApiStatus begun = answer.begin(is_cancelled);
    if (!begun)
        answer.active.record_error(begun.error());
    return begun;
}

/// For a request whose model is still loading.
void load_and_send(Answer& answer, EventStream& stream) {
    const auto has_left = [&] { return stream.is_disconnected(); };
    const Status loaded = answer.active.acquire(has_left);
    const ApiStatus begun =
        loaded ? begin(answer, has_left) : ApiStatus(answer.active.report_failure(loaded.error()));
    if (begun)
        return send(answer, stream);
    answer.send_failure(stream, begun.error());
}

HttpReply stream_reply(const std::shared_ptr<Answer>& answer, void (*run)(Answer&, EventStream&)) {
    HttpReply reply = answer->stream_head();
    report_ignored(answer->active.ignored(), reply);
    answer->active.expect_stream();
    reply.stream = [answer, run](HttpWriter& writer) {
        EventStream stream(writer, answer->active.services().options.keep_alive, answer->keep_alive_frame());
        run(*answer, stream);
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
    const AnswerServices& services = answer->active.services();
    const auto wait_end = Clock::now() + services.options.keep_alive;
    const Status loaded = answer->active.acquire(
        [&] { return request.is_client_gone() || (is_streamed && Clock::now() > wait_end); });
    if (!loaded && loaded.error().kind == ErrorKind::cancelled && is_streamed && !services.is_aborting &&
        !request.is_client_gone())
        return stream_reply(answer, load_and_send);
    if (!loaded)
        return routed.write_error(request, answer->active.report_failure(loaded.error()));
    if (const auto begun = begin(*answer, request.is_client_gone); !begun)
        return routed.write_error(request, begun.error());
    return is_streamed ? stream_reply(answer, send) : complete_reply(*answer, request, routed);
}

} // namespace

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
