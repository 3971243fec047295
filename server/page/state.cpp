#include "server/page/state.hpp"

#include "server/api/persistence.hpp"
#include "server/base/json.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::page {
namespace {

template <class Time>
int64_t unix_ms(Time time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json();
}

Json number_or_null(uint64_t value) {
    return value == 0 ? Json() : Json(value);
}

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

/// The client that asks for the state.
struct Reader {
    uint64_t client = 0;
    bool is_operator = false;
    bool is_trusted = false; ///< an operator by its key, or without keys on this machine

    [[nodiscard]] bool may_see(uint64_t other) const { return is_operator || other == client; }
    /// Whether it may read the prompts of a client.
    [[nodiscard]] bool may_read(uint64_t other) const { return is_trusted || other == client; }
};

Reader reader_of(const Services& services, const HttpRequest& request) {
    const AccessRules& access = services.answers.options.access;
    const bool is_operator = server::is_operator(access, request);
    return {.client = client_of(access, request),
            .is_operator = is_operator,
            .is_trusted = is_operator && (!access.api_keys.empty() || is_local(access, request))};
}

/// Null: the kernels have not been checked yet.
Json self_check_json(const runtime::SelfCheckReport& report) {
    using State = runtime::SelfCheckReport::State;
    if (report.state == State::not_run)
        return nullptr;
    return report.state == State::passed ? "passed" : "failed";
}

/// Returns what limits the device; null: nothing.
Json device_note(const runtime::DeviceReport& device) {
    if (!device.missing.empty())
        return fmt::format("unusable: it lacks {}", device.missing);
    if (!device.self_check.wrong.empty()) {
        return fmt::format("wrong results on this driver, not used: {}",
                           fmt::join(device.self_check.wrong, ", "));
    }
    if (device.shortfalls.empty())
        return nullptr;
    const runtime::Shortfall& first = device.shortfalls.front();
    return fmt::format("missing: {}; {}", first.what, first.effect);
}

/// The memory of a device, and the part that models take.
struct DeviceUse {
    std::optional<uint64_t> total_bytes;
    std::optional<uint64_t> free_bytes;
    runtime::DeviceMemoryUse models;

