#include "server/openai/answering.hpp"

#include "server/ids.hpp"
#include "server/openai/custom_tools.hpp"
#include "server/openai/format_fields.hpp"
#include "server/persistence.hpp"

#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {

ApiError ended_early(const Service& service) {
    if (!service.is_aborting)
        return {.status = client_closed_status, .message = "the client has left", .code = "client_left"};
    return api_error(
        {ErrorKind::cancelled, "the server is shutting down, and the answer did not end in time"});
}

namespace {

/// The error of a request whose time limit expired while it waited.
ApiError out_of_time() {
    return {.status = 503,
            .message = "the time for the request was over before its answer began",
            .type = "server_error",
            .code = "timeout",
            .retry_after_s = 1};
}

generate::Event as_long_enough(generate::Finished finished) {
    finished.finish_reason = generate::FinishReason::length;
    return finished;
}

} // namespace

std::shared_ptr<Answering> make_answering(Service& service, const HttpRequest& request, const Call& call,
                                          const EndpointSpec& kind, std::string model_name, Json body) {
    auto answering = std::make_shared<Answering>();
    answering->service = &service;
    answering->kind = &kind;
    answering->request_id = call.request_id;
    answering->model_name = std::move(model_name);
    answering->dialect = call.dialect;
    answering->is_strict = is_strict(request);
    if (!service.options.access.api_keys.empty()) // cached prompts are shared only within one API key
        answering->cache_salt = std::hash<std::string_view>()(given_key(request));
    answering->owner = owner_of(service.options.access, request);
    answering->client = client_of(service.options.access, request);
    answering->in_flight = std::make_unique<InFlight>(
        service.metrics, RequestLabels{.model = answering->model_name,
                                       .endpoint = std::string(kind.endpoint),
                                       .is_streamed = body.value("stream", Json(false)) == true});
    answering->body = std::move(body);
    answering->memory = request.memory;
    if (service.options.request_time > std::chrono::seconds(0))
        answering->deadline = Answering::Clock::now() + service.options.request_time;
    return answering;
}

std::optional<ApiError> Answering::read() {
    const sampling::Parameters defaults =
        with_overrides(sampling_defaults(dialect), model->recommended_sampling());
    auto result = kind->read(body, {.dialect = dialect,
                                    .limits = service->options.limits,
                                    .sampling_defaults = defaults,
                                    .tokenizer = &model->tokenizer(),
                                    .context_tokens = model->context_tokens(),
                                    .can_fill_gaps = model->infill_tokens().has_value(),
                                    .can_keep = service->persistence->stored_kinds().completions});
    if (auto* error = std::get_if<ApiError>(&result))
        return std::move(*error);
    call = std::get<GenerationCall>(std::move(result));
    body = nullptr;
    if (auto refusal = refuse_unknown(is_strict, call.delivery))
        return refusal;
    for (generate::Request& wanted : call.requests) {
        wanted.sampling_defaults = defaults;
        wanted.unread_max = service->options.unread_max;
        wanted.now_unix_s = std::time(nullptr);
        wanted.cache_salt ^= cache_salt;
        wanted.client = client;
    }
    return std::nullopt;
}

Status Answering::acquire(const std::function<bool()>& is_cancelled) {
    ETNA_TRY(model, service->models.acquire(
                        model_name, [&] { return service->is_aborting || is_late() || is_cancelled(); }));
    return {};
}

std::optional<ApiError> Answering::begin(const std::function<bool()>& is_cancelled) {
    if (auto refusal = read()) {
        note(*refusal);
        return refusal;
    }
    prompts = call.requests.size();
    const std::size_t held = memory == nullptr ? 0 : memory->bytes();
    const auto claim = [this](std::size_t bytes) { return memory == nullptr || memory->reserve(bytes); };
    auto begun = generate::Generation::begin_all(
        *model, std::move(call.requests),
        {.is_cancelled = [&] { return service->is_aborting || is_late() || is_cancelled(); },
         .reserve_memory = claim});
    if (begun) {
        memory.reset();
    } else if (memory != nullptr) {
        memory->shrink_to(held); // a smaller retry may succeed
    }
    if (!begun)
        return failed(begun.error());
    queued_s_ = in_flight->elapsed_s();
    generation.emplace(std::move(*begun));
    if (auto refusal = check_prompts()) {
        note(*refusal);
        return refusal;
    }
    usage.emplace(*generation, prompts);
    for (const grammar::DroppedKeyword& keyword : generation->dropped_keywords())
        call.delivery.noted.push_back(place_of(keyword));
    log_prompts();
    head = {.id = new_id(kind->id_prefix),
            .object = std::string(call.delivery.is_streamed ? kind->chunk_object : kind->object),
            .created_unix_s = std::time(nullptr),
            .model = model_name,
            .seed = generation->seed()};
    return std::nullopt;
}

/// Checks the operator's prompt limit: the length is known only after templating, and a refusal frees the
/// request's queue entry.
std::optional<ApiError> Answering::check_prompts() const {
    const auto most = service->options.limits.prompt_tokens_max;
    for (std::size_t prompt = 0; most && prompt < prompts; ++prompt) {
        const std::size_t tokens = generation->prompt_tokens(prompt).size();
        if (tokens > *most) {
            return ApiError{.status = 400,
                            .message =
                                fmt::format("the prompt has {} tokens; at most {} are taken on this server",
                                            tokens, *most),
                            .param = std::string(kind->prompt_member),
                            .code = "context_length_exceeded"};
        }
    }
    return std::nullopt;
}

