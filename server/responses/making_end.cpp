// The run of a response: its events, its end, and its storage.
#include "server/http/sse.hpp"
#include "server/responses/making.hpp"

#include <ctime>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// {"code", "message"}: the API has few codes for responses.
Json error_of(const ApiError& error) {
    constexpr int first_server_error = 500;
    constexpr int too_many = 429;
    const char* code = error.status >= first_server_error ? "server_error" : "invalid_prompt";
    return {{"code", error.status == too_many ? "rate_limit_exceeded" : code}, {"message", error.message}};
}

} // namespace

std::optional<ApiError> Making::keep_pending() {
    response_.status = ResponseStatus::queued;
    run_->set(object());
    const Status kept = service_->persistence->store->put({.id = response_.id,
                                                           .owner = owner_,
                                                           .object = text_of(object()),
                                                           .input = text_of(request_.input),
                                                           .turn = {},
                                                           .is_pending = true});
    return kept ? std::nullopt : std::optional(store_failed(kept.error()));
}

void Making::make(const Sink& send, const std::function<bool()>& is_cancelled) {
    send_ = send;
    tell_state("response.created");
    if (request_.is_background)
        tell_state("response.queued");
    else
        tell_state("response.in_progress");
    try { // on a background thread, no caller could report the error
        answer(is_cancelled);
    } catch (const std::exception&) {
        fail({.status = 500,
              .message = "something went wrong in the server",
              .type = "server_error",
              .code = "internal_error"});
    }
    try {
        tell_end();
    } catch (const std::exception&) {
        run_->set_lost(); // out of memory: the run ends nevertheless
    }
    run_->end();
}

AnswerLog Making::log() const {
    AnswerLog log = answering_->log();
    if (failure_)
        record(*failure_, log);
    return log;
}

/// Moves the response from queued to in progress.
void Making::leave_queue() {
    if (response_.status != ResponseStatus::queued)
        return;
    response_.status = ResponseStatus::in_progress;
    tell_state("response.in_progress");
}

void Making::answer(const std::function<bool()>& is_cancelled) {
    const auto is_over = [&] { return is_waiting(is_cancelled); };
    if (const auto error = has_begun_ ? std::nullopt : begin(is_over))
        return fail(*error);
    settle(answering_->run(
        [&](const Json& events) {
            leave_queue();
            for (const Json& event : events)
                tell(event);
            return is_heard_;
        },
        is_over));
}

/// Call periodically: returns whether the answer must end; sends progress events.
bool Making::is_waiting(const std::function<bool()>& is_cancelled) {
    if (answering_->generation && answering_->generation->has_begun())
        leave_queue();
    if (Clock::now() - told_ > service_->options.reassuring_interval)
        tell_state(fmt::format("response.{}", to_string(response_.status)));
    return !is_heard_ || run_->is_cancelled() || is_cancelled();
}

/// Records the final state.
void Making::settle(const Status& status) {
    leave_queue();
    response_.output = output_->items;
    for (Json& item : response_.output) {
        if (item["status"] == "in_progress") // cut off by a failure
            item["status"] = "incomplete";
    }
    response_.text = output_->text;
    response_.usage = usage_of(answering_->usage->json());
    if (!status)
        return fail(answering_->failed(status.error()));
    is_left_ = output_->was_left && !request_.is_background && !run_->is_cancelled();
    response_.status = ResponseStatus::completed;
    if (output_->finish_reason == generate::FinishReason::length) {
        response_.status = ResponseStatus::incomplete;
        response_.incomplete = "max_output_tokens";
    } else if (run_->is_cancelled() || output_->was_left) {
        response_.status = ResponseStatus::cancelled;
    }
    if (response_.status == ResponseStatus::completed)
        response_.completed_unix_s = std::time(nullptr);
}