    /// Empty: unknown.
    [[nodiscard]] std::optional<uint64_t> other_bytes() const {
        if (!total_bytes || !free_bytes)
            return std::nullopt;
        const uint64_t used = *total_bytes - std::min(*total_bytes, *free_bytes);
        return used - std::min(used, models.total_bytes);
    }
};

/// All models are on the chosen device. Their readings are newer than the report.
DeviceUse use_of(const runtime::DeviceReport& device, const std::vector<ModelListing>& models) {
    DeviceUse use;
    if (device.total_bytes > 0) {
        use.total_bytes = device.total_bytes;
        use.free_bytes = device.free_bytes;
    }
    for (const ModelListing& model : models) {
        if (!device.is_chosen || !model.is_loaded)
            continue;
        use.models.weights_bytes += model.device_use.weights_bytes;
        use.models.cache_bytes += model.device_use.cache_bytes;
        use.models.total_bytes += model.device_use.total_bytes;
        if (model.device_memory) {
            use.total_bytes = model.device_memory->total_bytes;
            use.free_bytes = model.device_memory->free_bytes;
        }
    }
    return use;
}

Json device_json(const runtime::DeviceReport& device, const std::vector<ModelListing>& models) {
    const DeviceUse use = use_of(device, models);
    return {{"name", device.profile.name},
            {"driver", text_or_null(device.profile.driver)},
            {"is_cpu", device.profile.type == vk::DeviceType::cpu},
            {"is_chosen", device.is_chosen},
            {"self_check", self_check_json(device.self_check)},
            {"note", device_note(device)},
            {"total_bytes", or_null(use.total_bytes)},
            {"free_bytes", or_null(use.free_bytes)},
            {"weights_bytes", use.models.weights_bytes},
            {"cache_bytes", use.models.cache_bytes},
            {"etna_bytes", use.models.total_bytes},
            {"other_bytes", or_null(use.other_bytes())}};
}

Json devices_json(const Services& services, const std::vector<ModelListing>& models) {
    Json devices = Json::array();
    const bool is_open = std::ranges::any_of(models, &ModelListing::is_loaded);
    for (const runtime::DeviceReport& device :
         services.devices.read(services.answers.options.device_reporter, is_open, DeviceList::Clock::now()))
        devices.push_back(device_json(device, models));
    return devices;
}

std::string_view state_of(const ModelListing& model) {
    if (model.is_loaded)
        return "loaded";
    if (model.is_loading)
        return "loading";
    return model.problem ? "broken" : "unloaded";
}

/// Members that are known once the file was inspected, or the model loaded.
void add_facts(const ModelListing& model, Json& json) {
    const ModelFacts& facts = model.facts;
    const bool is_known = model.is_loaded || !facts.description.architecture.empty();
    const auto fact = [&](bool value) { return is_known ? Json(value) : Json(); };
    json["can_chat"] = fact(facts.has_chat_template && !facts.abilities.embeds);
    json["can_think"] = fact(facts.abilities.thinks);
    json["can_call_tools"] = fact(facts.abilities.calls_tools);
    json["can_embed"] = fact(facts.abilities.embeds);
    json["context_tokens"] = number_or_null(facts.context_tokens);
    json["parameters"] = number_or_null(facts.description.parameters);
    json["architecture"] = text_or_null(facts.description.architecture);
    json["format"] = text_or_null(facts.description.format);
    json["planned_bytes"] = or_null(facts.planned_bytes);
}

/// Members that only a loaded model has.
void add_load(const ModelListing& model, Json& json) {
    for (const char* name :
         {"memory_bytes", "device", "idle_s", "unloads_in_s", "pages_total", "pages_used", "pages_cached"})
        json[name] = nullptr;
    json["running"] = model.load ? model.load->running : 0;
    json["waiting"] = model.waiting_for_load + (model.load ? model.load->waiting : 0);
    if (!model.load)
        return;
    json["memory_bytes"] = model.memory_bytes;
    json["device"] = model.device;
    json["idle_s"] = model.idle_time.count();
    if (model.unloads_in)
        json["unloads_in_s"] = std::chrono::duration_cast<std::chrono::seconds>(*model.unloads_in).count();
    json["pages_total"] = model.load->pages_total;
    json["pages_used"] = model.load->pages_used;
    json["pages_cached"] = model.load->pages_cached;
}

Json load_progress(const Services& services, const ModelListing& model) {
    const auto& fractions = services.answers.options.load_fractions;
    if (!model.is_loading || fractions == nullptr)
        return nullptr;
    return or_null(fractions->find(model.source.name));
}

Json model_json(const Services& services, const ModelListing& model) {
    Json json = {
        {"name", model.name},
        {"aliases", model.aliases},
        {"state", state_of(model)},
        {"problem", or_null(model.problem)},
        {"file_bytes", number_or_null(std::max(model.file_bytes, model.facts.description.tensor_bytes))},
        {"is_pinned", model.is_pinned},
        {"load_progress", load_progress(services, model)}};
    add_facts(model, json);
    add_load(model, json);
    return json;
}

Json clients_json(const Services& services, const Reader& reader) {
    Json clients = Json::array();
    for (const ClientActivity::Client& client : services.answers.activity.clients()) {
        clients.push_back({{"client", reader.may_see(client.id) ? text_or_null(client.label) : Json()},
                           {"running", client.running},
                           {"waiting", client.waiting}});
    }
    return clients;
}

Json throughput_json(const Services& services) {
    const auto now = Throughput::Clock::now();
    services.throughput.record(now, services.answers.models.engine_readings());
    Json prompt = Json::array();
    Json generated = Json::array();
    for (const Throughput::Tokens& tokens : services.throughput.history(now)) {
        prompt.push_back(tokens.prompt);
        generated.push_back(tokens.generated);
    }
    return {{"step_s", Throughput::step.count()},
            {"last_step_s", services.throughput.step_time(now).count()},
            {"prompt_tokens", std::move(prompt)},
            {"generated_tokens", std::move(generated)}};
}

Json request_json(const JournalEntry& entry) {
    const AnswerLog& answer = entry.answer;
    const auto time = [&](double AnswerTimes::* member) {
        return answer.times ? Json((*answer.times).*member) : Json();
    };
    return {{"id", entry.id},
            {"time_ms", entry.arrived_ms},
            {"method", entry.method},
            {"path", entry.path},
            {"status", entry.status},
            {"outcome", outcome_of(entry.status)},
            {"model", text_or_null(answer.model)},
            {"client", text_or_null(answer.journal->client_label)},
            {"prompt_tokens", or_null(answer.prompt_tokens)},
            {"cached_tokens", or_null(answer.journal->cached_tokens)},
            {"completion_tokens", or_null(answer.completion_tokens)},
            {"error", text_or_null(answer.error)},
            {"load_ms", or_null(answer.journal->load_ms)},
            {"queue_ms", time(&AnswerTimes::queue_ms)},
            {"prefill_ms", time(&AnswerTimes::prefill_ms)},
            {"decode_ms", time(&AnswerTimes::decode_ms)},
            {"elapsed_ms", entry.elapsed_ms}};
}

Json requests_json(const Services& services, const Reader& reader) {
    Json requests = Json::array();
    for (const auto& entry : services.journal.entries()) {
        if (reader.may_see(entry->answer.journal->client))
            requests.push_back(request_json(*entry));
    }
    return requests;
}

HttpReply uncached(const Json& json) {
    return {.headers = {{"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}},
            .body = dump_json(json) + "\n"};
}

} // namespace

ApiResult<HttpReply> show_state(const Services& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    const Reader reader = reader_of(services, request);
    const std::vector<ModelListing> listed = services.answers.models.list_all();
    Json models = Json::array();
    for (const ModelListing& model : listed)
        models.push_back(model_json(services, model));
    HttpReply reply =
        uncached({{"version", ETNA_VERSION},
                  {"time_ms", unix_ms(std::chrono::system_clock::now())},
                  {"started_ms", unix_ms(services.started)},
                  {"is_operator", reader.is_operator},
                  {"can_pull", reader.is_operator && services.answers.options.store.has_value()},
                  {"inspects", services.answers.options.keeps_prompts},
                  {"stores_responses", services.answers.persistence->stored_kinds().responses},
                  {"is_keyed", !services.answers.options.access.api_keys.empty()},
                  {"devices", devices_json(services, listed)},
                  {"models", std::move(models)},
                  {"clients", clients_json(services, reader)},
                  {"throughput", throughput_json(services)},
                  {"requests", requests_json(services, reader)}});
    reply.is_logged = false;
    return reply;
}

ApiResult<HttpReply> show_request(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed) {
    const std::string& id = routed.path_values.front();
    const Reader reader = reader_of(services, request);
    const auto entries = services.journal.entries();
    const auto found = std::ranges::find_if(entries, [&](const auto& entry) {
        return entry->id == id && reader.may_see(entry->answer.journal->client);
    });
    if (found == entries.end()) {
        return ApiError{
            .status = 404,
            .message = fmt::format("none of the last {} requests has this id", RequestJournal::entries_max),
            .code = "request_not_found"};
    }
    Json json = request_json(**found);
    const auto& prompt = (*found)->answer.journal->prompt;
    json["prompt"] =
        prompt == nullptr || !reader.may_read((*found)->answer.journal->client) ? Json() : Json(*prompt);
    return uncached(json);
}

} // namespace etna::server::page
