#include "server/openai/generation_endpoint.hpp"

#include "server/http/sse.hpp"
#include "server/models/model_sources.hpp"
#include "server/openai/active_request.hpp"

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

Json chunk_of(const ActiveRequest& active, const Json& piece) {
    Json chunk = to_json(active.envelope);
    chunk["choices"].push_back(piece);
    if (active.call.output_options.counts_each_chunk) {
        chunk["usage"] = active.usage_so_far(piece["index"].get<uint32_t>());
    } else if (active.call.output_options.includes_usage) {
        chunk["usage"] = nullptr;
    }
    for (const auto transform : active.call.transforms)
        transform(chunk);
    return chunk;
}

/// Sends everything after the headers of a started stream.
void send_answer(ActiveRequest& active, EventStream& stream) {
    const OutputOptions& output_options = active.call.output_options;
    std::optional<AnswerAggregator> stored;
    if (active.call.stored_chat)
        stored.emplace(active);
    for_each_prompt_annotation(active, [&](std::string_view name, const Json& value) {
        stream.send(annotation_frame(name, value));
    });
    const Status status = active.run(
        [&](const Json& piece) {
            if (stored)
                stored->add(piece);
            return stream.send(sse::data(dump_json(chunk_of(active, piece))));
        },
        [&] { return stream.is_disconnected(); });
    if (!status) {
        send_failure(stream, active.report_failure(status.error()));
        return;
    }
    // Stored before the end is sent: a client never sees a complete answer that is not stored.
    if (stored && !stream.is_disconnected()) {
        if (const auto error = store_chat(active, stored->json())) {
            active.record_error(*error);
            send_failure(stream, *error);
            return;
        }
    }
    if (output_options.includes_usage) {
        Json last = to_json(active.envelope);
        last["usage"] = active.usage->json();
        stream.send(sse::data(dump_json(last)));
    }
    if (output_options.includes_timing)
        stream.send(annotation_frame("timing", active.timing()));
    if (stream.send(sse::done))
        return active.in_flight->set_status(200);
    active.service->metrics.count_disconnect(active.model_name);
    active.in_flight->set_status(client_closed_status);
}

/// Sends the stream of a request whose model is still loading.
void load_and_send_answer(ActiveRequest& active, EventStream& stream) {
    const auto is_left = [&] { return stream.is_disconnected(); };
    const Status loaded = active.acquire(is_left);
    const auto error = loaded ? active.begin(is_left) : active.report_failure(loaded.error());
    if (!error)
        return send_answer(active, stream);
    send_failure(stream, *error);
}

HttpReply stream_reply(const std::shared_ptr<ActiveRequest>& active,
                       void (*send)(ActiveRequest&, EventStream&)) {
    HttpReply reply = sse::reply();
    report_ignored(active->call.output_options, reply);
    active->in_flight->set_status(client_closed_status); // the status if the stream is never run
    reply.stream = [active, send](HttpWriter& writer) {
        EventStream stream(writer, active->service->options.keep_alive);
        send(*active, stream);
    };
    reply.final_log = [active] { return active->log(); };
    return reply;
}

HttpReply complete_reply(ActiveRequest& active, const HttpRequest& request) {
    AnswerAggregator aggregator(active);
    const Status status = active.run([&](const Json& piece) { return aggregator.add(piece), true; },
                                     [&] { return request.is_client_gone(); });
    if (!status)
        return reply_of(active.report_failure(status.error()));
    const Json json = aggregator.json();
    const auto store_error =
        active.call.stored_chat && !request.is_client_gone() ? store_chat(active, json) : std::nullopt;
    if (store_error) {
        active.record_error(*store_error);
        return reply_of(*store_error);
    }
    if (request.is_client_gone()) {
        active.service->metrics.count_disconnect(active.model_name);
        active.in_flight->set_status(client_closed_status);
    } else {
        active.in_flight->set_status(200);
    }
    HttpReply reply = {.body = dump_json(json) + "\n"};
    report_ignored(active.call.output_options, reply);
    return reply;
}

HttpReply generate_reply(const std::shared_ptr<ActiveRequest>& active, const HttpRequest& request,
                         bool is_streamed) {
    const Service& service = *active->service;
    const auto wait_end = Clock::now() + service.options.keep_alive;
    const Status loaded =
        active->acquire([&] { return request.is_client_gone() || (is_streamed && Clock::now() > wait_end); });
    if (!loaded && loaded.error().kind == ErrorKind::cancelled && is_streamed && !service.is_aborting &&
        !request.is_client_gone())
        return stream_reply(active, load_and_send_answer);
    if (!loaded)
        return reply_of(active->report_failure(loaded.error()));
    if (const auto error = active->begin(request.is_client_gone))
        return reply_of(*error);
    return is_streamed ? stream_reply(active, send_answer) : complete_reply(*active, request);
}

constexpr std::string_view any_name_hint = "; start the server with --any-model-name to accept any name";

ApiError model_not_found(std::string message) {
    return {.status = 404, .message = std::move(message), .param = "model", .code = "model_not_found"};
}

ApiError model_refused(const Error& error) {
    ApiError refusal = api_error(error);
    refusal.param = "model";
    return refusal;
}

ApiError no_models_error() {
    return model_not_found("no model is served: the folder of models has none");
}

} // namespace

ApiError unknown_model(Service& service, std::string_view name, std::string_view hint) {
    constexpr std::size_t shown_max = 200; // the name is client input, as long as a body at most
    std::vector<std::string> names;
    for (const ModelListing& model : service.models.list())
        names.push_back(model.name);
    if (names.empty())
        return no_models_error();
    return model_not_found(fmt::format("the model `{}` does not exist; {}{}", name.substr(0, shown_max),
                                       served_names(name, names), hint));
}

ApiResult<std::string> model_of(Service& service, const Json& body) {
    Fields fields(body);
    const auto name = fields.text("model");
    ETNA_CHECK(fields.status());
    if (name) {
        const auto found = service.models.find_or_add(*name);
        if (found)
            return found->name;
        if (!service.options.accepts_any_model_name) {
            return found.error().kind == ErrorKind::not_found ? unknown_model(service, *name, any_name_hint)
                                                              : model_refused(found.error());
        }
    }
    std::string default_name = service.models.default_name();
    return default_name.empty() ? no_models_error() : ApiResult<std::string>(std::move(default_name));
}

void report_model(const std::string& name, HttpReply& reply) {
    reply.headers["etna-model"] = header_value(name);
    reply.log.model = name;
}

void complete_log(AnswerLog log, HttpReply& reply) {
    if (!reply.log.error.empty()) { // the error as sent to the client
        log.final_status.reset();
        log.error = std::move(reply.log.error);
        log.param = std::move(reply.log.param);
    }
    reply.log = std::move(log);
}

ApiResult<HttpReply> serve_generation(Service& service, const HttpRequest& request, const Call& call,
                                      const EndpointSpec& spec) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(const auto name, model_of(service, body));
    const bool is_streamed = body.value("stream", Json(false)) == true;
    const auto active = make_active_request(service, request, call, spec, name, std::move(body));
    HttpReply reply = generate_reply(active, request, is_streamed);
    report_model(active->model_name, reply);
    complete_log(active->log(), reply);
    reply.is_counted = true;
    return reply;
}

} // namespace etna::server::openai
