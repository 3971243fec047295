#include "server/faces/responses/response_job.hpp"

#include "server/api/model_choice.hpp"
#include "server/api/owner.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/ids.hpp"
#include "server/base/seal.hpp"
#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/rerun.hpp"
#include "server/http/sse.hpp"

#include <ctime>
#include <exception>
#include <random>
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

ResponseJob::ResponseJob(const Services& services, const HttpRequest& request, Request parsed,
                         Purpose purpose, ResponseId identity)
    : services_(services), owner_(owner_of(services.answers.options.access, request)),
      request_(std::move(parsed)), prompt_(purpose) {
    options_.standard = standard_of(request);
    response_.id = std::move(identity.id);
    response_.created_unix_s = identity.created_unix_s;
    options_.new_id = [id = response_.id, made = 0](std::string_view prefix) mutable {
        return fmt::format("{}{:.24}", prefix, sha256_hex(fmt::format("{} {}", id, made++)));
    };
    response_.echoed = request_.echoed;
    for (const auto& [name, neutral] :
         {std::pair{"temperature", 1}, {"top_p", 1}, {"presence_penalty", 0}, {"frequency_penalty", 0}}) {
        const Json requested = request_.shared.value(name, Json()); // until the defaults are known
        response_.echoed[name] = requested.is_number() ? requested : Json(neutral);
    }
    stream_ = std::make_shared<ResponseStream>(response_.id, owner_, request_.is_streamed);
}

ApiResult<std::shared_ptr<ResponseJob>>
ResponseJob::prepare(const Services& services, const HttpRequest& request, const RoutedRequest& routed,
                     const Json& body, Purpose purpose, std::optional<ResponseId> known) {
    // Its items exist in five forms: as received, as returned, as stored, as model input, and as messages.
    constexpr std::size_t copies = 5;
    if (request.memory != nullptr && !request.reserve_memory(copies * request.memory->bytes()))
        return no_memory();
    ETNA_TRY(auto parsed, read_request(body, purpose, api::file_texts(services.answers, request)));
    ETNA_TRY(auto name, api::model_of(services.answers, request, body));
    if (!known)
        known = ResponseId{.id = new_id("resp_"), .created_unix_s = std::time(nullptr)};
    std::shared_ptr<ResponseJob> job(
        new ResponseJob(services, request, std::move(parsed), purpose, std::move(*known)));
    if (job->request_.is_background)
        job->choose_seed();
    ETNA_CHECK(job->load_prompt());
    ETNA_CHECK(job->check_support());
    job->response_.echoed["store"] = job->request_.stores;
    job->response_.model = name;
    job->active_ = std::make_unique<api::ActiveRequest>(services.answers, request, routed, "responses",
                                                        job->response_.model, job->request_.is_streamed);
    job->stream_->set_input(job->request_.input);
    job->stream_->set_object(job->object());
    if (job->request_.is_background)
        job->rerun_ = job->rerun_of(request, body);
    return job;
}

/// Sets a seed if the request has none.
void ResponseJob::choose_seed() {
    Json& seed = request_.shared["seed"];
    if (seed.is_null() || seed == -1)
        seed = static_cast<uint32_t>(std::random_device()());
}

/// Returns rerun_text() of this request. Its input items keep the ids that they have got.
std::string ResponseJob::rerun_of(const HttpRequest& request, Json body) const {
    if (!request_.input.empty())
        body["input"] = request_.input;
    body["seed"] = request_.shared["seed"];
    return rerun_text({.body = std::move(body),
                       .dialect = std::string(request.header(dialect_header)),
                       .remote_address = request.remote_address,
                       .remote_network = request.remote_network});
}

/// Loads the prior context and the request's own items. Errors: see prepare().
ApiStatus ResponseJob::load_prompt() {
    Persistence& persistence = *services_.answers.persistence;
    ETNA_TRY(auto context, load_prior_context(persistence, services_.running, owner_, request_));
    history_ = std::move(context.history);
    return prompt_.load(persistence, owner_, context.items, request_);
}

/// Refuses features that this server, or the client's standard, does not have. Errors: 400.
ApiStatus ResponseJob::check_support() {
    for (const Json& tool : request_.echoed["tools"]) {
        if (options_.standard == ResponseStandard::openai || tool["type"] == "function")
            continue;
        return ApiError{
            .message = fmt::format("Open Responses has no tools of type {}; remove the header `etna-dialect`",
                                   tool["type"].get<std::string>()),
            .param = "tools",
            .code = "unsupported_value"};
    }
    request_.stores = request_.stores && services_.answers.persistence->stored_kinds().responses;
    if (request_.is_background && !request_.stores) {
        return ApiError{.message = "`background` requires stored responses; this server stores none",
                        .param = "background",
                        .code = "unsupported_value"};
    }
    return {};
}

