#include "server/api/active_request.hpp"

#include "core/base/duration.hpp"
#include "core/base/utf8.hpp"
#include "core/generate/description.hpp"
#include "server/api/owner.hpp"
#include "server/api/persistence.hpp"
#include "server/base/ids.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::api {

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

void Usage::add(std::size_t prompt, const engine::PromptProgress& progress) {
    cached_tokens_[prompt] = std::max(cached_tokens_[prompt], progress.cached_tokens);
}

Metrics::Tokens Usage::tokens() const {
    return {.prompt = prompt_tokens_,
            .cached = std::accumulate(cached_tokens_.begin(), cached_tokens_.end(), 0U),
            .completion = completion_tokens_,
            .accepted_drafts = accepted_drafts_,
            .rejected_drafts = rejected_drafts_};
}

ApiError cancelled_error(const AnswerServices& services) {
    if (!services.is_aborting)
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

/// vLLM's name of a finish reason in its metrics.
std::string_view vllm_reason_of(generate::FinishReason reason) {
    if (reason == generate::FinishReason::cancelled)
        return "abort";
    return reason == generate::FinishReason::length ? "length" : "stop";
}

/// The error's path, if it begins with one: "tools[2].function.parameters: ...".
std::string_view path_in(std::string_view message) {
    const std::string_view path = message.substr(0, message.find(": "));
    return path.find(' ') == std::string_view::npos ? path : std::string_view();
}

} // namespace

ActiveRequest::ActiveRequest(AnswerServices& services, const HttpRequest& request,
                             const RoutedRequest& routed, std::string_view endpoint, std::string model_name,
                             bool is_streamed)
    : services_(&services),
      in_flight_(std::make_unique<InFlight>(
          services.metrics,
          RequestLabels{.model = model_name, .endpoint = std::string(endpoint), .is_streamed = is_streamed})),
      client_label_(server::client_label(services.options.access, request)), request_id_(routed.request_id),
      model_name_(std::move(model_name)), memory_(request.memory), dialect_(routed.dialect),
      is_strict_(api::is_strict(request)), owner_(owner_of(services.options.access, request)),
      client_(client_of(services.options.access, request)), added_priority_(request.priority) {
    activity_ = std::make_unique<ClientActivity::Request>(services.activity, client_, client_label_);
    if (!services.options.access.api_keys.empty()) // cached prompts are shared only within one API key
        cache_salt_ = std::hash<std::string_view>()(given_key(request));
    if (services.options.request_time > std::chrono::seconds(0))
        deadline_ = Clock::now() + services.options.request_time;
}

int32_t ActiveRequest::priority_of(int32_t priority) const {
    using Bounds = std::numeric_limits<int32_t>;
    return static_cast<int32_t>(
        std::clamp<int64_t>(int64_t{priority} + added_priority_, Bounds::min(), Bounds::max()));
}

bool ActiveRequest::must_end(const CancelPoll& is_cancelled) const {
    return services_->is_aborting || is_late() || is_cancelled();
}

Status ActiveRequest::acquire(const CancelPoll& is_cancelled) {
    ETNA_TRY(model_, services_->models.acquire(model_name_, [&] { return must_end(is_cancelled); }, client_));
    acquired_s_ = in_flight_->elapsed_s();
    return {};
}

RequestContext ActiveRequest::context(const sampling::Parameters& defaults) const {
    const auto format = model_->file().chat.find({});
    const auto reserve_memory = [memory = std::weak_ptr(memory_)](std::size_t bytes) {
        const auto held = memory.lock();
        return held == nullptr || held->reserve(bytes);
    };
    return {.dialect = dialect_,
            .limits = services_->options.limits,
            .sampling_defaults = with_overrides(defaults, model_->defaults().recommended_sampling),
            .tokenizer = &model_->file().tokenizer,
            .context_tokens = model_->context_tokens(),
            .shifts_context = services_->options.shifts_context,
            .supports_infill = model_->file().infill_tokens.has_value(),
            .has_template = model_->file().chat.has_own(),
            .can_think = format && generate::may_think(**format),
            .can_store = services_->persistence->stored_kinds().completions,
            .reserve_memory = reserve_memory,
            .files = FileTexts(services_->find_stored_file, owner_, reserve_memory)};
}

generate::PromptBudget ActiveRequest::prompt_budget(const CancelPoll& is_cancelled) {
    return {.is_cancelled = [this, &is_cancelled] { return must_end(is_cancelled); },
            .reserve_memory =
                [this](std::size_t bytes) { return memory_ == nullptr || memory_->reserve(bytes); }};
}

