// POST /v1/chat/completions. Sources: OpenAI API 2.3.0; Dynamo's and OVMS's descriptions of the same
// endpoint.

#include "server/event_stream.hpp"
#include "server/ids.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/chat_response.hpp"
#include "server/openai/endpoints.hpp"
#include "server/sse.hpp"

#include <ctime>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {
namespace {

/// A request between its acceptance and its last byte.
struct Answering {
    Service* service = nullptr; ///< borrowed, as long as the server runs
    std::unique_ptr<InFlight> in_flight;
    Models::Handle model;
    ChatCall call;
    AnswerHead head;
    std::optional<generate::Generation> generation;
    Usage usage;
    bool was_cut = false; ///< an answer was ended from outside

    /// Finishes the generation. `deliver` gets every delta, and returns false when nobody wants more.
    Status run(const std::function<bool(const Json& choice)>& deliver,
               const std::function<bool()>& is_unwanted);

private:
    generate::Flow take(ChatChoice& choice, const generate::Event& event,
                        const std::function<bool(const Json&)>& deliver);
    void count(const generate::Finished& finished);
};

Status Answering::run(const std::function<bool(const Json&)>& deliver,
                      const std::function<bool()>& is_unwanted) {
    std::vector<ChatChoice> choices;
    for (uint32_t index = 0; index < call.request.choices; ++index)
        choices.emplace_back(index, call.request.logprobs.has_value());
    for (ChatChoice& choice : choices)
        deliver(choice.begin());
    ETNA_CHECK(generation->finish(
        [&](uint32_t index, const generate::Event& event) { return take(choices[index], event, deliver); },
        [&] { return service->is_aborting || is_unwanted(); }));
    if (service->is_aborting && was_cut)
        return Error{ErrorKind::cancelled, "the server is shutting down, and the answer did not end in time"};
    return {};
}

generate::Flow Answering::take(ChatChoice& choice, const generate::Event& event,
                               const std::function<bool(const Json&)>& deliver) {
    if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        usage.add(*finished);
        count(*finished);
        was_cut = was_cut || finished->finish_reason == generate::FinishReason::cancelled;
    }
    const auto delta = choice.take(event);
    const bool goes_on = !delta || deliver(*delta);
    const bool has_enough = !call.has_parallel_calls && choice.calls_done() > 0;
    return goes_on && !has_enough ? generate::Flow::go_on : generate::Flow::stop;
}

void Answering::count(const generate::Finished& finished) {
    constexpr double ms_per_second = 1000;
    const std::size_t tokens = finished.tokens.size();
    service->metrics.add(
        {.model = head.model,
         .prompt_tokens = finished.prompt_tokens,
         .cached_tokens = finished.cached_tokens,
         .completion_tokens = static_cast<uint32_t>(tokens),
         .queue_s = finished.timings.queue_ms / ms_per_second,
         .first_token_s = (finished.timings.queue_ms + finished.timings.prompt_ms) / ms_per_second,
         .prompt_s = finished.timings.prompt_ms / ms_per_second,
         .between_tokens_s =
             tokens > 1 ? finished.timings.generation_ms / ms_per_second / static_cast<double>(tokens - 1)
                        : 0});
}

Json chunk_of(const AnswerHead& head, const Json& choice, bool includes_usage) {
    Json chunk = to_json(head);
    chunk["choices"].push_back(choice);
    if (includes_usage)
        chunk["usage"] = nullptr;
    return chunk;
}

std::string annotation(std::string_view name, const Json& value) {
    return sse::write({.data = text_of(value), .event = std::string(name), .comments = {text_of(value)}});
}

/// What the generation failed with, as a frame, after the headers have gone.
std::string failure_frame(const Error& error) {
    return sse::error({error.message}, error_json(api_error(error)));
}

/// Drops a model whose device is lost, so that the next request gets a new one.
void discard_lost(Answering& answering, const Error& error) {
    if (error.kind == ErrorKind::device_lost)
        answering.service->models.discard(answering.model);
}

void send_whole_stream(Answering& answering, HttpWriter& writer) {
    EventStream stream(writer, answering.service->options.keep_alive);
    const Delivery& delivery = answering.call.delivery;
    if (delivery.tells_prompt)
        stream.send(annotation("formatted_prompt", answering.generation->prompt_text()));
    if (delivery.tells_tokens)
        stream.send(
            annotation("token_ids", Json(std::vector<TokenId>(answering.generation->prompt_tokens().begin(),
                                                              answering.generation->prompt_tokens().end()))));
    const Status status = answering.run(
        [&](const Json& choice) {
            return stream.send(sse::data(text_of(chunk_of(answering.head, choice, delivery.includes_usage))));
        },
        [&] { return stream.is_left(); });
    if (!status) {
        discard_lost(answering, status.error());
        stream.send(failure_frame(status.error()));
        return answering.in_flight->set_status(api_error(status.error()).status);
    }
    if (delivery.includes_usage) {
        Json last = to_json(answering.head);
        last["usage"] = to_json(answering.usage);
        stream.send(sse::data(text_of(last)));
    }
    if (delivery.tells_timing)
        stream.send(annotation("timing", {{"total_ms", answering.in_flight->elapsed_s() * 1000}}));
    if (stream.send(sse::done)) {
        answering.in_flight->set_status(200);
    } else {
        answering.service->metrics.client_left(answering.head.model);
        answering.in_flight->set_status(499);
    }
}