Json ResponseJob::object() const {
    Json json = to_json(response_);
    if (options_.standard == ResponseStandard::open_responses &&
        json["text"]["format"]["type"] == "json_schema")
        json["text"]["format"].emplace("description", nullptr); // required, but nullable
    return json;
}

void ResponseJob::adopt(const generate::Request& generation) {
    const auto& model = *active_->model();
    const sampling::Parameters parameters = with_overrides(
        with_overrides(api::sampling_defaults(active_->dialect()), model.defaults().recommended_sampling),
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
                services_.answers.persistence->seal.seal(text, purpose_of(sealed_reasoning, owner_));
            return sealed ? std::move(*sealed) : std::string();
        };
    }
}

ApiStatus ResponseJob::acquire(const CancelPoll& is_cancelled) {
    if (active_->model() != nullptr)
        return {};
    if (const Status loaded = active_->acquire(is_cancelled); !loaded)
        return active_->report_failure(loaded.error());
    return {};
}

ApiResult<std::size_t> ResponseJob::count(const CancelPoll& is_cancelled) {
    ETNA_CHECK(acquire(is_cancelled));
    auto counted = prompt_.count(*active_, request_, is_cancelled);
    if (!request_.truncates || !counted || *counted <= ResponsePrompt::limits(*active_, request_).max)
        return counted;
    prompt_.truncate(*active_, request_, is_cancelled);
    return prompt_.count(*active_, request_, is_cancelled);
}

ApiStatus ResponseJob::truncate(const CancelPoll& is_cancelled) {
    ETNA_CHECK(acquire(is_cancelled));
    ETNA_TRY(const auto counted, prompt_.count(*active_, request_, is_cancelled));
    if (counted > ResponsePrompt::limits(*active_, request_).after_truncation)
        prompt_.truncate(*active_, request_, is_cancelled);
    return {};
}

ApiStatus ResponseJob::begin(const CancelPoll& is_cancelled) {
    ETNA_CHECK(acquire(is_cancelled));
    std::optional<ApiError> too_long; // the error with all items
    while (true) {
        auto call = prompt_.call(*active_, request_);
        if (!call) {
            active_->record_error(call.error());
            return call.error();
        }
        adopt(call->requests.front());
        const auto begun =
            active_->begin(std::move(*call), api::sampling_defaults(active_->dialect()), is_cancelled);
        if (begun)
            break;
        const ApiError& error = begun.error();
        const bool is_too_long = error.code == "context_length_exceeded";
        if (!is_too_long || !request_.truncates || !prompt_.can_truncate())
            return too_long ? *too_long : error;
        if (too_long) {
            prompt_.truncate_one(); // the estimate was too low
        } else {
            prompt_.truncate(*active_, request_, is_cancelled);
        }
        too_long = error;
    }
    if (const std::size_t truncated = prompt_.truncated_count(); truncated > 0)
        response_.echoed["etna"]["dropped_items"] = truncated;
    has_begun_ = true;
    active_->allow_control(response_.id);
    stream_->set_object(object());
    return {};
}

void ResponseJob::run(const Sink& send, const CancelPoll& is_cancelled) {
    sink_ = send;
    if (request_.is_background)
        response_.status = ResponseStatus::queued;
    send_state("response.created");
    if (request_.is_background)
        send_state("response.queued");
    else
        send_state("response.in_progress");
    try { // on a background thread, no caller could report the error
        generate(is_cancelled);
    } catch (const std::exception&) {
        fail({.status = 500,
              .message = "internal server error",
              .type = "server_error",
              .code = "internal_error"});
    }
    try {
        send_end();
    } catch (const std::exception&) {
        stream_->set_unstored(); // out of memory: the stream ends nevertheless
    }
    stream_->end();
}

AnswerLog ResponseJob::log() const {
    AnswerLog log = active_->log();
    if (failure_)
        record(*failure_, log);
    return log;
}

void ResponseJob::generate(const CancelPoll& is_cancelled) {
    const auto must_end = [&] { return poll(is_cancelled); };
    if (const auto begun = has_begun_ ? ApiStatus() : begin(must_end); !begun)
        return fail(begun.error());
    ItemStream items(options_, output_);
    complete(active_->run(
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
        must_end));
}

