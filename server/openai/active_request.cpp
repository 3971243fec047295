#include "server/openai/active_request.hpp"

#include "server/http/sse.hpp"
#include "server/ids.hpp"
#include "server/openai/format_fields.hpp"
#include "server/persistence.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {

Usage::Usage(const generate::Generation& generation, std::size_t prompt_count)
    : choices_per_prompt_(generation.choices() / static_cast<uint32_t>(prompt_count)),
      cached_tokens_(prompt_count) {
    for (std::size_t prompt = 0; prompt < prompt_count; ++prompt)
        prompt_tokens_ += static_cast<uint32_t>(generation.prompt_tokens(prompt).size());
}

void Usage::add(uint32_t choice, const generate::Finished& finished) {
    uint32_t& cached = cached_tokens_[choice / choices_per_prompt_];
    cached = std::max(cached, finished.cached_tokens);
    completion_tokens_ += static_cast<uint32_t>(finished.tokens.size()) + finished.discarded_tokens;
    reasoning_tokens_ += finished.reasoning_tokens;
    accepted_drafts_ += finished.accepted_drafts;
    rejected_drafts_ += finished.rejected_drafts;
}

Metrics::Tokens Usage::tokens() const {
    return {.prompt = prompt_tokens_,
            .cached = std::accumulate(cached_tokens_.begin(), cached_tokens_.end(), 0U),
            .completion = completion_tokens_,
            .accepted_drafts = accepted_drafts_,
            .rejected_drafts = rejected_drafts_};
}

Json Usage::json() const {
    const Metrics::Tokens counts = tokens();
    return {{"prompt_tokens", counts.prompt},
            {"completion_tokens", counts.completion},
            {"total_tokens", counts.prompt + counts.completion},
            {"prompt_tokens_details", {{"cached_tokens", counts.cached}}},
            {"completion_tokens_details",
             {{"reasoning_tokens", reasoning_tokens_},
              {"accepted_prediction_tokens", counts.accepted_drafts},
              {"rejected_prediction_tokens", counts.rejected_drafts}}}};
}

Json to_json(const ResponseEnvelope& envelope) {
    return {{"id", envelope.id},
            {"object", envelope.object},
            {"created", envelope.created_unix_s},
            {"model", envelope.model},
            {"system_fingerprint", "etna-" ETNA_VERSION},
            {"seed", envelope.seed},
            {"choices", Json::array()}};
}

ApiError cancelled_error(const Service& service) {
    if (!service.is_aborting)
        return {.status = client_closed_status, .message = "the client disconnected", .code = "client_left"};
    return api_error({ErrorKind::cancelled, "the server is shutting down; the answer did not end in time"});
}

namespace {

/// The error of a request whose time limit expired while it waited.
ApiError deadline_error() {
    return {.status = 503,
            .message = "the request's time limit expired before its answer began",
            .type = "server_error",
            .code = "timeout",
            .retry_after_s = 1};
}

generate::Event with_length_reason(generate::Finished finished) {
    finished.finish_reason = generate::FinishReason::length;
    return finished;
}

} // namespace

std::shared_ptr<ActiveRequest> make_active_request(Service& service, const HttpRequest& request,
                                                   const Call& call, const EndpointSpec& spec,
                                                   std::string model_name, Json body) {
    auto active = std::make_shared<ActiveRequest>();
    active->service = &service;
    active->spec = &spec;
    active->request_id = call.request_id;
    active->model_name = std::move(model_name);
    active->dialect = call.dialect;
    active->is_strict = is_strict(request);
    if (!service.options.access.api_keys.empty()) // cached prompts are shared only within one API key
        active->cache_salt = std::hash<std::string_view>()(given_key(request));
    active->owner = owner_of(service.options.access, request);
    active->client = client_of(service.options.access, request);
    active->in_flight = std::make_unique<InFlight>(
        service.metrics, RequestLabels{.model = active->model_name,
                                       .endpoint = std::string(spec.endpoint),
                                       .is_streamed = body.value("stream", Json(false)) == true});
    active->body = std::move(body);
    active->memory = request.memory;
    if (service.options.request_time > std::chrono::seconds(0))
        active->deadline = ActiveRequest::Clock::now() + service.options.request_time;
    return active;
}

