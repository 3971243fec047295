// GET and DELETE /v1/responses/{id}, POST .../cancel, GET .../input_items.
#include "server/http/sse.hpp"
#include "server/pagination.hpp"
#include "server/responses/endpoints.hpp"
#include "server/responses/making.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

ApiError not_found(std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no response `{}`", id),
            .param = "response_id",
            .code = "response_not_found"};
}

std::variant<storage::Response, ApiError> kept(Service& service, const HttpRequest& request,
                                               const Call& call) {
    const std::string& id = call.path_values.front();
    if (!service.persistence->store)
        return not_found(id);
    auto found = service.persistence->store->response(owner_of(service.options.access, request), id);
    if (!found)
        return store_failed(found.error());
    if (!*found)
        return not_found(id);
    return std::move(**found);
}

std::shared_ptr<Run> running(Service& service, const HttpRequest& request, const Call& call) {
    return service.persistence->runs.find(owner_of(service.options.access, request),
                                          call.path_values.front());
}

HttpReply event_reply(Service& service, std::function<void(EventStream&)> send) {
    HttpReply reply;
    reply.content_type = std::string(sse::content_type);
    reply.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
    reply.stream = [send = std::move(send), keep_alive = service.options.keep_alive](HttpWriter& writer) {
        EventStream stream(writer, keep_alive);
        send(stream);
    };
    return reply;
}

HttpReply no_events() {
    return reply_of({.status = 400,
                     .message =
                         "this response has no events: it was not streamed, or was interrupted before they "
                         "were kept",
                     .param = "stream",
                     .code = "unsupported_value"});
}

HttpReply not_in_background() {
    return reply_of({.status = 400,
                     .message = "only responses in the background can be cancelled; leave the others",
                     .code = "not_in_background"});
}

/// Replays the events of a finished response, from `number` on.
HttpReply replay(Service& service, const storage::Response& response, std::size_t number) {
    if (response.events.empty())
        return no_events();
    return event_reply(service, [events = response.events, number](EventStream& stream) {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < number && begin < events.size(); ++i)
            begin = std::min(events.find("\n\n", begin), events.size() - 2) + 2;
        if (stream.send(std::string_view(events).substr(begin)))
            stream.send(sse::done);
    });
}

HttpReply follow_reply(Service& service, const std::shared_ptr<Run>& run, std::size_t number) {
    if (!run->is_streamed())
        return no_events();
    return event_reply(service, [run, number](EventStream& stream) { follow(*run, number, stream); });
}

} // namespace

void follow(const Run& run, std::size_t number, EventStream& stream) {
    constexpr std::chrono::milliseconds poll_interval{200};
    while (true) {
        if (const auto frame = run.wait(number, poll_interval)) {
            ++number;
            if (!stream.send(*frame))
                return;
        } else if (run.has_ended()) {
            break;
        } else if (stream.is_disconnected()) {
            return;
        }
    }
    stream.send(sse::done);
}

HttpReply show(Service& service, const HttpRequest& request, const Call& call) {
    const bool is_streamed = query_value(request, "stream") == "true";
    int64_t after = -1;
    if (const auto given = query_value(request, "starting_after")) {
        const auto read = std::from_chars(given->data(), given->data() + given->size(), after);
        if (read.ec != std::errc() || read.ptr != given->data() + given->size() || after < 0) {
            return reply_of({.status = 400,
                             .message = "`starting_after` must be the number of an event",
                             .param = "starting_after",
                             .code = "invalid_value"});
        }
    }
    const auto first = static_cast<std::size_t>(after) + 1; // 0 if there was none
    const auto run = running(service, request, call);
    if (run != nullptr && (!run->has_ended() || run->is_lost())) {
        return is_streamed ? follow_reply(service, run, first)
                           : HttpReply{.body = text_of(run->object()) + "\n"};
    }
    const auto found = kept(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&found))
        return reply_of(*error);
    const auto& response = std::get<storage::Response>(found);
    return is_streamed ? replay(service, response, first) : HttpReply{.body = response.object + "\n"};
}

HttpReply remove(Service& service, const HttpRequest& request, const Call& call) {
    const std::string& id = call.path_values.front();
    const auto run = running(service, request, call);
    if (run != nullptr && !run->has_ended()) {
        return reply_of({.status = 409,
                         .message = fmt::format("the response `{}` is being made; cancel it first", id),
                         .code = "response_in_progress"});
    }
    if (!service.persistence->store)
        return reply_of(not_found(id));
    const auto was_there =
        service.persistence->store->delete_response(owner_of(service.options.access, request), id);
    if (!was_there)
        return reply_of(store_failed(was_there.error()));
    const bool was_lost = run != nullptr && run->is_lost();
    if (was_lost)
        service.persistence->runs.forget(*run);
    if (!*was_there && !was_lost)
        return reply_of(not_found(id));
    return {.body = text_of({{"id", id}, {"object", "response.deleted"}, {"deleted", true}}) + "\n"};
}

HttpReply cancel(Service& service, const HttpRequest& request, const Call& call) {
    constexpr std::chrono::milliseconds notice_time{5'000};
    if (const auto run = running(service, request, call)) {
        if (run->object().value("background", Json()) != true)
            return not_in_background();
        run->cancel();
        run->wait_for_end(notice_time);
        return {.body = text_of(run->object()) + "\n"};
    }
    const auto found = kept(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&found))
        return reply_of(*error);
    const std::string& object = std::get<storage::Response>(found).object;
    const Json response = parse_json(object);
    return response.value("background", Json()) == true ? HttpReply{.body = object + "\n"}
                                                        : not_in_background();
}

HttpReply list_input(Service& service, const HttpRequest& request, const Call& call) {
    const auto run = running(service, request, call);
    if (run != nullptr && (!run->has_ended() || run->is_lost()))
        return page_reply(request, run->input(), storage::Order::descending);
    const auto found = kept(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&found))
        return reply_of(*error);
    return page_reply(request, parse_json(std::get<storage::Response>(found).input),
                      storage::Order::descending);
}

} // namespace etna::server::responses