/// The path of the keyword in the request: `response_format.json_schema.schema#/properties/a/format`.
std::string Answering::place_of(const grammar::DroppedKeyword& keyword) const {
    constexpr std::string_view between = ": "; // as in errors, whose paths are mapped the same way
    ApiError error = {.message = fmt::format("{}{}{}", keyword.place, between, keyword.pointer),
                      .param = keyword.place};
    tell_of_tool(error, call.tools);
    if (kind->in_own_words)
        error = kind->in_own_words(std::move(error));
    if (const std::size_t place = error.message.find(between); place != std::string::npos)
        error.message.erase(place, between.size());
    return error.message;
}

ApiError Answering::failed(const Error& error) {
    if (error.kind == ErrorKind::device_lost || (model != nullptr && model->engine().has_failed()))
        service->models.discard(model);
    ApiError told = error.kind == ErrorKind::cancelled ? ended_early(*service) : api_error(error);
    if (error.kind == ErrorKind::cancelled && is_late() && !service->is_aborting)
        told = out_of_time();
    if (error.kind == ErrorKind::context_exceeded)
        told.param = std::string(kind->prompt_member);
    if (!told.param)
        told.param = schema_member(error);
    tell_of_tool(told, call.tools);
    if (told.status == client_closed_status)
        service->metrics.count_disconnect(model_name);
    note(told);
    return told;
}

void Answering::note(const ApiError& error) {
    in_flight->set_status(error.status);
    error_ = error;
}

AnswerLog Answering::log() const {
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

void Answering::log_prompts() const {
    for (std::size_t prompt = 0; service->options.logs_prompts && prompt < prompts; ++prompt)
        service->log(prompt_line(service->options.log_format, request_id, generation->prompt_text(prompt)));
}

Status Answering::run(const std::function<bool(const Json&)>& deliver,
                      const std::function<bool()>& is_cancelled) {
    std::vector<std::unique_ptr<ChoiceWriter>> writers;
    const auto choices_per_prompt = generation->choices() / static_cast<uint32_t>(prompts);
    writers.reserve(generation->choices());
    tokens_so_far_.assign(generation->choices(), 0);
    for (uint32_t choice = 0; choice < generation->choices(); ++choice)
        writers.push_back(call.writer(choice, generation->prompt_tokens(choice / choices_per_prompt)));
    for (const auto& writer : writers) {
        if (const auto piece = writer->begin())
            deliver(*piece);
    }
    Status status = generation->finish(
        [&](uint32_t choice, const generate::Event& event) {
            return take(*writers[choice], choice, event, deliver);
        },
        [&] { return service->is_aborting || is_late() || is_cancelled(); });
    service->metrics.add(model_name, usage->tokens());
    if (status && service->is_aborting && was_cut)
        return Error{ErrorKind::cancelled, "the answer did not end in time"};
    if (status && was_cut && is_late() && usage->tokens().completion == 0)
        return Error{ErrorKind::cancelled, "the answer did not begin in time"};
    return status;
}

generate::SinkResult Answering::take(ChoiceWriter& writer, uint32_t choice, const generate::Event& event,
                                     const std::function<bool(const Json&)>& deliver) {
    const auto* finished = std::get_if<generate::Finished>(&event);
    if (std::holds_alternative<generate::TokenDelta>(event))
        ++tokens_so_far_[choice];
    const bool is_cut = finished != nullptr && finished->finish_reason == generate::FinishReason::cancelled &&
                        !writer.has_enough();
    if (finished != nullptr) {
        usage->add(choice, *finished);
        count(choice, *finished);
        was_cut = was_cut || is_cut;
    }
    const auto piece = is_cut && is_late() ? writer.take(as_long_enough(*finished)) : writer.take(event);
    const bool goes_on = !piece || deliver(*piece);
    return goes_on && !writer.has_enough() ? generate::SinkResult::proceed : generate::SinkResult::stop;
}

void Answering::count(uint32_t choice, const generate::Finished& finished) {
    constexpr double ms_per_second = 1000;
    const std::size_t tokens = finished.tokens.size();
    const double queue_s = finished.timings.queue_ms / ms_per_second;
    const double prompt_s = finished.timings.prompt_ms / ms_per_second;
    const double generation_s = finished.timings.generation_ms / ms_per_second;
    const uint32_t made = finished.generated_tokens; // all generated tokens took time, delivered or not
    Metrics::Answer answer = {.model = model_name,
                              .queue_s = queue_s,
                              .between_tokens_s = made > 1 ? generation_s / (made - 1) : 0};
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

Json Answering::usage_so_far(uint32_t choice) const {
    const std::size_t choices_per_prompt = generation->choices() / prompts;
    const std::size_t prompt = generation->prompt_tokens(choice / choices_per_prompt).size();
    const std::size_t completion = tokens_so_far_[choice];
    return {
        {"prompt_tokens", prompt}, {"completion_tokens", completion}, {"total_tokens", prompt + completion}};
}

Json Answering::timing() const {
    constexpr double ms_per_second = 1000;
    Json json = {{"total_ms", in_flight->elapsed_s() * ms_per_second}};
    if (first_token_s_)
        json["first_token_ms"] = *first_token_s_ * ms_per_second;
    return json;
}

} // namespace etna::server::openai