std::optional<ApiError> ActiveRequest::read() {
    const sampling::Parameters defaults =
        with_overrides(sampling_defaults(dialect), model->recommended_sampling());
    ETNA_TRY(auto result, spec->read(body, {.dialect = dialect,
                                            .limits = service->options.limits,
                                            .sampling_defaults = defaults,
                                            .tokenizer = &model->tokenizer(),
                                            .context_tokens = model->context_tokens(),
                                            .supports_infill = model->infill_tokens().has_value(),
                                            .can_store = service->persistence->stored_kinds().completions}));
    call = std::move(result);
    body = nullptr;
    ETNA_CHECK(refuse_unknown(is_strict, call.output_options));
    for (generate::Request& prompt : call.requests) {
        prompt.sampling_defaults = defaults;
        fill(prompt, model->request_defaults());
        prompt.unread_max = service->options.unread_max;
        prompt.now_unix_s = std::time(nullptr);
        prompt.cache_salt ^= cache_salt;
        prompt.client = client;
    }
    return std::nullopt;
}

Status ActiveRequest::acquire(const std::function<bool()>& is_cancelled) {
    ETNA_TRY(model, service->models.acquire(
                        model_name, [&] { return service->is_aborting || is_late() || is_cancelled(); }));
    return {};
}

std::optional<ApiError> ActiveRequest::begin(const std::function<bool()>& is_cancelled) {
    if (auto refusal = read()) {
        record_error(*refusal);
        return refusal;
    }
    prompt_count = call.requests.size();
    const std::size_t reserved = memory == nullptr ? 0 : memory->bytes();
    const auto reserve_memory = [this](std::size_t bytes) {
        return memory == nullptr || memory->reserve(bytes);
    };
    auto started = generate::Generation::begin_all(
        *model, std::move(call.requests),
        {.is_cancelled = [&] { return service->is_aborting || is_late() || is_cancelled(); },
         .reserve_memory = reserve_memory});
    if (started) {
        memory.reset();
    } else if (memory != nullptr) {
        memory->shrink_to(reserved); // a smaller retry may succeed
    }
    if (!started)
        return report_failure(started.error());
    queued_s_ = in_flight->elapsed_s();
    generation.emplace(std::move(*started));
    if (auto refusal = check_prompts()) {
        record_error(*refusal);
        return refusal;
    }
    usage.emplace(*generation, prompt_count);
    for (const grammar::DroppedKeyword& keyword : generation->dropped_keywords())
        call.output_options.without_effect.push_back(path_of(keyword));
    log_prompts();
    envelope = {.id = new_id(spec->id_prefix),
                .object = std::string(call.output_options.is_streamed ? spec->chunk_object : spec->object),
                .created_unix_s = std::time(nullptr),
                .model = model_name,
                .seed = generation->seed()};
    return std::nullopt;
}

/// Checks the operator's prompt limit: the length is known only after templating, and a refusal frees the
/// request's queue entry.
std::optional<ApiError> ActiveRequest::check_prompts() const {
    const auto limit = service->options.limits.prompt_tokens_max;
    for (std::size_t prompt = 0; limit && prompt < prompt_count; ++prompt) {
        const std::size_t tokens = generation->prompt_tokens(prompt).size();
        if (tokens > *limit) {
            return ApiError{.message = fmt::format("the prompt has {} tokens; this server accepts at most {}",
                                                   tokens, *limit),
                            .param = std::string(spec->prompt_member),
                            .code = "context_length_exceeded"};
        }
    }
    return std::nullopt;
}

/// The path of the keyword in the request: `response_format.json_schema.schema#/properties/a/format`.
std::string ActiveRequest::path_of(const grammar::DroppedKeyword& keyword) const {
    constexpr std::string_view separator = ": "; // as in errors, whose paths are mapped the same way
    ApiError error = {.message = fmt::format("{}{}{}", keyword.place, separator, keyword.pointer),
                      .param = keyword.place};
    map_tool_error(error, call.tools);
    if (spec->map_error)
        error = spec->map_error(std::move(error));
    if (const std::size_t at = error.message.find(separator); at != std::string::npos)
        error.message.erase(at, separator.size());
    return error.message;
}

