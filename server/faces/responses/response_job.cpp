#include "server/faces/responses/response_job.hpp"

#include "server/api/owner.hpp"
#include "server/api/persistence.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/ids.hpp"
#include "server/base/seal.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// The shortest decimal form: 0.7, not the double value of the nearest float.
Json decimal(float value) {
    return parse_json(fmt::format("{}", value));
}

Json times_json(const AnswerTimes& times) {
    return {{"load_ms", times.before_queue_ms},
            {"queue_ms", times.queue_ms},
            {"prompt_ms", times.prefill_ms},
            {"generation_ms", times.decode_ms}};
}

/// {"code", "message"}: the API has few codes for responses.
Json error_of(const ApiError& error) {
    constexpr int first_server_error = 500;
    constexpr int too_many = 429;
    const char* code = error.status >= first_server_error ? "server_error" : "invalid_prompt";
    return {{"code", error.status == too_many ? "rate_limit_exceeded" : code}, {"message", error.message}};
}

} // namespace

ResponseJob::ResponseJob(const Services& services, const HttpRequest& request, const RoutedRequest& routed,
                         PreparedResponse prepared)
    : Answer(api::ActiveRequest(services.answers, request, routed, "responses", prepared.response.model,
                                prepared.request.is_streamed)),
      services_(services), request_(std::move(prepared.request)), rerun_(std::move(prepared.rerun)),
      history_(std::move(prepared.history)), prompt_(std::move(prepared.prompt)),
      response_(std::move(prepared.response)),
      shared_(std::make_shared<ResponseStream>(response_.id, active.owner(), request_.is_streamed)) {
    options_.standard = prepared.standard;
    options_.new_id = [id = response_.id, made = 0](std::string_view prefix) mutable {
        return fmt::format("{}{:.24}", prefix, sha256_hex(fmt::format("{} {}", id, made++)));
    };
    shared_->set_input(request_.input);
    shared_->set_object(object());
}

ResponseJob::~ResponseJob() {
    shared_->end();
}

void ResponseJob::adopt(const generate::Request& generation) {
    const auto& model = *active.model();
    const sampling::Parameters parameters = with_overrides(
        with_overrides(api::sampling_defaults(active.dialect()), model.defaults().recommended_sampling),
        generation.sampling);
    response_.echoed["temperature"] = decimal(parameters.temperature);
    response_.echoed["top_p"] = decimal(parameters.top_p);
    response_.echoed["presence_penalty"] = decimal(parameters.presence_penalty);
    response_.echoed["frequency_penalty"] = decimal(parameters.frequency_penalty);
    options_.includes_logprobs = generation.logprobs.has_value();
    options_.includes_summary = request_.includes_summary;
    options_.has_parallel_calls = request_.tools.has_parallel_calls;
    options_.calls_max = request_.calls_max;
    options_.tool_names = request_.tools.names;
    options_.pending =
        generate::PendingLogprobs(generation, model.file().tokenizer, text::TextPosition::start);
    if (request_.included.sealed_reasoning) {
        options_.seal = [this](const std::string& text) {
            auto sealed =
                services_.answers.persistence->seal.seal(text, purpose_of(sealed_reasoning, active.owner()));
            return sealed ? std::move(*sealed) : std::string();
        };
    }
}

ApiStatus ResponseJob::acquire(const CancelPoll& is_cancelled) {
    if (const Status loaded = active.acquire(is_cancelled); !loaded)
        return active.report_failure(loaded.error());
    return {};
}

ApiResult<std::size_t> ResponseJob::count(const CancelPoll& is_cancelled) {
    ETNA_CHECK(acquire(is_cancelled));
    auto counted = prompt_.count(active, request_, is_cancelled);
    if (!request_.truncates || !counted || *counted <= ResponsePrompt::limits(active, request_).max)
        return counted;
    prompt_.truncate(active, request_, is_cancelled);
    return prompt_.count(active, request_, is_cancelled);
}

ApiStatus ResponseJob::truncate(const CancelPoll& is_cancelled) {
    ETNA_CHECK(acquire(is_cancelled));
    ETNA_TRY(const auto counted, prompt_.count(active, request_, is_cancelled));
    if (counted > ResponsePrompt::limits(active, request_).after_truncation)
        prompt_.truncate(active, request_, is_cancelled);
    return {};
}

ApiStatus ResponseJob::begin(const CancelPoll& is_cancelled) {
    std::optional<ApiError> too_long; // the error with all items
    while (true) {
        ETNA_TRY(auto call, prompt_.call(active, request_));
        adopt(call.requests.front());
        const auto begun =
            active.begin(std::move(call), api::sampling_defaults(active.dialect()), is_cancelled);
        if (begun)
            break;
        const ApiError& error = begun.error();
        const bool is_too_long = error.code == "context_length_exceeded";
        if (!is_too_long || !request_.truncates || !prompt_.can_truncate())
            return too_long ? *too_long : error;
        if (too_long) {
            prompt_.truncate_one(); // the estimate was too low
        } else {
            prompt_.truncate(active, request_, is_cancelled);
        }
        too_long = error;
    }
    if (const std::size_t truncated = prompt_.truncated_count(); truncated > 0)
        response_.echoed["etna"]["dropped_items"] = truncated;
    active.allow_control(response_.id);
    shared_->set_object(object());
    return {};
}

