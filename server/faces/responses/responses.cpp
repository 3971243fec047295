// /v1/responses: creates, counts, shows, cancels and deletes responses, and lists their input.

#include "server/api/model_choice.hpp"
#include "server/api/owner.hpp"
#include "server/api/pagination.hpp"
#include "server/api/reasoning_control.hpp"
#include "server/api/request_body.hpp"
#include "server/faces/responses/background.hpp"
#include "server/faces/responses/endpoints.hpp"
#include "server/faces/responses/response_job.hpp"
#include "server/http/sse.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

HttpReply event_reply(const Services& services, std::function<void(EventStream&)> send) {
    HttpReply reply = event_stream_reply();
    reply.stream = [send = std::move(send),
                    keep_alive = services.answers.options.keep_alive](HttpWriter& writer) {
        EventStream stream(writer, keep_alive);
        send(stream);
    };
    return reply;
}

/// Stores the response as pending, and generates it on a thread.
ApiResult<HttpReply> start_in_background(const std::shared_ptr<ResponseJob>& job, const Services& services,
                                         const HttpRequest& request, const RoutedRequest& routed) {
    constexpr std::chrono::milliseconds load_wait{200}; // errors that are known by then have a status
    ETNA_TRY(const auto start, api::start_answer(*job, request, load_wait));
    ETNA_CHECK(job->store_pending());
    const std::shared_ptr<ResponseStream> shared = job->shared();
    const Json object = job->object();
    const api::IgnoredMembers ignored = job->active.ignored(); // a copy: the thread uses the job
    if (!run_in_background(job, start, services, request, routed)) {
        // The stored pending response would never finish.
        if (const auto deleted =
                services.answers.persistence->store->delete_response(shared->owner(), shared->id());
            !deleted)
            return store_failed(deleted.error());
        return ApiError{.status = 429,
                        .message = "too many background responses are running",
                        .type = "rate_limit_exceeded",
                        .code = "too_many_background_responses",
                        .retry_after_s = 1};
    }
    HttpReply reply =
        shared->is_streamed()
            ? event_reply(services, [shared](EventStream& stream) { follow(*shared, 0, stream); })
            : HttpReply{.body = dump_json(object) + "\n"};
    report_ignored(ignored, reply);
    return reply;
}

HttpReply background_reply(const std::shared_ptr<ResponseJob>& job, const Services& services,
                           const HttpRequest& request, const RoutedRequest& routed) {
    auto started = start_in_background(job, services, request, routed);
    if (!started)
        return api::reply_once(job->active, started.error(), request, routed);
    HttpReply reply = std::move(*started);
    api::report_model(job->active.model_name(), reply); // which the thread does not change
    reply.is_counted = true;
    reply.is_background = true;
    return reply;
}

} // namespace

ApiResult<HttpReply> create(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto prepared, prepare(services, request, body));
    const auto job = std::make_shared<ResponseJob>(services, request, routed, std::move(prepared));
    if (job->request().stores)
        services.running.add(job->shared());
    if (job->request().is_background)
        return background_reply(job, services, request, routed);
    return api::reply_with(job, request, routed, job->request().is_streamed);
}

ApiResult<HttpReply> count_input(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto prepared, prepare(services, request, body, Purpose::count));
    ResponseJob job(services, request, routed, std::move(prepared));
    ETNA_TRY(const auto count, job.count(request.is_client_gone));
    const Json object = {{"object", "response.input_tokens"}, {"input_tokens", count}};
    const api::IgnoredMembers& ignored = job.active.ignored();
    ETNA_CHECK(api::refuse_unknown(job.active.is_strict(), ignored));
    HttpReply reply = {.body = dump_json(object) + "\n"};
    report_ignored(ignored, reply);
    api::report_model(job.active.model_name(), reply);
    reply.is_counted = true;
    return reply;
}

namespace {

ApiError not_found(std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no response `{}`", id),
            .param = "response_id",
            .code = "response_not_found"};
}

ApiResult<storage::Response> stored_response(const Services& services, const HttpRequest& request,
                                             const RoutedRequest& routed) {
    const std::string& id = routed.path_values.front();
    if (!services.answers.persistence->store)
        return not_found(id);
    ETNA_TRY(auto found, from_store(services.answers.persistence->store->response(
                             owner_of(services.answers.options.access, request), id)));
    if (!found)
        return not_found(id);
    return std::move(*found);
}

std::shared_ptr<ResponseStream> running_response(const Services& services, const HttpRequest& request,
                                                 const RoutedRequest& routed) {
    return services.running.find(owner_of(services.answers.options.access, request),
                                 routed.path_values.front());
}

ApiError no_events() {
    return {.message = "this response has no events: it was not streamed, or it was interrupted before they "
                       "were stored",
            .param = "stream",
            .code = "unsupported_value"};
}