ApiError ActiveRequest::refuse(ApiError error) {
    record_error(error);
    return error;
}

void ActiveRequest::adopt(const GenerationCall& call) {
    prompt_member_ = call.prompt_member;
    tools_ = call.tools;
    ignored_ = call.ignored;
    call_id_prefix_ = call.call_id_prefix;
    ends_after_call_ = call.ends_after_call;
    asks_for_thinking_ = call.asks_for_thinking;
    constraints_.clear();
    for (const generate::Request& request : call.requests) {
        priority_ = request.priority;
        if (request.grammar)
            constraints_.push_back(request.grammar->place);
    }
}

ApiStatus ActiveRequest::begin(GenerationCall call, const sampling::Parameters& defaults,
                               const CancelPoll& is_cancelled) {
    adopt(call);
    if (const auto strict = refuse_unknown(is_strict_, ignored_); !strict)
        return refuse(strict.error());
    for (generate::Request& prompt : call.requests) {
        prompt.sampling_defaults = with_overrides(defaults, model_->defaults().recommended_sampling);
        fill(prompt, model_->defaults().requests);
        prompt.unread_max = services_->options.unread_max;
        if (services_->options.shifts_context && !prompt.context_shift)
            prompt.context_shift.emplace();
        prompt.now_unix_s = std::time(nullptr);
        prompt.cache_salt ^= cache_salt_;
        prompt.client = client_;
        prompt.priority = priority_of(prompt.priority);
    }
    prompt_count_ = call.requests.size();
    const std::size_t reserved = memory_ == nullptr ? 0 : memory_->bytes();
    auto started =
        generate::Generation::begin_all(*model_, std::move(call.requests), prompt_budget(is_cancelled));
    if (started) {
        memory_.reset();
    } else if (memory_ != nullptr) {
        memory_->shrink_to(reserved); // a smaller retry may succeed
    }
    if (!started)
        return report_failure(started.error());
    queued_s_ = in_flight_->elapsed_s();
    generation_.emplace(std::move(*started));
    if (const auto accepted = check_prompts(); !accepted)
        return refuse(accepted.error());
    error_.reset(); // of an attempt with a longer prompt
    usage_.emplace(*generation_, prompt_count_);
    is_complete_.assign(generation_->choices(), false);
    tokens_so_far_.assign(generation_->choices(), 0);
    for (const grammar::DroppedKeyword& keyword : generation_->dropped_keywords())
        ignored_.without_effect.push_back(path_of(keyword));
    add_adapted(generation_->adapted());
    log_prompts();
    keep_prompt();
    show_answers();
    return {};
}

void ActiveRequest::allow_control(std::string_view id) const {
    const auto& reasoning = generation_->request(0).reasoning;
    if (reasoning && reasoning->is_over != nullptr)
        services_->reasoning_controls.add(id, owner_, *reasoning);
}

ApiResult<std::size_t> ActiveRequest::count_prompt(GenerationCall call, const CancelPoll& is_cancelled) {
    adopt(call);
    const std::size_t reserved = memory_ == nullptr ? 0 : memory_->bytes();
    call.requests.front().now_unix_s = std::time(nullptr);
    const auto prompt = generate::encode(*model_, call.requests.front(), prompt_budget(is_cancelled));
    if (memory_ != nullptr)
        memory_->shrink_to(reserved); // counting may run many times
    if (!prompt)
        return report_failure(prompt.error());
    add_adapted(prompt->adapted);
    in_flight_->set_status(200);
    return prompt->tokens.size();
}

/// Checks the operator's prompt limit: the length is known only after templating, and a refusal frees the
/// request's queue entry.
ApiStatus ActiveRequest::check_prompts() const {
    const auto limit = services_->options.limits.prompt_tokens_max;
    for (std::size_t prompt = 0; limit && prompt < prompt_count_; ++prompt) {
        const std::size_t tokens = generation_->prompt_tokens(prompt).size();
        if (tokens > *limit) {
            return ApiError{.message = fmt::format("the prompt has {} tokens; this server accepts at most {}",
                                                   tokens, *limit),
                            .param = prompt_member_,
                            .code = "context_length_exceeded"};
        }
    }
    return {};
}

/// Notes what the chat template changes and ignores.
void ActiveRequest::add_adapted(generate::Adapted adapted) {
    if (!asks_for_thinking_)
        std::erase(adapted.dropped, "thinking");
    ignored_.add(adapted);
}