ApiResult<std::string> ResponseJob::complete(const CancelPoll& is_cancelled) {
    ETNA_CHECK(generate([&] { return shared_->is_cancelled() || is_cancelled(); }));
    ETNA_CHECK(store_end({}));
    return dump_json(object()) + "\n";
}

void ResponseJob::open(EventStream& stream) {
    client_ = &stream;
    if (request_.is_background)
        response_.status = ResponseStatus::queued;
    send_state("response.created");
    send_state(fmt::format("response.{}", to_string(response_.status)));
}

ApiResult<bool> ResponseJob::stream(EventStream& stream) {
    ETNA_CHECK(generate([&] { return poll(stream); }));
    if (is_left_pending())
        return false;
    return send_end();
}

void ResponseJob::send_failure(EventStream& /*stream*/, const ApiError& error) {
    fail(error);
    if (is_left_pending())
        return active.end(client_closed_status);
    if (const auto sent = send_end(); !sent) { // the failure cannot be stored either
        fail(sent.error());
        (void)send_end();
    }
}

std::chrono::milliseconds ResponseJob::head_wait() const {
    return std::min(Answer::head_wait(), active.services().options.reassuring_interval);
}

/// Generates the answer, and records its final state. Errors: those of ActiveRequest::run().
ApiStatus ResponseJob::generate(const CancelPoll& must_end) {
    ItemStream items(options_, output_);
    const Status status = active.run(
        [&](uint32_t, const generate::Event& event) {
            const Json events = items.take(event);
            if (!events.empty())
                leave_queue();
            for (const Json& one : events)
                send(one);
            if (!is_connected_)
                return api::Delivery::disconnected;
            return items.is_complete() ? api::Delivery::complete : api::Delivery::proceed;
        },
        must_end);
    keep_output();
    if (!status)
        return active.report_failure(status.error());
    set_final_status();
    return {};
}

bool ResponseJob::poll(EventStream& stream) {
    if (active.generation() != nullptr && active.generation()->has_begun())
        leave_queue();
    // The events of a background response depend on its tokens only, so that another process can send them
    // again.
    if (!request_.is_background && Clock::now() - last_event_ > services_.answers.options.reassuring_interval)
        send_state(fmt::format("response.{}", to_string(response_.status)));
    return !is_connected_ || shared_->is_cancelled() || stream.is_disconnected();
}

/// Moves the response from queued to in progress.
void ResponseJob::leave_queue() {
    if (response_.status != ResponseStatus::queued)
        return;
    response_.status = ResponseStatus::in_progress;
    if (on_begin_)
        std::exchange(on_begin_, {})();
    send_state("response.in_progress");
}

/// Adopts the output, which may be that of a failed answer.
void ResponseJob::keep_output() {
    leave_queue();
    response_.output = output_->items;
    for (Json& item : response_.output) {
        if (item["status"] == "in_progress") // interrupted by a failure
            item["status"] = "incomplete";
    }
    response_.text = output_->text;
    response_.usage = usage_json(active.usage());
    if (request_.included.timings) {
        if (const auto times = active.log().times)
            response_.echoed["etna"]["timings"] = times_json(*times);
    }
}

void ResponseJob::set_final_status() {
    is_abandoned_ = output_->was_cancelled && !request_.is_background && !shared_->is_cancelled();
    response_.status = ResponseStatus::completed;
    if (output_->finish_reason == generate::FinishReason::length) {
        response_.status = ResponseStatus::incomplete;
        response_.incomplete = "max_output_tokens";
    } else if (shared_->is_cancelled() || output_->was_cancelled) {
        response_.status = ResponseStatus::cancelled;
    }
    if (response_.status == ResponseStatus::completed)
        response_.completed_unix_s = std::time(nullptr);
}

void ResponseJob::fail(const ApiError& error) {
    leave_queue();
    failure_ = error;
    const bool was_requested = shared_->is_cancelled();
    response_.status = was_requested ? ResponseStatus::cancelled : ResponseStatus::failed;
    if (!was_requested)
        response_.error = error_of(error);
}

/// Sends the final events, after the response is stored: a client never sees a complete response that could
/// be lost. Returns whether the client has received them. Errors: those of store_end().
ApiResult<bool> ResponseJob::send_end() {
    const int64_t number = next_number_;
    const std::vector<std::string> frames = final_frames();
    if (const auto stored = store_end(frames); !stored) {
        next_number_ = number;
        return stored.error();
    }
    shared_->end(object(), is_replayable() ? frames : std::vector<std::string>());
    for (const std::string& frame : frames)
        is_connected_ = is_connected_ && client_->send(frame);
    is_connected_ = is_connected_ && client_->send(sse::done);
    return is_connected_;
}