ApiError not_in_background() {
    return {.message = "only background responses can be cancelled; end the others by disconnecting",
            .code = "not_in_background"};
}

/// Replays the events of a finished response, from `number` on.
ApiResult<HttpReply> replay(const Services& services, const storage::Response& response, std::size_t number) {
    if (response.is_pending || response.events.empty())
        return no_events();
    return event_reply(services, [events = response.events, number](EventStream& stream) {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < number && begin < events.size(); ++i)
            begin = std::min(events.find("\n\n", begin), events.size() - 2) + 2;
        if (stream.send(std::string_view(events).substr(begin)))
            stream.send(sse::done);
    });
}

ApiResult<HttpReply> follow_reply(const Services& services, const std::shared_ptr<ResponseStream>& response,
                                  std::size_t number) {
    if (!response->is_streamed())
        return no_events();
    return event_reply(services,
                       [response, number](EventStream& stream) { follow(*response, number, stream); });
}

} // namespace

void follow(const ResponseStream& response, std::size_t number, EventStream& stream) {
    constexpr std::chrono::milliseconds poll_interval{200};
    while (true) {
        if (const auto frame = response.wait(number, poll_interval)) {
            ++number;
            if (!stream.send(*frame))
                return;
        } else if (response.has_ended()) {
            break;
        } else if (stream.is_disconnected()) {
            return;
        }
    }
    stream.send(sse::done);
}

ApiResult<HttpReply> show(const Services& services, const HttpRequest& request, const RoutedRequest& routed) {
    const bool is_streamed = query_value(request, "stream") == "true";
    int64_t after = -1;
    if (const auto given = query_value(request, "starting_after")) {
        const auto read = std::from_chars(given->data(), given->data() + given->size(), after);
        if (read.ec != std::errc() || read.ptr != given->data() + given->size() || after < 0) {
            return ApiError{.message = "`starting_after` must be the sequence number of an event",
                            .param = "starting_after",
                            .code = "invalid_value"};
        }
    }
    const auto first = static_cast<std::size_t>(after) + 1; // 0 if there was none
    const auto running = running_response(services, request, routed);
    if (running != nullptr && (!running->has_ended() || running->is_unstored())) {
        if (is_streamed)
            return follow_reply(services, running, first);
        return HttpReply{.body = dump_json(running->object()) + "\n"};
    }
    ETNA_TRY(const auto response, stored_response(services, request, routed));
    if (is_streamed)
        return replay(services, response, first);
    return HttpReply{.body = response.object + "\n"};
}

ApiResult<HttpReply> remove(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed) {
    const std::string& id = routed.path_values.front();
    const auto running = running_response(services, request, routed);
    if (running != nullptr && !running->has_ended()) {
        return ApiError{.status = 409,
                        .message = fmt::format("the response `{}` is in progress; cancel it first", id),
                        .code = "response_in_progress"};
    }
    if (!services.answers.persistence->store)
        return not_found(id);
    ETNA_TRY(const auto existed, from_store(services.answers.persistence->store->delete_response(
                                     owner_of(services.answers.options.access, request), id)));
    const bool was_unstored = running != nullptr && running->is_unstored();
    if (was_unstored)
        services.running.forget(*running);
    if (!existed && !was_unstored)
        return not_found(id);
    return HttpReply{.body =
                         dump_json({{"id", id}, {"object", "response.deleted"}, {"deleted", true}}) + "\n"};
}

ApiResult<HttpReply> cancel(const Services& services, const HttpRequest& request,
                            const RoutedRequest& routed) {
    constexpr std::chrono::milliseconds cancel_timeout{5'000};
    if (const auto running = running_response(services, request, routed)) {
        if (running->object().value("background", Json()) != true)
            return not_in_background();
        running->cancel();
        running->wait_for_end(cancel_timeout);
        return HttpReply{.body = dump_json(running->object()) + "\n"};
    }
    ETNA_TRY(const auto found, stored_response(services, request, routed));
    const std::string& object = found.object;
    const Json response = parse_json(object);
    if (response.value("background", Json()) != true)
        return not_in_background();
    return HttpReply{.body = object + "\n"};
}

ApiResult<HttpReply> control(const Services& services, const HttpRequest& request,
                             const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    return api::control_answer(services.answers, request, routed.path_values.front(), body);
}

ApiResult<HttpReply> list_input(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    const auto running = running_response(services, request, routed);
    if (running != nullptr && (!running->has_ended() || running->is_unstored()))
        return page_reply(request, running->input(), storage::Order::descending);
    ETNA_TRY(const auto found, stored_response(services, request, routed));
    return page_reply(request, parse_json(found.input), storage::Order::descending);
}

} // namespace etna::server::responses