/// The path of the keyword in the request: `response_format.json_schema.schema#/properties/a/format`.
std::string ActiveRequest::path_of(const grammar::DroppedKeyword& keyword) const {
    constexpr std::string_view separator = ": "; // as in errors, whose paths are mapped the same way
    ApiError error = {.message = fmt::format("{}{}{}", keyword.place, separator, keyword.pointer),
                      .param = keyword.place};
    map_tool_error(error, tools_);
    if (const std::size_t at = error.message.find(separator); at != std::string::npos)
        error.message.erase(at, separator.size());
    return error.message;
}

ApiError ActiveRequest::report_failure(const Error& error) {
    if (error.kind == ErrorKind::device_lost || (model_ != nullptr && model_->engine().has_failed()))
        services_->models.discard(model_);
    ApiError reported = error.kind == ErrorKind::cancelled ? cancelled_error(*services_) : api_error(error);
    if (error.kind == ErrorKind::cancelled && is_late() && !services_->is_aborting)
        reported = deadline_error();
    if (error.kind == ErrorKind::context_exceeded && !prompt_member_.empty())
        reported.param = prompt_member_;
    if (const std::string_view path = path_in(error.message);
        !reported.param && (path.starts_with("tools[") ||
                            std::find(constraints_.begin(), constraints_.end(), path) != constraints_.end()))
        reported.param = path;
    map_tool_error(reported, tools_);
    if (reported.status == client_closed_status)
        services_->metrics.count_disconnect(model_name_);
    return refuse(std::move(reported));
}

void ActiveRequest::record_error(const ApiError& error) {
    in_flight_->set_status(error.status);
    error_ = error;
}

void ActiveRequest::end(int status) {
    const bool is_counted = error_ && error_->status == client_closed_status;
    if (status == client_closed_status && !is_counted)
        services_->metrics.count_disconnect(model_name_);
    in_flight_->set_status(status);
}

AnswerLog ActiveRequest::log() const {
    AnswerLog log = {
        .final_status = in_flight_->status(), .model = model_name_, .priority = priority_, .times = times_};
    if (error_)
        record(*error_, log);
    if (usage_) {
        const Metrics::Tokens tokens = usage_->tokens();
        log.prompt_tokens = tokens.prompt;
        log.completion_tokens = tokens.completion;
    } else {
        log.prompt_tokens = embedded_tokens_;
    }
    if (is_in_journal_)
        log.journal = journal_note();
    return log;
}

JournalNote ActiveRequest::journal_note() const {
    JournalNote note = {.client = client_, .client_label = client_label_, .prompt = prompt_};
    if (usage_)
        note.cached_tokens = usage_->tokens().cached;
    if (model_ != nullptr)
        note.load_ms = acquired_s_ * ms_per_second;
    return note;
}

/// Keeps the first prompt for the journal, if the operator allows it.
void ActiveRequest::keep_prompt() {
    if (!services_->options.keeps_prompts)
        return;
    const std::string_view text = generation_->prompt_text();
    const std::string_view kept = text.substr(0, RequestJournal::prompt_bytes_max);
    prompt_ = std::make_shared<const std::string>(kept.substr(0, valid_utf8_prefix(kept)));
}

bool ActiveRequest::count_cached() {
    bool are_admitted = true;
    for (std::size_t prompt = 0; prompt < prompt_count_; ++prompt) {
        const auto progress = generation_->prompt_progress(prompt);
        are_admitted = are_admitted && progress;
        if (progress)
            usage_->add(prompt, *progress);
    }
    return are_admitted;
}

void ActiveRequest::log_prompts() const {
    for (std::size_t prompt = 0; services_->options.logs_prompts && prompt < prompt_count_; ++prompt) {
        services_->log(
            prompt_line(services_->options.log_format, request_id_, generation_->prompt_text(prompt)));
    }
}

/// Lists the answers for other requests, if the operator allows it.
void ActiveRequest::show_answers() {
    if (!services_->options.shows_slots)
        return;
    const uint64_t number = services_->running_answers.next_number();
    for (uint32_t choice = 0; choice < generation_->choices(); ++choice) {
        const std::size_t prompt = choice / (generation_->choices() / prompt_count_);
        const generate::Request& request = generation_->request(prompt);
        auto answer = std::make_unique<RunningAnswer>();
        answer->number = number;
        answer->model = model_name_;
        answer->parameters = with_overrides(*request.sampling_defaults, request.sampling);
        answer->max_tokens = request.max_tokens;
        answer->ignores_end = request.end_tokens == generate::EndTokens::ignore;
        answer->is_streamed = in_flight_->labels().is_streamed;
        answer->prompt_tokens = static_cast<uint32_t>(generation_->prompt_tokens(prompt).size());
        answers_.push_back(services_->running_answers.add(std::move(answer)));
    }
}