void ResponseJob::send_state(std::string_view type) {
    shared_->set_object(object());
    send({{"type", type}, {"response", object()}});
}

void ResponseJob::send(Json event) {
    if (client_ == nullptr)
        return;
    const std::string frame = frame_of(std::move(event));
    last_event_ = Clock::now();
    if (is_replayable())
        shared_->add(frame);
    is_connected_ = client_->send(frame) && is_connected_;
}

std::string ResponseJob::frame_of(Json event) {
    const std::string type = event["type"];
    event["sequence_number"] = next_number_++;
    return sse::write({.data = dump_json(event), .event = type});
}

/// The final frames. Open Responses has two events for a failure.
std::vector<std::string> ResponseJob::final_frames() {
    std::vector<std::string> frames;
    if (response_.status == ResponseStatus::failed && options_.standard == ResponseStandard::open_responses) {
        frames.push_back(frame_of({{"type", "error"},
                                   {"error",
                                    {{"type", error_type(*failure_)},
                                     {"code", failure_->code.value_or("server_error")},
                                     {"message", failure_->message},
                                     {"param", failure_->param ? Json(*failure_->param) : Json(nullptr)}}}}));
    }
    const bool is_cancelled = response_.status == ResponseStatus::cancelled; // it has no event type
    const std::string_view state = is_cancelled ? "incomplete" : to_string(response_.status);
    frames.push_back(frame_of({{"type", fmt::format("response.{}", state)}, {"response", object()}}));
    return frames;
}

bool ResponseJob::is_left_pending() const {
    return request_.is_background && services_.answers.is_aborting && !shared_->is_cancelled() &&
           (response_.status == ResponseStatus::failed || response_.status == ResponseStatus::cancelled);
}

ApiStatus ResponseJob::store_pending() {
    response_.status = ResponseStatus::queued;
    shared_->set_object(object());
    const Status stored = services_.answers.persistence->store->put({.id = response_.id,
                                                                     .owner = active.owner(),
                                                                     .object = dump_json(object()),
                                                                     .input = dump_json(request_.input),
                                                                     .turn = {},
                                                                     .events = rerun_,
                                                                     .is_pending = true});
    if (!stored)
        return store_failed(stored.error());
    return {};
}

/// Whether the response can be requested again: not if its client disconnected, or got an error instead.
bool ResponseJob::is_storable() const {
    const bool is_abandoned = is_abandoned_ || (!is_connected_ && !request_.is_background);
    const bool has_id = !failure_ || request_.is_background || request_.is_streamed; // known to the client
    return !is_abandoned && !is_unstorable_ && ((request_.stores && has_id) || joins_conversation());
}

/// A failed or cancelled answer is not added to the conversation: a retry would find its question there
/// twice.
bool ResponseJob::joins_conversation() const {
    return request_.conversation &&
           (response_.status == ResponseStatus::completed || response_.status == ResponseStatus::incomplete);
}

/// Stores the response if it can be requested again. Error: 500; a background response, which was promised to
/// be retrievable, is then served from memory, and any other was not announced yet.
ApiStatus ResponseJob::store_end(const std::vector<std::string>& final_frames) {
    if (!is_storable())
        return {};
    const Status stored = store(final_frames);
    if (stored)
        return {};
    is_unstorable_ = true;
    if (request_.is_background) {
        shared_->set_unstored();
        services_.running.hold(shared_);
    }
    ApiError reported = store_failed(stored.error());
    reported.status = 500; // even if it was too large: the request was valid
    reported.type = "server_error";
    return reported;
}

Status ResponseJob::store(const std::vector<std::string>& final_frames) {
    Json turn = request_.input;
    for (const Json& item : response_.output)
        turn.push_back(item);
    storage::Response stored = {.id = response_.id,
                                .owner = active.owner(),
                                .object = dump_json(object()),
                                .input = dump_json(request_.input),
                                .turn = dump_json(turn)};
    for (const Json& item : turn)
        stored.turn_ids.push_back(item["id"].get<std::string>());
    if (request_.is_streamed) {
        for (const std::string& frame : shared_->frames())
            stored.events += frame;
        for (const std::string& frame : final_frames)
            stored.events += frame;
    }
    storage::Addition addition = {.conversation = request_.conversation.value_or(""), .items = {}};
    for (const Json& item : turn)
        addition.items.push_back({.id = item["id"].get<std::string>(), .body = dump_json(item)});
    if (!request_.stores) { // only the conversation
        const auto added = services_.answers.persistence->store->add_items(active.owner(), addition,
                                                                           storage::OnDuplicate::skip);
        return added ? Status() : added.error();
    }
    return services_.answers.persistence->store->put(stored, history_ ? &*history_ : nullptr,
                                                     joins_conversation() ? &addition : nullptr);
}

} // namespace etna::server::responses
