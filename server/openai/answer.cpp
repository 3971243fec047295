#include "server/openai/answer.hpp"

#include "server/http/sse.hpp"
#include "server/models/model_sources.hpp"
#include "server/openai/annotations.hpp"
#include "server/openai/answering.hpp"
#include "server/openai/stored_chats.hpp"
#include "server/openai/whole_answer.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

using Clock = std::chrono::steady_clock;

/// Ends a stream with its answer's error, because the headers have been sent. The done frame follows, because
/// clients wait for it after errors, too.
void send_failure(EventStream& stream, const ApiError& error) {
    stream.send(sse::error({error.message}, error_json(error)) + std::string(sse::done));
}

Json chunk_of(const Answering& answering, const Json& piece) {
    Json chunk = to_json(answering.head);
    chunk["choices"].push_back(piece);
    if (answering.call.delivery.counts_each_chunk) {
        chunk["usage"] = answering.usage_so_far(piece["index"].get<uint32_t>());
    } else if (answering.call.delivery.includes_usage) {
        chunk["usage"] = nullptr;
    }
    for (const auto change : answering.call.rearrange)
        change(chunk);
    return chunk;
}

/// Sends everything after the headers of a started stream.
void send_answer(Answering& answering, EventStream& stream) {
    const Delivery& delivery = answering.call.delivery;
    std::optional<WholeAnswer> kept;
    if (answering.call.kept)
        kept.emplace(answering);
    tell_prompts(answering, [&](std::string_view name, const Json& value) {
        stream.send(annotation_frame(name, value));
    });
    const Status status = answering.run(
        [&](const Json& piece) {
            if (kept)
                kept->add(piece);
            return stream.send(sse::data(text_of(chunk_of(answering, piece))));
        },
        [&] { return stream.is_disconnected(); });
    if (!status) {
        send_failure(stream, answering.failed(status.error()));
        return;
    }
    if (kept && !stream.is_disconnected()) { // stored before the end is sent: a client never sees a complete
                                             // answer that is not stored
        if (const auto error = keep_chat(answering, kept->json())) {
            answering.note(*error);
            send_failure(stream, *error);
            return;
        }
    }
    if (delivery.includes_usage) {
        Json last = to_json(answering.head);
        last["usage"] = answering.usage->json();
        stream.send(sse::data(text_of(last)));
    }
    if (delivery.tells_timing)
        stream.send(annotation_frame("timing", answering.timing()));
    if (stream.send(sse::done))
        return answering.in_flight->set_status(200);
    answering.service->metrics.count_disconnect(answering.model_name);
    answering.in_flight->set_status(client_closed_status);
}

/// Sends the stream of a request whose model is still loading.
void send_late_answer(Answering& answering, EventStream& stream) {
    const auto is_left = [&] { return stream.is_disconnected(); };
    const Status loaded = answering.acquire(is_left);
    const auto error = loaded ? answering.begin(is_left) : answering.failed(loaded.error());
    if (!error)
        return send_answer(answering, stream);
    send_failure(stream, *error);
}

HttpReply stream_reply(const std::shared_ptr<Answering>& answering, void (*send)(Answering&, EventStream&)) {
    HttpReply reply;
    reply.content_type = std::string(sse::content_type);
    reply.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
    tell_ignored(answering->call.delivery, reply);
    answering->in_flight->set_status(client_closed_status); // the status if the stream is never run
    reply.stream = [answering, send](HttpWriter& writer) {
        EventStream stream(writer, answering->service->options.keep_alive);
        send(*answering, stream);
    };
    reply.final_log = [answering] { return answering->log(); };
    return reply;
}

