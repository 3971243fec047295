// POST /v1/responses and /v1/responses/input_tokens.
#include "server/http/sse.hpp"
#include "server/openai/answer.hpp"
#include "server/responses/endpoints.hpp"
#include "server/responses/making.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::responses {
namespace {

using Clock = std::chrono::steady_clock;

HttpReply whole_reply(Making& making, const HttpRequest& request) {
    making.make([](std::string_view) { return true; }, request.is_client_gone);
    if (making.failure())
        return reply_of(*making.failure());
    HttpReply reply = {.body = text_of(making.object()) + "\n"};
    tell_ignored(making.answering().call.delivery, reply);
    return reply;
}

HttpReply stream_reply(const std::shared_ptr<Making>& making) {
    HttpReply reply;
    reply.content_type = std::string(sse::content_type);
    reply.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
    tell_ignored(making->answering().call.delivery, reply);
    making->answering().in_flight->set_status(client_closed_status); // the status if the stream is never run
    reply.stream = [making](HttpWriter& writer) {
        EventStream stream(writer, making->answering().service->options.keep_alive);
        making->make([&](std::string_view frame) { return stream.send(frame); },
                     [&] { return stream.is_disconnected(); });
    };
    reply.final_log = [making] { return making->log(); };
    return reply;
}

HttpReply background_reply(const std::shared_ptr<Making>& making, Service& service) {
    if (const auto error = making->keep_pending())
        return reply_of(*error);
    const Json object = making->object();
    const openai::Delivery delivery = making->answering().call.delivery; // which the thread takes over
    const bool is_begun = service.persistence->runs.spawn(making->answering().client, [making, &service] {
        making->make([](std::string_view) { return true; },
                     [&service] { return service.is_aborting.load(); });
        service.log(
            background_line(service.options.log_format, making->answering().request_id, making->log()));
    });
    if (!is_begun) { // the stored pending response would never finish
        if (const auto gone =
                service.persistence->store->delete_response(making->run()->owner(), making->run()->id());
            !gone)
            return reply_of(store_failed(gone.error()));
        return reply_of({.status = 429,
                         .message = "too many responses are made in the background already",
                         .type = "rate_limit_exceeded",
                         .code = "too_many_background_responses",
                         .retry_after_s = 1});
    }
    HttpReply reply;
    tell_ignored(delivery, reply);
    if (!making->request().is_streamed) {
        reply.body = text_of(object) + "\n";
        return reply;
    }
    reply.content_type = std::string(sse::content_type);
    reply.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
    reply.stream = [run = making->run(), &service](HttpWriter& writer) {
        EventStream stream(writer, service.options.keep_alive);
        follow(*run, 0, stream);
    };
    return reply;
}

/// Errors are reported with a status, unless the model takes long to load.
HttpReply made_reply(const std::shared_ptr<Making>& making, Service& service, const HttpRequest& request) {
    constexpr std::chrono::milliseconds background_patience{200};
    const Request& asked = making->request();
    if (asked.stores)
        service.persistence->runs.show(making->run());
    const bool may_wait = asked.is_streamed || asked.is_background;
    const auto stream_patience = std::min(service.options.keep_alive, service.options.reassuring_interval);
    const auto patience_ends = Clock::now() + (asked.is_background ? background_patience : stream_patience);
    const auto unloaded = making->acquire(
        [&] { return request.is_client_gone() || (may_wait && Clock::now() > patience_ends); });
    const bool is_late = unloaded && may_wait && !service.is_aborting && !request.is_client_gone() &&
                         Clock::now() > patience_ends;
    if (unloaded && !is_late)
        return reply_of(*unloaded);
    if (!unloaded) {
        if (const auto refused = making->begin(request.is_client_gone))
            return reply_of(*refused);
    }
    if (asked.is_background)
        return background_reply(making, service);
    return asked.is_streamed ? stream_reply(making) : whole_reply(*making, request);
}

std::variant<std::shared_ptr<Making>, ApiError> prepare(Service& service, const HttpRequest& request,
                                                        const Call& call, Purpose purpose) {
    const auto body = parse_body(request);
    if (const auto* error = std::get_if<ApiError>(&body))
        return *error;
    return Making::prepare(service, request, call, std::get<Json>(body), purpose);
}

} // namespace

HttpReply create(Service& service, const HttpRequest& request, const Call& call) {
    auto prepared = prepare(service, request, call, Purpose::answer);
    if (const auto* error = std::get_if<ApiError>(&prepared))
        return reply_of(*error);
    const auto& making = std::get<std::shared_ptr<Making>>(prepared);
    HttpReply reply = made_reply(making, service, request);
    openai::tell_model(making->answering().model_name, reply);
    if (!making->request().is_background) // its thread may be using it
        openai::complete_log(making->log(), reply);
    reply.is_counted = true;
    return reply;
}

HttpReply count_input(Service& service, const HttpRequest& request, const Call& call) {
    auto prepared = prepare(service, request, call, Purpose::count);
    if (const auto* error = std::get_if<ApiError>(&prepared))
        return reply_of(*error);
    Making& making = *std::get<std::shared_ptr<Making>>(prepared);
    const auto count = making.count_left(request.is_client_gone);
    if (const auto* error = std::get_if<ApiError>(&count))
        return reply_of(*error);
    const Json told = {{"object", "response.input_tokens"}, {"input_tokens", std::get<std::size_t>(count)}};
    const openai::Delivery& delivery = making.answering().call.delivery;
    if (const auto refusal = refuse_unknown(making.answering().is_strict, delivery))
        return reply_of(*refusal);
    HttpReply reply = {.body = text_of(told) + "\n"};
    tell_ignored(delivery, reply);
    openai::tell_model(making.answering().model_name, reply);
    reply.is_counted = true;
    return reply;
}

} // namespace etna::server::responses
