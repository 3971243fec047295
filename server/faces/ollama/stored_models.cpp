// POST /api/pull and /api/copy, and DELETE /api/delete: clients change the folder of models.

#include "core/store/model_name.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/errors.hpp"
#include "server/faces/ollama/names.hpp"
#include "server/http/sse.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

/// Returns access to the folder of models. Errors: 403 (not granted by the operator, or only to the
/// operator).
ApiResult<const StoreAccess*> access_of(const AnswerServices& services, const HttpRequest& request) {
    if (services.options.store) {
        if (auto refusal = check_operator(services.options.access, request, "changing the stored models"))
            return std::move(*refusal);
        return &*services.options.store;
    }
    return ApiError{.status = 403,
                    .message = "clients may not change the models of this server; start it with `etna serve "
                               "--api ollama` to allow it",
                    .type = "permission_error",
                    .code = "store_not_granted"};
}

ApiError not_stored(const std::string& name) {
    constexpr std::size_t shown_max = 200;
    return {.status = 404,
            .message = fmt::format("model '{}' not found; `etna list` on its machine lists the stored models",
                                   name.substr(0, shown_max)),
            .param = "model",
            .code = "model_not_found"};
}

/// Returns the error message for a client: without paths of this machine.
ApiError store_error(const Error& error) {
    ApiError reported = api_error(error);
    reported.message = strip_directories(reported.message);
    return reported;
}

/// Returns the stored name for a client's name with or without ":latest". Errors: 404; 400 (the model is not
/// in the store, so it cannot be changed).
ApiResult<store::Manifest> find_stored(AnswerServices& services, const StoreAccess& access,
                                       const std::string& name) {
    const store::ModelStore models(access.folder);
    for (const std::string& stored : {name, without_latest(name)}) {
        auto manifest = models.find(stored);
        if (manifest)
            return std::move(*manifest);
        if (manifest.error().kind != ErrorKind::not_found)
            return store_error(manifest.error());
    }
    if (services.models.find(name)) {
        return ApiError{.message =
                            fmt::format("model '{}' is served, but was not stored by etna: it is changed "
                                        "where its file is",
                                        name),
                        .param = "model",
                        .code = "not_stored"};
    }
    return not_stored(name);
}

/// Reads the members that only matter to Ollama's registry.
void accept_registry(Fields& fields) {
    fields.accept({"insecure", "username", "password"});
}

/// The body of a request that names one model.
struct NamedModel {
    std::string name;
    bool is_streamed = true;
    api::IgnoredMembers ignored = {};
};

ApiResult<NamedModel> read_named(const HttpRequest& request) {
    ETNA_TRY(const Json body, parse_body(request));
    Fields fields(body);
    NamedModel named = {.name = read_model(fields)};
    named.is_streamed = fields.flag("stream").value_or(true);
    accept_registry(fields);
    ETNA_CHECK(fields.status());
    named.ignored = api::ignored_members(fields);
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), named.ignored));
    return named;
}

std::string status_line(std::string_view status) {
    return dump_json({{"status", status}}) + "\n";
}

/// Returns the progress line of a file.
std::string progress_line(const store::PullPlan& plan, const store::PullProgress& progress) {
    constexpr std::size_t shown_digits = 12;
    const store::DownloadProgress& download = progress.download;
    if (download.phase == store::DownloadPhase::checking)
        return status_line("verifying sha256 digest");
    if (download.phase == store::DownloadPhase::waiting)
        return status_line("waiting for another download of the same file");
    const std::string& sha256 = plan.files.at(progress.file).download.sha256;
    Json line = {{"status", fmt::format("pulling {}", sha256.empty() ? plan.files[progress.file].path
                                                                     : sha256.substr(0, shown_digits))}};
    if (!sha256.empty())
        line["digest"] = "sha256:" + sha256;
    line["total"] = download.total_bytes;
    line["completed"] = download.done_bytes;
    return dump_json(line) + "\n";
}

