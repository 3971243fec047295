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

/// Generates one pending response again. Errors: those of ResponseJob::prepare(), and 429.
ApiStatus run_again(Service& service, const storage::Response& response, Rerun rerun) {
    const HttpRequest anonymous = {.remote_address = rerun.remote_address,
                                   .remote_network = rerun.remote_network};
    auto request = request_of_owner(service.options.access, response.owner, anonymous);
    if (!request)
        return ApiError{.message = "its key was removed from the server"};
    if (!rerun.dialect.empty())
        request->headers[std::string(dialect_header)] = rerun.dialect;
    Call call;
    call.request_id = new_uuid();
    const Json object = parse_json(response.object);
    ETNA_TRY(const auto job,
             ResponseJob::prepare(service, *request, call, rerun.body, Purpose::answer,
                                  ResponseId{.id = response.id, .created_unix_s = object["created_at"]}));
    ++rerun.begun;
    // When it leaves the queue, and before its first token: a request that ends the process is not tried for
    // ever.
    job->on_begin([&service, begun = response, text = rerun_text(rerun)]() mutable {
        begun.events = std::move(text);
        if (const Status stored = service.persistence->store->put(begun); !stored)
            service.log(warning_line(service.options.log_format, stored.error().message));
    });
    service.running_responses->add(job->stream());
    if (!run_in_background(job, service, *request, call))
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
void hold_failed(Service& service, const storage::Response& response, std::string_view reason) {
    auto stream = std::make_shared<ResponseStream>(response.id, response.owner, false);
    stream->set_object(failed_object(response, reason));
    stream->set_unstored();
    stream->end();
    service.running_responses->add(stream);
    service.running_responses->hold(std::move(stream));
}

void fail_pending(Service& service, const storage::Response& response, const std::string& reason) {
    service.log(warning_line(service.options.log_format,
                             fmt::format("the response {} does not continue: {}", response.id, reason)));
    if (const Status failed = interrupt(*service.persistence->store, response, reason); !failed) {
        service.log(warning_line(service.options.log_format, failed.error().message));
        hold_failed(service, response, reason);
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

void run_pending(Service& service) {
    if (!service.persistence->store)
        return;
    const auto pending = service.persistence->store->pending();
    if (!pending) {
        service.log(warning_line(service.options.log_format, pending.error().message));
        return;
    }
    for (const storage::Response& response : *pending) {
        auto rerun = read_rerun(response.events);
        if (!rerun) { // open_persistence() could not fail it
            fail_pending(service, response, std::string(interrupted_message));
            continue;
        }
        if (const auto begun = run_again(service, response, std::move(*rerun)); !begun) {
            fail_pending(service, response,
                         fmt::format("{}; {}", interrupted_message, begun.error().message));
            continue;
        }
        service.log(
            event_line(service.options.log_format, fmt::format("continuing the response {}", response.id)));
    }
}

} // namespace etna::server::responses
