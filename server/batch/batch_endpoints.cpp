// /v1/batches: creates, lists, shows and cancels batches.

#include "server/api/owner.hpp"
#include "server/api/pagination.hpp"
#include "server/api/persistence.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/batch/batches.hpp"
#include "server/batch/endpoints.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

constexpr int64_t output_lifetime_min_s = 3'600;

ApiError no_batches() {
    return storage_disabled("batches");
}

ApiError input_error(std::string message) {
    return {.message = std::move(message), .param = "input_file_id", .code = "invalid_value"};
}

/// Reads `output_expires_after`: {"anchor": "created_at", "seconds"}.
int64_t read_output_lifetime(Fields& fields) {
    const Json* const given = fields.object("output_expires_after");
    if (given == nullptr)
        return default_file_lifetime_s;
    Fields nested(*given, fields.path_of("output_expires_after"));
    nested.choice("anchor", {"created_at"});
    nested.require("seconds");
    const auto seconds = nested.integer("seconds", output_lifetime_min_s, default_file_lifetime_s);
    fields.adopt(nested);
    return seconds.value_or(default_file_lifetime_s);
}

/// Finds the input file of a new batch.
ApiResult<StoredFile> input_of(const Services& services, const HttpRequest& request, const std::string& id) {
    const auto file = services.batches->files().find(owner_of(services.access, request), id);
    if (!file)
        return input_error(fmt::format("there is no file `{}`", id));
    if (file->purpose != "batch")
        return input_error(fmt::format("the purpose of the file `{}` is not batch", id));
    return *file;
}

/// The client's address, its identity for fair scheduling when the server has no keys.
HttpRequest client_of_batch(const Services& services, const HttpRequest& request) {
    HttpRequest client;
    if (!services.access.api_keys.empty())
        return client; // its key identifies it
    client.remote_address = request.remote_address;
    client.remote_network = request.remote_network;
    const std::string& name = services.access.client_header;
    if (const auto found = request.headers.find(name); found != request.headers.end())
        client.headers.insert(*found);
    return client;
}

} // namespace

ApiResult<HttpReply> create_batch(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    if (services.batches == nullptr)
        return no_batches();
    ETNA_TRY(const auto body, parse_body(request));
    Fields fields(body);
    for (const char* name : {"input_file_id", "endpoint", "completion_window"})
        fields.require(name);
    const auto input = fields.text("input_file_id");
    const auto endpoint = fields.choice("endpoint", {endpoint_urls.begin(), endpoint_urls.end()});
    fields.choice("completion_window", {"24h"});
    NewBatch batch = {.metadata = read_metadata(fields)};
    batch.output_lifetime_s = read_output_lifetime(fields);
    ETNA_CHECK(fields.status());
    ETNA_TRY(batch.input, input_of(services, request, *input));
    batch.endpoint = endpoint_urls[*endpoint];
    batch.client = client_of_batch(services, request);
    ETNA_TRY(const Json object, services.batches->create(batch));
    return HttpReply{.body = dump_json(object) + "\n"};
}

ApiResult<HttpReply> list_batches(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    if (services.batches == nullptr)
        return no_batches();
    Json items = Json::array();
    for (Json& object : services.batches->list(owner_of(services.access, request)))
        items.push_back(std::move(object));
    return page_reply(request, std::move(items), storage::Order::descending);
}

ApiResult<HttpReply> show_batch(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    if (services.batches == nullptr)
        return no_batches();
    const std::string& id = routed.path_values.front();
    const auto object = services.batches->find(owner_of(services.access, request), id);
    if (!object) {
        return ApiError{.status = 404,
                        .message = fmt::format("there is no batch `{}`", id),
                        .param = "batch_id",
                        .code = "batch_not_found"};
    }
    return HttpReply{.body = dump_json(*object) + "\n"};
}

ApiResult<HttpReply> cancel_batch(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed) {
    if (services.batches == nullptr)
        return no_batches();
    ETNA_TRY(const Json object,
             services.batches->cancel(owner_of(services.access, request), routed.path_values.front()));
    return HttpReply{.body = dump_json(object) + "\n"};
}

} // namespace etna::server::batch