ApiError ActiveRequest::report_failure(const Error& error) {
    if (error.kind == ErrorKind::device_lost || (model != nullptr && model->engine().has_failed()))
        service->models.discard(model);
    ApiError reported = error.kind == ErrorKind::cancelled ? cancelled_error(*service) : api_error(error);
    if (error.kind == ErrorKind::cancelled && is_late() && !service->is_aborting)
        reported = deadline_error();
    if (error.kind == ErrorKind::context_exceeded)
        reported.param = std::string(spec->prompt_member);
    if (!reported.param)
        reported.param = schema_member(error);
    map_tool_error(reported, call.tools);
    if (reported.status == client_closed_status)
        service->metrics.count_disconnect(model_name);
    record_error(reported);
    return reported;
}

void ActiveRequest::record_error(const ApiError& error) {
    in_flight->set_status(error.status);
    error_ = error;
}

AnswerLog ActiveRequest::log() const {
    AnswerLog log = {.final_status = in_flight->status(), .model = model_name};
    if (error_)
        record(*error_, log);
    if (usage) {
        const Metrics::Tokens tokens = usage->tokens();
        log.prompt_tokens = tokens.prompt;
        log.completion_tokens = tokens.completion;
    }
    return log;
}

void ActiveRequest::log_prompts() const {
    for (std::size_t prompt = 0; service->options.logs_prompts && prompt < prompt_count; ++prompt)
        service->log(prompt_line(service->options.log_format, request_id, generation->prompt_text(prompt)));
}

Status ActiveRequest::run(const std::function<bool(const Json&)>& deliver,
                          const std::function<bool()>& is_cancelled) {
    std::vector<std::unique_ptr<ChoiceStream>> streams;
    const auto choices_per_prompt = generation->choices() / static_cast<uint32_t>(prompt_count);
    streams.reserve(generation->choices());
    tokens_so_far_.assign(generation->choices(), 0);
    for (uint32_t choice = 0; choice < generation->choices(); ++choice)
        streams.push_back(call.make_stream(choice, generation->prompt_tokens(choice / choices_per_prompt)));
    for (const auto& stream : streams) {
        if (const auto piece = stream->begin())
            deliver(*piece);
    }
    Status status = generation->finish(
        [&](uint32_t choice, const generate::Event& event) {
            return take(*streams[choice], choice, event, deliver);
        },
        [&] { return service->is_aborting || is_late() || is_cancelled(); });
    service->metrics.add(model_name, usage->tokens());
    if (status && service->is_aborting && was_cancelled)
        return Error{ErrorKind::cancelled, "the answer did not end in time"};
    if (status && was_cancelled && is_late() && usage->tokens().completion == 0)
        return Error{ErrorKind::cancelled, "the answer did not begin in time"};
    return status;
}

generate::SinkResult ActiveRequest::take(ChoiceStream& stream, uint32_t choice, const generate::Event& event,
                                         const std::function<bool(const Json&)>& deliver) {
    const auto* finished = std::get_if<generate::Finished>(&event);
    if (std::holds_alternative<generate::TokenDelta>(event))
        ++tokens_so_far_[choice];
    const bool is_cancelled = finished != nullptr &&
                              finished->finish_reason == generate::FinishReason::cancelled &&
                              !stream.is_complete();
    if (finished != nullptr) {
        usage->add(choice, *finished);
        count_tokens(choice, *finished);
        was_cancelled = was_cancelled || is_cancelled;
    }
    const auto piece =
        is_cancelled && is_late() ? stream.take(with_length_reason(*finished)) : stream.take(event);
    const bool proceeds = !piece || deliver(*piece);
    return proceeds && !stream.is_complete() ? generate::SinkResult::proceed : generate::SinkResult::stop;
}

