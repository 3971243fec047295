#include "server/faces/responses/rerun.hpp"

#include "server/api/owner.hpp"
#include "server/api/persistence.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/background.hpp"
#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/response_job.hpp"
#include "server/observe/log_line.hpp"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// Generates one pending response again. Errors: those of prepare(), and 429.
ApiStatus run_again(const Services& services, const storage::Response& response, Rerun rerun) {
    const HttpRequest anonymous = {.remote_address = rerun.remote_address,
                                   .remote_network = rerun.remote_network};
    auto request = request_of_owner(services.answers.options.access, response.owner, anonymous);
    if (!request)
        return ApiError{.message = "its key was removed from the server"};
    if (!rerun.dialect.empty())
        request->headers[std::string(dialect_header)] = rerun.dialect;
    RoutedRequest routed;
    routed.request_id = new_uuid();
    const Json object = parse_json(response.object);
    ETNA_TRY(auto prepared, prepare(services, *request, rerun.body, Purpose::answer,
                                    ResponseId{.id = response.id, .created_unix_s = object["created_at"]}));
    const auto job = std::make_shared<ResponseJob>(services, *request, routed, std::move(prepared));
    ++rerun.begun;
    // When it leaves the queue, and before its first token: a request that ends the process is not tried for
    // ever.
    job->on_begin([services, begun = response, text = rerun_text(rerun)]() mutable {
        begun.events = std::move(text);
        if (const Status stored = services.answers.persistence->store->put(begun); !stored)
            services.answers.log(warning_line(services.answers.options.log_format, stored.error().message));
    });
    services.running.add(job->shared());
    if (!run_in_background(job, api::AnswerStart::loading, services, *request, routed))
        return ApiError{.message = "too many background responses are running"};
    return {};
}

Json failed_object(const storage::Response& response, std::string_view reason) {
    Json object = parse_json(response.object);
    object["status"] = to_string(ResponseStatus::failed);
    object["error"] = {{"code", "server_error"}, {"message", reason}};
    return object;
}

/// Serves a failed response from memory, because the store does not take it.
void hold_failed(const Services& services, const storage::Response& response, std::string_view reason) {
    auto stream = std::make_shared<ResponseStream>(response.id, response.owner, false);
    stream->set_object(failed_object(response, reason));
    stream->set_unstored();
    stream->end();
    services.running.add(stream);
    services.running.hold(std::move(stream));
}

void fail_pending(const Services& services, const storage::Response& response, const std::string& reason) {
    services.answers.log(
        warning_line(services.answers.options.log_format,
                     fmt::format("the response {} does not continue: {}", response.id, reason)));
    if (const Status failed = interrupt(*services.answers.persistence->store, response, reason); !failed) {
        services.answers.log(warning_line(services.answers.options.log_format, failed.error().message));
        hold_failed(services, response, reason);
    }
}

} // namespace

std::string rerun_text(const Rerun& rerun) {
    return dump_json({{"body", rerun.body},
                      {"dialect", rerun.dialect},
                      {"remote_address", rerun.remote_address},
                      {"remote_network", rerun.remote_network},
                      {"begun", rerun.begun}});
}

std::optional<Rerun> read_rerun(std::string_view text) {
    const Json json = parse_json(text);
    if (!json.is_object() || !json.value("body", Json()).is_object())
        return std::nullopt;
    Rerun rerun = {.body = json["body"],
                   .dialect = json.value("dialect", ""),
                   .remote_address = json.value("remote_address", ""),
                   .remote_network = json.value("remote_network", ""),
                   .begun = json.value("begun", runs_max)};
    if (rerun.begun >= runs_max)
        return std::nullopt;
    return rerun;
}

Status interrupt(storage::Store& store, storage::Response response, std::string_view reason) {
    response.object = dump_json(failed_object(response, reason));
    response.events.clear();
    response.is_pending = false;
    return store.put(response);
}

void run_pending(const Services& services) {
    if (!services.answers.persistence->store)
        return;
    const auto pending = services.answers.persistence->store->pending();
    if (!pending) {
        services.answers.log(warning_line(services.answers.options.log_format, pending.error().message));
        return;
    }
    for (const storage::Response& response : *pending) {
        auto rerun = read_rerun(response.events);
        if (!rerun) { // open_persistence() could not fail it
            fail_pending(services, response, std::string(interrupted_message));
            continue;
        }
        if (const auto begun = run_again(services, response, std::move(*rerun)); !begun) {
            fail_pending(services, response,
                         fmt::format("{}; {}", interrupted_message, begun.error().message));
            continue;
        }
        services.answers.log(event_line(services.answers.options.log_format,
                                        fmt::format("continuing the response {}", response.id)));
    }
}

} // namespace etna::server::responses