HttpReply whole_reply(Answering& answering, const HttpRequest& request) {
    WholeAnswer whole(answering);
    const Status status = answering.run([&](const Json& piece) { return whole.add(piece), true; },
                                        [&] { return request.is_client_gone(); });
    if (!status)
        return reply_of(answering.failed(status.error()));
    const Json json = whole.json();
    const auto unkept =
        answering.call.kept && !request.is_client_gone() ? keep_chat(answering, json) : std::nullopt;
    if (unkept) {
        answering.note(*unkept);
        return reply_of(*unkept);
    }
    if (request.is_client_gone()) {
        answering.service->metrics.count_disconnect(answering.model_name);
        answering.in_flight->set_status(client_closed_status);
    } else {
        answering.in_flight->set_status(200);
    }
    HttpReply reply = {.body = text_of(json) + "\n"};
    tell_ignored(answering.call.delivery, reply);
    return reply;
}

HttpReply answer_with(const std::shared_ptr<Answering>& answering, const HttpRequest& request,
                      bool is_streamed) {
    const Service& service = *answering->service;
    const auto patience_ends = Clock::now() + service.options.keep_alive;
    const Status loaded = answering->acquire(
        [&] { return request.is_client_gone() || (is_streamed && Clock::now() > patience_ends); });
    if (!loaded && loaded.error().kind == ErrorKind::cancelled && is_streamed && !service.is_aborting &&
        !request.is_client_gone())
        return stream_reply(answering, send_late_answer);
    if (!loaded)
        return reply_of(answering->failed(loaded.error()));
    if (const auto error = answering->begin(request.is_client_gone))
        return reply_of(*error);
    return is_streamed ? stream_reply(answering, send_answer) : whole_reply(*answering, request);
}

} // namespace

namespace {

constexpr std::string_view any_name_hint = "; start the server with --any-model-name to accept any name";

ApiError no_model(std::string message) {
    return {.status = 404, .message = std::move(message), .param = "model", .code = "model_not_found"};
}

ApiError nothing_served() {
    return no_model("no model is served: the folder of models holds none yet");
}

} // namespace

ApiError unknown_model(Service& service, std::string_view wanted, std::string_view hint) {
    constexpr std::size_t shown_max = 200; // the name is client input, as long as a body at most
    std::vector<std::string> names;
    for (const ModelListing& model : service.models.list())
        names.push_back(model.name);
    if (names.empty())
        return nothing_served();
    return no_model(fmt::format("the model `{}` does not exist; {}{}", wanted.substr(0, shown_max),
                                served_names(wanted, names), hint));
}

std::variant<std::string, ApiError> model_of(Service& service, const Json& body) {
    Fields fields(body);
    const auto name = fields.text("model");
    if (fields.problem())
        return *fields.problem();
    if (name) {
        if (const auto found = service.models.find(*name))
            return found->name;
        if (!service.options.accepts_any_model_name)
            return unknown_model(service, *name, any_name_hint);
    }
    std::string usual = service.models.default_name();
    return usual.empty() ? nothing_served() : std::variant<std::string, ApiError>(std::move(usual));
}

void tell_model(const std::string& name, HttpReply& reply) {
    reply.headers["etna-model"] = header_value(name);
    reply.log.model = name;
}

void complete_log(AnswerLog known, HttpReply& reply) {
    if (!reply.log.error.empty()) { // the error as sent to the client
        known.final_status.reset();
        known.error = std::move(reply.log.error);
        known.param = std::move(reply.log.param);
    }
    reply.log = std::move(known);
}

HttpReply answer(Service& service, const HttpRequest& request, const Call& call, const EndpointSpec& kind) {
    auto body = parse_body(request);
    if (const auto* error = std::get_if<ApiError>(&body))
        return reply_of(*error);
    const auto name = model_of(service, std::get<Json>(body));
    if (const auto* error = std::get_if<ApiError>(&name))
        return reply_of(*error);
    const bool is_streamed = std::get<Json>(body).value("stream", Json(false)) == true;
    const auto answering = make_answering(service, request, call, kind, std::get<std::string>(name),
                                          std::get<Json>(std::move(body)));
    HttpReply reply = answer_with(answering, request, is_streamed);
    tell_model(answering->model_name, reply);
    complete_log(answering->log(), reply);
    reply.is_counted = true;
    return reply;
}

} // namespace etna::server::openai