void ActiveRequest::count_tokens(uint32_t choice, const generate::Finished& finished) {
    constexpr double ms_per_second = 1000;
    const std::size_t tokens = finished.tokens.size();
    const double queue_s = finished.timings.queue_ms / ms_per_second;
    const double prompt_s = finished.timings.prompt_ms / ms_per_second;
    const double generation_s = finished.timings.generation_ms / ms_per_second;
    const uint32_t generated = finished.generated_tokens; // all generated tokens took time, delivered or not
    Metrics::Answer answer = {.model = model_name,
                              .queue_s = queue_s,
                              .between_tokens_s = generated > 1 ? generation_s / (generated - 1) : 0};
    // An answer that the model ended has at least the end token.
    const auto reason = finished.finish_reason;
    if (tokens > 0 || reason == generate::FinishReason::stop ||
        reason == generate::FinishReason::tool_calls) {
        answer.prompt_s = prompt_s;
        answer.first_token_s = queued_s_ + queue_s + prompt_s;
    }
    if (choice == 0)
        first_token_s_ = answer.first_token_s;
    service->metrics.add(answer);
}

Json ActiveRequest::usage_so_far(uint32_t choice) const {
    const std::size_t choices_per_prompt = generation->choices() / prompt_count;
    const std::size_t prompt = generation->prompt_tokens(choice / choices_per_prompt).size();
    const std::size_t completion = tokens_so_far_[choice];
    return {
        {"prompt_tokens", prompt}, {"completion_tokens", completion}, {"total_tokens", prompt + completion}};
}

Json ActiveRequest::timing() const {
    constexpr double ms_per_second = 1000;
    Json json = {{"total_ms", in_flight->elapsed_s() * ms_per_second}};
    if (first_token_s_)
        json["first_token_ms"] = *first_token_s_ * ms_per_second;
    return json;
}

AnswerAggregator::AnswerAggregator(const ActiveRequest& active) : active_(&active) {
    for (uint32_t choice = 0; choice < active.generation->choices(); ++choice)
        choices_.push_back(active.call.make_aggregator());
}

void AnswerAggregator::add(const Json& piece) {
    choices_[piece["index"].get<std::size_t>()]->add(piece);
}

Json AnswerAggregator::json() const {
    Json json = to_json(active_->envelope);
    json["object"] = active_->spec->object;
    for (const auto& choice : choices_)
        json["choices"].push_back(choice->result());
    for (const auto transform : active_->call.transforms)
        transform(json);
    json["usage"] = active_->usage->json();
    if (Json annotations = annotations_of(*active_); !annotations.is_null())
        json["nvext"] = std::move(annotations);
    return json;
}

namespace {

struct PromptAnnotation {
    std::string_view name;
    bool OutputOptions::* is_requested;
    Json (*value)(const generate::Generation& generation, std::size_t prompt);
};

Json text_of_prompt(const generate::Generation& generation, std::size_t prompt) {
    return generation.prompt_text(prompt);
}

Json tokens_of_prompt(const generate::Generation& generation, std::size_t prompt) {
    Json tokens = Json::array();
    for (const TokenId token : generation.prompt_tokens(prompt))
        tokens.push_back(token);
    return tokens;
}

constexpr std::array prompt_annotations = {
    PromptAnnotation{"formatted_prompt", &OutputOptions::includes_prompt, text_of_prompt},
    PromptAnnotation{"token_ids", &OutputOptions::includes_prompt_tokens, tokens_of_prompt}};

} // namespace

std::string annotation_frame(std::string_view name, const Json& value) {
    return sse::write({.data = dump_json(value), .event = std::string(name), .comments = {dump_json(value)}});
}

void for_each_prompt_annotation(const ActiveRequest& active,
                                const std::function<void(std::string_view name, Json value)>& send) {
    for (const PromptAnnotation& annotation : prompt_annotations) {
        if (!(active.call.output_options.*annotation.is_requested))
            continue;
        for (std::size_t prompt = 0; prompt < active.prompt_count; ++prompt) {
            Json value = annotation.value(*active.generation, prompt);
            if (active.prompt_count > 1)
                value = Json({{"index", prompt}, {annotation.name, std::move(value)}});
            send(annotation.name, std::move(value));
        }
    }
}

Json annotations_of(const ActiveRequest& active) {
    Json all;
    for_each_prompt_annotation(active, [&](std::string_view name, Json value) {
        Json& annotation = all[std::string(name)];
        if (active.prompt_count > 1) {
            annotation.push_back(std::move(value));
        } else {
            annotation = std::move(value);
        }
    });
    if (active.call.output_options.includes_timing)
        all["timing"] = active.timing();
    return all;
}

} // namespace etna::server::openai