void ActiveRequest::update_answers() {
    for (uint32_t choice = 0; choice < answers_.size(); ++choice) {
        RunningAnswer& answer = *answers_[choice];
        const auto progress = generation_->prompt_progress(choice / (generation_->choices() / prompt_count_));
        if (!progress)
            continue;
        answer.has_begun = true;
        answer.cached_tokens = progress->cached_tokens;
        answer.computed_tokens = progress->computed_tokens;
    }
}

Status ActiveRequest::run(const EventSink& sink, const CancelPoll& is_cancelled) {
    Status status = generation_->finish(
        [&](uint32_t choice, const generate::Event& event) { return take(choice, event, sink); },
        [&] {
            if (generation_->has_begun())
                activity_->begin_running();
            update_answers();
            return must_end(is_cancelled);
        });
    answers_.clear();
    activity_.reset();
    services_->metrics.add(model_name_, usage_->tokens());
    if (status && services_->is_aborting && was_cancelled_)
        return Error{ErrorKind::cancelled, "the answer did not end in time"};
    if (status && was_cancelled_ && is_late() && usage_->tokens().completion == 0)
        return Error{ErrorKind::cancelled, "the answer did not begin in time"};
    return status;
}

generate::SinkResult ActiveRequest::take(uint32_t choice, const generate::Event& event,
                                         const EventSink& sink) {
    const auto* finished = std::get_if<generate::Finished>(&event);
    if (std::holds_alternative<generate::TokenDelta>(event))
        ++tokens_so_far_[choice];
    if (choice < answers_.size() && !std::holds_alternative<generate::Finished>(event))
        answers_[choice]->generated_tokens = generation_->generated_tokens(choice);
    const bool is_cancelled = finished != nullptr &&
                              finished->finish_reason == generate::FinishReason::cancelled &&
                              !is_complete_[choice];
    if (finished != nullptr) {
        usage_->add(choice, *finished);
        count_tokens(choice, *finished);
        was_cancelled_ = was_cancelled_ || is_cancelled;
    }
    const auto changed = is_cancelled && is_late()
                             ? std::optional<generate::Event>(with_length_reason(*finished))
                             : with_call_id(event);
    const Delivery delivery = sink(choice, changed ? *changed : event);
    is_complete_[choice] = is_complete_[choice] || delivery == Delivery::complete;
    return delivery == Delivery::proceed ? generate::SinkResult::proceed : generate::SinkResult::stop;
}

/// Returns the event with an id for the call that it starts; empty if it needs none.
std::optional<generate::Event> ActiveRequest::with_call_id(const generate::Event& event) const {
    const auto* parsed = std::get_if<output::Event>(&event);
    if (parsed == nullptr || parsed->kind != output::EventKind::call_started || !parsed->id.empty() ||
        call_id_prefix_.empty())
        return std::nullopt;
    output::Event named = *parsed;
    named.id = new_id(call_id_prefix_);
    return named;
}

void ActiveRequest::count_tokens(uint32_t choice, const generate::Finished& finished) {
    const std::size_t tokens = finished.tokens.size();
    const double queue_s = finished.timings.queue_ms / ms_per_second;
    const double prompt_s = finished.timings.prompt_ms / ms_per_second;
    const double generation_s = finished.timings.generation_ms / ms_per_second;
    const uint32_t generated = finished.generated_tokens; // all generated tokens took time, delivered or not
    Metrics::AnswerLatencies answer = {.model = model_name_,
                                       .queue_s = queue_s,
                                       .between_tokens_s = generated > 1 ? generation_s / (generated - 1) : 0,
                                       .tokens = generated,
                                       .decode_s = generation_s,
                                       .vllm_reason = vllm_reason_of(finished.finish_reason)};
    // An answer that the model ended has at least the end token.
    const auto reason = finished.finish_reason;
    if (tokens > 0 || reason == generate::FinishReason::stop ||
        reason == generate::FinishReason::tool_calls) {
        answer.prompt_s = prompt_s;
        answer.first_token_s = queued_s_ + queue_s + prompt_s;
    }
    if (choice == 0) {
        first_token_s_ = answer.first_token_s;
        times_ = AnswerTimes{.before_queue_ms = queued_s_ * ms_per_second,
                             .queue_ms = finished.timings.queue_ms,
                             .prefill_ms = finished.timings.prompt_ms,
                             .decode_ms = finished.timings.generation_ms};
    }
    services_->metrics.add(answer);
}

} // namespace etna::server::api