void Making::fail(const ApiError& error) {
    leave_queue();
    failure_ = error;
    const bool is_wanted_so = run_->is_cancelled();
    response_.status = is_wanted_so ? ResponseStatus::cancelled : ResponseStatus::failed;
    if (!is_wanted_so)
        response_.error = error_of(error);
}

/// The final frames. Open Responses has two events for a failure.
std::vector<std::string> Making::last_frames() {
    std::vector<std::string> frames;
    if (response_.status == ResponseStatus::failed && form_.wording == Wording::open_responses) {
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

/// Sends the final events, after the response is stored: a client never sees a complete response that could
/// be lost.
void Making::tell_end() {
    const int64_t number = next_number_;
    auto frames = last_frames();
    if (is_to_be_kept()) {
        if (const Status kept = keep(frames); !kept) {
            lose(kept.error());
            next_number_ = number;
            frames = last_frames();
        }
    }
    run_->set(object());
    for (const std::string& frame : frames) {
        if (can_be_followed())
            run_->add(frame);
        is_heard_ = is_heard_ && send_(frame);
    }
    is_heard_ = is_heard_ && send_(sse::done);
    answering_->in_flight->set_status(failure_ ? failure_->status : is_heard_ ? 200 : client_closed_status);
}

/// Handles a storage failure: a background response, which was promised to be retrievable, is served from
/// memory; any other was not announced yet.
void Making::lose(const Error& error) {
    ApiError told = store_failed(error);
    told.status = 500; // even if it was too large: the request was valid
    told.type = "server_error";
    fail(told);
    if (!request_.is_background)
        return;
    run_->set_lost();
    service_->persistence->runs.hold(run_);
}

/// Whether the response can be requested again: not if its client disconnected, or got an error instead.
bool Making::is_to_be_kept() const {
    const bool is_left = is_left_ || (!is_heard_ && !request_.is_background);
    const bool is_known = !failure_ || request_.is_background || request_.is_streamed;
    return !is_left && ((request_.stores && is_known) || joins_conversation());
}

/// A failed or cancelled answer is not added to the conversation: a retry would find its question there
/// twice.
bool Making::joins_conversation() const {
    return request_.conversation &&
           (response_.status == ResponseStatus::completed || response_.status == ResponseStatus::incomplete);
}

Status Making::keep(const std::vector<std::string>& last) {
    Json turn = request_.input;
    for (const Json& item : response_.output)
        turn.push_back(item);
    storage::Response kept = {.id = response_.id,
                              .owner = owner_,
                              .object = text_of(object()),
                              .input = text_of(request_.input),
                              .turn = text_of(turn)};
    for (const Json& item : turn)
        kept.turn_ids.push_back(item["id"].get<std::string>());
    if (request_.is_streamed) {
        for (const std::string& frame : run_->frames())
            kept.events += frame;
        for (const std::string& frame : last)
            kept.events += frame;
    }
    storage::Addition addition = {.conversation = request_.conversation.value_or(""), .items = {}};
    for (const Json& item : turn)
        addition.items.push_back({.id = item["id"].get<std::string>(), .body = text_of(item)});
    if (!request_.stores) { // only the conversation
        const auto added =
            service_->persistence->store->add_items(owner_, addition, storage::OnDuplicate::skip);
        return added ? Status() : added.error();
    }
    return service_->persistence->store->put(kept, past_.history ? &*past_.history : nullptr,
                                             joins_conversation() ? &addition : nullptr);
}

void Making::tell_state(std::string_view type) {
    run_->set(object());
    tell({{"type", type}, {"response", object()}});
}

std::string Making::frame_of(Json event) {
    const std::string type = event["type"];
    event["sequence_number"] = next_number_++;
    return sse::write({.data = text_of(event), .event = type});
}

bool Making::tell(Json event) {
    const std::string frame = frame_of(std::move(event));
    told_ = Clock::now();
    if (can_be_followed())
        run_->add(frame);
    is_heard_ = send_(frame) && is_heard_;
    return is_heard_;
}

} // namespace etna::server::responses
