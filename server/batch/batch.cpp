#include "server/batch/batch.hpp"

#include "server/base/ids.hpp"

#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

const std::set<std::string, std::less<>> final_states = {"failed", "completed", "expired", "cancelled"};

/// Returns hexadecimal digits: the bytes may be invalid UTF-8, which JSON cannot hold.
std::string hex_of(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

std::string bytes_of(std::string_view hex) {
    constexpr int base = 16;
    std::string bytes;
    for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
        unsigned value = 0;
        std::from_chars(hex.data() + at, hex.data() + at + 2, value, base);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

/// Returns null if the member is missing: the file may be damaged.
Json member_of(const Json& object, const char* name) {
    return object.is_object() ? object.value(name, Json()) : Json();
}

std::string text_in(const Json& object, const char* name) {
    const Json value = member_of(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

int64_t number_in(const Json& object, const char* name) {
    const Json value = member_of(object, name);
    return value.is_number_integer() ? value.get<int64_t>() : 0;
}

/// {"input_tokens", "input_tokens_details", ...}.
Json usage_json(const TokenUsage& usage) {
    return {{"input_tokens", usage.input},
            {"input_tokens_details", {{"cached_tokens", usage.cached}}},
            {"output_tokens", usage.output},
            {"output_tokens_details", {{"reasoning_tokens", usage.reasoning}}},
            {"total_tokens", usage.input + usage.output}};
}

/// Returns OpenAI's batch object for a new batch. `model` is added once an answer names it.
Json new_object(const NewBatch& request, const std::string& id, int64_t now_s) {
    Json object = {{"id", id},
                   {"object", "batch"},
                   {"endpoint", request.endpoint},
                   {"errors", nullptr},
                   {"input_file_id", request.input.id},
                   {"completion_window", "24h"},
                   {"status", "validating"},
                   {"output_file_id", nullptr},
                   {"error_file_id", nullptr},
                   {"created_at", now_s},
                   {"in_progress_at", nullptr},
                   {"expires_at", now_s + completion_window_s}};
    for (const char* name :
         {"finalizing_at", "completed_at", "failed_at", "expired_at", "cancelling_at", "cancelled_at"})
        object[name] = nullptr;
    object["request_counts"] = {{"total", 0}, {"completed", 0}, {"failed", 0}};
    object["usage"] = usage_json({});
    object["metadata"] =
        request.metadata.is_object() && !request.metadata.empty() ? request.metadata : Json();
    return object;
}

} // namespace

bool is_final(std::string_view status) {
    return final_states.contains(status);
}

std::string Batch::status() const {
    return text_in(object, "status");
}

std::string Batch::endpoint() const {
    return text_in(object, "endpoint");
}

std::string Batch::input_file_id() const {
    return text_in(object, "input_file_id");
}

int64_t Batch::created_s() const {
    return number_in(object, "created_at");
}

int64_t Batch::expires_s() const {
    return number_in(object, "expires_at");
}

void Batch::set_status(std::string_view status, int64_t now_s) {
    object["status"] = status;
    object[fmt::format("{}_at", status)] = now_s;
}

void Batch::set_error(std::string_view code, const std::string& message) {
    Json error = {{"code", code}, {"message", message}, {"param", nullptr}, {"line", nullptr}};
    object["errors"] = {{"object", "list"}, {"data", Json::array({std::move(error)})}};
}

void Batch::set_progress() {
    if (!is_open())
        return;
    const RecordTotals totals = results->totals();
    object["usage"] = usage_json(totals.usage);
    if (totals.has_several_models) {
        object.erase("model");
    } else if (!totals.model.empty()) {
        object["model"] = totals.model;
    }
    object["request_counts"]["completed"] = results->records(Output::results);
    object["request_counts"]["failed"] = results->records(Output::errors);
}

bool is_older(const Batch& a, const Batch& b) {
    return std::tuple(a.created_s(), a.id) < std::tuple(b.created_s(), b.id);
}

std::shared_ptr<Batch> new_batch(const NewBatch& request, int64_t now_s) {
    auto batch = std::make_shared<Batch>();
    batch->id = new_id("batch_");
    batch->owner = request.input.owner;
    batch->object = new_object(request, batch->id, now_s);
    batch->output_file_id = new_id("file-");
    batch->error_file_id = new_id("file-");
    batch->output_lifetime_s = request.output_lifetime_s;
    batch->client.remote_address = request.client.remote_address;
    batch->client.remote_network = request.client.remote_network;
    batch->client.headers = request.client.headers;
    return batch;
}

std::string state_text(const Batch& batch) {
    Json headers = Json::object();
    for (const auto& [name, value] : batch.client.headers)
        headers[name] = value;
    const Json state = {{"object", batch.object},
                        {"owner", batch.owner},
                        {"output_file_id", batch.output_file_id},
                        {"error_file_id", batch.error_file_id},
                        {"ending", batch.ending},
                        {"output_lifetime_s", batch.output_lifetime_s},
                        {"remote_address", batch.client.remote_address},
                        {"remote_network", hex_of(batch.client.remote_network)},
                        {"headers", std::move(headers)}};
    return dump_json(state) + "\n";
}

std::shared_ptr<Batch> read_state(std::string_view text) {
    const Json state = parse_json(text);
    auto batch = std::make_shared<Batch>();
    batch->object = member_of(state, "object");
    batch->id = text_in(batch->object, "id");
    if (batch->id.empty())
        return nullptr;
    batch->owner = text_in(state, "owner");
    batch->output_file_id = text_in(state, "output_file_id");
    batch->error_file_id = text_in(state, "error_file_id");
    batch->ending = text_in(state, "ending");
    batch->output_lifetime_s = number_in(state, "output_lifetime_s");
    batch->client.remote_address = text_in(state, "remote_address");
    batch->client.remote_network = bytes_of(text_in(state, "remote_network"));
    const Json headers = member_of(state, "headers");
    for (const auto& [name, value] : headers.items()) {
        if (value.is_string())
            batch->client.headers[name] = value;
    }
    batch->is_cancelled = batch->status() == "cancelling";
    batch->is_finished = is_final(batch->status());
    return batch;
}

} // namespace etna::server::batch