/// Call periodically: sends progress events. Returns whether the answer must end.
bool ResponseJob::poll(const CancelPoll& is_cancelled) {
    if (active_->generation() != nullptr && active_->generation()->has_begun())
        leave_queue();
    // The events of a background response depend on its tokens only, so that another process can send them
    // again.
    if (!request_.is_background && Clock::now() - last_event_ > services_.answers.options.reassuring_interval)
        send_state(fmt::format("response.{}", to_string(response_.status)));
    return !is_connected_ || stream_->is_cancelled() || is_cancelled();
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

/// Records the final state.
void ResponseJob::complete(const Status& status) {
    leave_queue();
    response_.output = output_->items;
    for (Json& item : response_.output) {
        if (item["status"] == "in_progress") // interrupted by a failure
            item["status"] = "incomplete";
    }
    response_.text = output_->text;
    response_.usage = usage_json(active_->usage());
    if (request_.included.timings) {
        if (const auto times = active_->log().times)
            response_.echoed["etna"]["timings"] = times_json(*times);
    }
    if (!status)
        return fail(active_->report_failure(status.error()));
    is_abandoned_ = output_->was_cancelled && !request_.is_background && !stream_->is_cancelled();
    response_.status = ResponseStatus::completed;
    if (output_->finish_reason == generate::FinishReason::length) {
        response_.status = ResponseStatus::incomplete;
        response_.incomplete = "max_output_tokens";
    } else if (stream_->is_cancelled() || output_->was_cancelled) {
        response_.status = ResponseStatus::cancelled;
    }
    if (response_.status == ResponseStatus::completed)
        response_.completed_unix_s = std::time(nullptr);
}

void ResponseJob::fail(const ApiError& error) {
    leave_queue();
    failure_ = error;
    const bool was_requested = stream_->is_cancelled();
    response_.status = was_requested ? ResponseStatus::cancelled : ResponseStatus::failed;
    if (!was_requested)
        response_.error = error_of(error);
}

/// Sends the final events, after the response is stored: a client never sees a complete response that could
/// be lost.
void ResponseJob::send_end() {
    if (is_left_pending())
        return active_->end(client_closed_status);
    const int64_t number = next_number_;
    auto frames = final_frames();
    if (is_storable()) {
        if (const Status stored = store(frames); !stored) {
            handle_store_failure(stored.error());
            next_number_ = number;
            frames = final_frames();
        }
    }
    stream_->set_object(object());
    for (const std::string& frame : frames) {
        if (is_replayable())
            stream_->add(frame);
        is_connected_ = is_connected_ && sink_(frame);
    }
    is_connected_ = is_connected_ && sink_(sse::done);
    active_->end(failure_ ? failure_->status : is_connected_ ? 200 : client_closed_status);
}

void ResponseJob::send_state(std::string_view type) {
    stream_->set_object(object());
    send({{"type", type}, {"response", object()}});
}

bool ResponseJob::send(Json event) {
    const std::string frame = frame_of(std::move(event));
    last_event_ = Clock::now();
    if (is_replayable())
        stream_->add(frame);
    is_connected_ = sink_(frame) && is_connected_;
    return is_connected_;
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
    return request_.is_background && services_.answers.is_aborting && !stream_->is_cancelled() &&
           (response_.status == ResponseStatus::failed || response_.status == ResponseStatus::cancelled);
}

ApiStatus ResponseJob::store_pending() {
    response_.status = ResponseStatus::queued;
    stream_->set_object(object());
    const Status stored = services_.answers.persistence->store->put({.id = response_.id,
                                                                     .owner = owner_,
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
    return !is_abandoned && ((request_.stores && has_id) || joins_conversation());
}

/// A failed or cancelled answer is not added to the conversation: a retry would find its question there
/// twice.
bool ResponseJob::joins_conversation() const {
    return request_.conversation &&
           (response_.status == ResponseStatus::completed || response_.status == ResponseStatus::incomplete);
}

Status ResponseJob::store(const std::vector<std::string>& final_frames) {
    Json turn = request_.input;
    for (const Json& item : response_.output)
        turn.push_back(item);
    storage::Response stored = {.id = response_.id,
                                .owner = owner_,
                                .object = dump_json(object()),
                                .input = dump_json(request_.input),
                                .turn = dump_json(turn)};
    for (const Json& item : turn)
        stored.turn_ids.push_back(item["id"].get<std::string>());
    if (request_.is_streamed) {
        for (const std::string& frame : stream_->frames())
            stored.events += frame;
        for (const std::string& frame : final_frames)
            stored.events += frame;
    }
    storage::Addition addition = {.conversation = request_.conversation.value_or(""), .items = {}};
    for (const Json& item : turn)
        addition.items.push_back({.id = item["id"].get<std::string>(), .body = dump_json(item)});
    if (!request_.stores) { // only the conversation
        const auto added =
            services_.answers.persistence->store->add_items(owner_, addition, storage::OnDuplicate::skip);
        return added ? Status() : added.error();
    }
    return services_.answers.persistence->store->put(stored, history_ ? &*history_ : nullptr,
                                                     joins_conversation() ? &addition : nullptr);
}

/// Fails the response. A background response, which was promised to be retrievable, is served from memory;
/// any other was not announced yet.
void ResponseJob::handle_store_failure(const Error& error) {
    ApiError reported = store_failed(error);
    reported.status = 500; // even if it was too large: the request was valid
    reported.type = "server_error";
    fail(reported);
    if (!request_.is_background)
        return;
    stream_->set_unstored();
    services_.running.hold(stream_);
}

} // namespace etna::server::responses