/// Downloads a model. `send` receives progress lines and returns false once the client has disconnected. The
/// download then stops, as it does when the server shuts down.
ApiStatus pull(AnswerServices& services, const std::string& name,
               const std::function<bool(std::string_view)>& send) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds interval{200};
    std::atomic<bool> is_gone{false};
    Clock::time_point last_sent = {};
    std::string last_status;
    const auto report = [&](const store::PullPlan& plan, const store::PullProgress& progress) {
        const bool is_due = Clock::now() - last_sent >= interval;
        const bool is_complete = progress.download.done_bytes == progress.download.total_bytes;
        if (!is_due && !is_complete)
            return;
        const std::string line = progress_line(plan, progress);
        if (line == last_status && !is_due)
            return;
        last_sent = Clock::now();
        last_status = line;
        if (!send(line))
            is_gone = true;
    };
    const auto pulled =
        services.options.store->pull(name, report, [&] { return is_gone || services.is_aborting; });
    if (!pulled && pulled.error().kind == ErrorKind::cancelled) {
        return ApiError{.status = 503,
                        .message = "the download was stopped; pull the model again to resume it",
                        .type = "server_error",
                        .code = "cancelled"};
    }
    return pulled ? ApiStatus() : store_error(pulled.error());
}

/// Streams the progress. If the download fails later, the status has already been sent.
HttpReply pull_stream(AnswerServices& services, const std::string& name) {
    HttpReply reply = {.content_type = "application/x-ndjson"};
    reply.stream = [&services, name](HttpWriter& writer) {
        const std::string first = status_line("pulling manifest");
        EventStream stream(writer, services.options.keep_alive, first);
        stream.send(first);
        const auto pulled = pull(services, name, [&](std::string_view line) { return stream.send(line); });
        if (!pulled) {
            stream.send(error_line(pulled.error()));
            return;
        }
        stream.send(status_line("writing manifest"));
        stream.send(status_line("success"));
    };
    return reply;
}

/// Returns whether a pull of the model has nothing to do: it is served or stored, and no client of this
/// server, or no hub, could bring a newer version.
bool needs_no_pull(AnswerServices& services, const std::string& name) {
    const std::optional<StoreAccess>& access = services.options.store;
    const auto parsed = store::parse_model_name(without_latest(name));
    const bool is_local = parsed && std::holds_alternative<store::LocalModel>(*parsed);
    if (access && !is_local)
        return false;
    const auto model = find_model(services, name);
    const bool is_here = model && !(model->source.path.empty() && model->source.bytes.empty());
    return is_here || (access && find_stored(services, *access, name));
}

} // namespace

ApiResult<HttpReply> pull_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const auto named, read_named(request));
    HttpReply reply = {.body = status_line("success")};
    if (needs_no_pull(services, named.name)) {
        if (named.is_streamed)
            reply = {.content_type = "application/x-ndjson",
                     .body = status_line("pulling manifest") + status_line("success")};
        api::report_ignored(named.ignored, reply);
        return reply;
    }
    ETNA_CHECK(access_of(services, request));
    if (named.is_streamed) {
        reply = pull_stream(services, named.name);
    } else {
        ETNA_CHECK(
            pull(services, named.name, [&](std::string_view /*line*/) { return !request.is_client_gone(); }));
    }
    api::report_ignored(named.ignored, reply);
    return reply;
}

ApiResult<HttpReply> copy_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const StoreAccess* const access, access_of(services, request));
    ETNA_TRY(const Json body, parse_body(request));
    Fields fields(body);
    for (const std::string_view name : {"source", "destination"})
        fields.require(name);
    const std::string source = fields.text("source").value_or("");
    const std::string destination = without_latest(fields.text("destination").value_or(""));
    if (const Status valid = store::check_stored_name(destination); !valid && !fields.problem())
        fields.refuse("destination", "is no name for a model: " + message_for_client(valid.error()));
    ETNA_CHECK(fields.status());
    const api::IgnoredMembers ignored = api::ignored_members(fields);
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), ignored));
    ETNA_TRY(store::Manifest manifest, find_stored(services, *access, source));
    manifest.name = destination;
    manifest.created.clear();
    // As in Ollama, replaces an earlier model of that name.
    if (const Status put = store::ModelStore(access->folder).put(manifest, store::Existing::replace); !put)
        return store_error(put.error());
    services.models.recheck_requested();
    HttpReply reply;
    api::report_ignored(ignored, reply);
    return reply;
}

ApiResult<HttpReply> delete_model(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    ETNA_TRY(const StoreAccess* const access, access_of(services, request));
    ETNA_TRY(const auto named, read_named(request));
    ETNA_TRY(const store::Manifest manifest, find_stored(services, *access, named.name));
    if (const auto removal = store::ModelStore(access->folder).remove(manifest.name); !removal)
        return store_error(removal.error());
    services.models.recheck_requested();
    HttpReply reply;
    api::report_ignored(named.ignored, reply);
    return reply;
}

} // namespace etna::server::ollama