HttpReply whole_answer(Answering& answering, const HttpRequest& request) {
    std::vector<ChatMessage> messages(answering.call.request.choices);
    const Status status = answering.run(
        [&](const Json& choice) { return messages[choice["index"].get<std::size_t>()].add(choice), true; },
        [&] { return request.is_client_gone(); });
    if (!status) {
        discard_lost(answering, status.error());
        const ApiError error = api_error(status.error());
        answering.in_flight->set_status(error.status);
        return reply_of(error);
    }
    Json json = to_json(answering.head);
    for (const ChatMessage& message : messages)
        json["choices"].push_back(message.result());
    json["usage"] = to_json(answering.usage);
    const Delivery& delivery = answering.call.delivery;
    if (delivery.tells_prompt)
        json["nvext"]["formatted_prompt"] = answering.generation->prompt_text();
    if (delivery.tells_tokens)
        json["nvext"]["token_ids"] = std::vector<TokenId>(answering.generation->prompt_tokens().begin(),
                                                          answering.generation->prompt_tokens().end());
    if (delivery.tells_timing)
        json["nvext"]["timing"] = {{"total_ms", answering.in_flight->elapsed_s() * 1000}};
    answering.in_flight->set_status(200);
    return {.body = text_of(json) + "\n"};
}

/// The model's name in the body; the first model's where there is none.
std::variant<std::string, ApiError> model_of(Service& service, const Json& body) {
    Fields fields(body);
    const auto name = fields.text("model");
    if (fields.problem())
        return *fields.problem();
    const std::string wanted = name.value_or(service.models.default_name());
    if (service.models.find(wanted))
        return wanted;
    return ApiError{
        .status = 404,
        .message = fmt::format("there is no model `{}`; GET /v1/models lists those that there are", wanted),
        .param = "model",
        .code = "model_not_found"};
}

std::optional<ApiError> begin(Answering& answering) {
    auto generation = generate::Generation::begin(*answering.model, answering.call.request);
    if (generation) {
        answering.generation.emplace(std::move(*generation));
        return std::nullopt;
    }
    ApiError error = api_error(generation.error());
    if (error.status == 400 &&
        generation.error().message.find("but the context holds") != std::string::npos) {
        error.code = "context_length_exceeded";
        error.param = "messages";
    }
    discard_lost(answering, generation.error());
    return error;
}

HttpReply refused(const ApiError& error, InFlight* in_flight) {
    if (in_flight != nullptr)
        in_flight->set_status(error.status);
    return reply_of(error);
}

} // namespace

HttpReply chat_completions(Service& service, const HttpRequest& request, const Call& call) {
    const auto body = parse_body(request.body);
    if (const auto* error = std::get_if<ApiError>(&body))
        return reply_of(*error);
    const auto name = model_of(service, std::get<Json>(body));
    if (const auto* error = std::get_if<ApiError>(&name))
        return reply_of(*error);

    auto answering = std::make_shared<Answering>();
    answering->service = &service;
    const bool is_streamed = std::get<Json>(body).value("stream", Json(false)) == true;
    answering->in_flight =
        std::make_unique<InFlight>(service.metrics, RequestLabels{.model = std::get<std::string>(name),
                                                                  .endpoint = "chat_completions",
                                                                  .is_streamed = is_streamed});
    auto model = service.models.acquire(std::get<std::string>(name), request.is_client_gone);
    if (!model)
        return refused(api_error(model.error()), answering->in_flight.get());
    answering->model = std::move(*model);

    auto read = read_chat(std::get<Json>(body), {.dialect = call.dialect,
                                                 .limits = service.options.limits,
                                                 .vocabulary = answering->model->tokenizer().size()});
    if (const auto* error = std::get_if<ApiError>(&read))
        return refused(*error, answering->in_flight.get());
    answering->call = std::get<ChatCall>(std::move(read));
    answering->call.request.sampling_defaults =
        with_wishes(openai_defaults(), answering->model->recommended_sampling());
    answering->call.request.unread_max = service.options.unread_max;
    answering->call.request.now_unix_s = std::time(nullptr);
    const std::vector<std::string>& ignored = answering->call.delivery.ignored;
    if (!ignored.empty() && request.header("etna-strict") == "1")
        return refused({.status = 400,
                        .message = fmt::format("unknown: {}", fmt::join(ignored, ", ")),
                        .param = ignored.front(),
                        .code = "unknown_parameter"},
                       answering->in_flight.get());
    answering->head = {.id = new_id("chatcmpl-"),
                       .object = is_streamed ? "chat.completion.chunk" : "chat.completion",
                       .created_unix_s = std::time(nullptr),
                       .model = std::get<std::string>(name)};
    if (const auto error = begin(*answering))
        return refused(*error, answering->in_flight.get());

    HttpReply reply;
    if (is_streamed) {
        reply.content_type = std::string(sse::content_type);
        reply.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
        reply.stream = [answering](HttpWriter& writer) { send_whole_stream(*answering, writer); };
    } else {
        reply = whole_answer(*answering, request);
    }
    if (!ignored.empty())
        reply.headers["etna-ignored"] = header_value(fmt::format("{}", fmt::join(ignored, ", ")));
    return reply;
}

} // namespace etna::server::openai
