#include "server/responses/rerun.hpp"

#include "server/ids.hpp"
#include "server/log_line.hpp"
#include "server/persistence.hpp"
#include "server/responses/background.hpp"
#include "server/responses/dialect.hpp"
#include "server/responses/response_job.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// Generates one pending response again. Errors: those of ResponseJob::prepare() and of the store.
ApiStatus run_again(Service& service, storage::Response response, Rerun rerun) {
    const HttpRequest anonymous = {.remote_address = rerun.remote_address,
                                   .remote_network = rerun.remote_network};
    auto request = request_of_owner(service.options.access, response.owner, anonymous);
    if (!request)
        return ApiError{.message = "its key was removed from the server"};
    if (!rerun.dialect.empty())
        request->headers[std::string(dialect_header)] = rerun.dialect;
    Call call;
    call.request_id = new_uuid();
    ++rerun.begun;
    response.events =
        rerun_text(rerun); // first, so that a request that ends the process is not tried for ever
    if (const Status stored = service.persistence->store->put(response); !stored)
        return store_failed(stored.error());
    const Json object = parse_json(response.object);
    ETNA_TRY(const auto job,
             ResponseJob::prepare(service, *request, call, rerun.body, Purpose::answer,
                                  ResponseId{.id = response.id, .created_unix_s = object["created_at"]}));
    service.persistence->runs.add(job->stream());
    if (!run_in_background(job, service, *request, call))
        return ApiError{.message = "too many background responses are running"};
    return {};
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

Status interrupt(storage::Store& store, storage::Response response) {
    Json object = parse_json(response.object);
    object["status"] = to_string(ResponseStatus::failed);
    object["error"] = {{"code", "server_error"},
                       {"message", "the server was stopped before the response was complete"}};
    response.object = dump_json(object);
    response.events.clear();
    response.is_pending = false;
    return store.put(response);
}

void run_pending(Service& service) {
    if (!service.persistence->store)
        return;
    auto pending = service.persistence->store->pending();
    if (!pending) {
        service.log(warning_line(service.options.log_format, pending.error().message));
        return;
    }
    for (storage::Response& response : *pending) {
        auto rerun = read_rerun(response.events);
        const ApiStatus begun = rerun ? run_again(service, response, std::move(*rerun))
                                      : ApiStatus(ApiError{.message = "its request is not stored"});
        const std::string id = response.id;
        if (begun) {
            service.log(
                event_line(service.options.log_format, fmt::format("continuing the response {}", id)));
            continue;
        }
        service.log(
            warning_line(service.options.log_format,
                         fmt::format("the response {} cannot continue: {}", id, begun.error().message)));
        if (const Status failed = interrupt(*service.persistence->store, std::move(response)); !failed)
            service.log(warning_line(service.options.log_format, failed.error().message));
    }
}

} // namespace etna::server::responses
