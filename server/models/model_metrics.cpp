#include "server/endpoints.hpp"

#include <array>
#include <optional>

// GET /metrics: counters and current gauges.
namespace etna::server {
namespace {

/// A metric of every loaded model.
struct ModelReading {
    std::string_view name;
    std::string_view help;
    std::optional<double> (*value)(const ModelListing& model);
};

template <auto member>
std::optional<double> of_load(const ModelListing& model) {
    return model.load ? std::optional(static_cast<double>((*model.load).*member)) : std::nullopt;
}

template <auto member>
std::optional<double> of_memory(const ModelListing& model) {
    return model.device_memory ? std::optional(static_cast<double>((*model.device_memory).*member))
                               : std::nullopt;
}

std::optional<double> loaded(const ModelListing& model) {
    return model.is_loaded ? 1.0 : 0.0;
}

constexpr std::array model_readings = {
    ModelReading{"etna_model_loaded", "Whether the model is in memory.", loaded},
    ModelReading{"etna_requests_waiting", "Requests that wait for a place.",
                 of_load<&engine::EngineStats::waiting>},
    ModelReading{"etna_requests_running", "Requests that a model works on.",
                 of_load<&engine::EngineStats::running>},
    ModelReading{"etna_kv_pages", "Pages that the KV cache has.", of_load<&engine::EngineStats::pages_total>},
    ModelReading{"etna_kv_pages_used", "Pages that requests hold.",
                 of_load<&engine::EngineStats::pages_used>},
    ModelReading{"etna_kv_pages_cached", "Pages that hold prompts for later requests.",
                 of_load<&engine::EngineStats::pages_cached>},
    ModelReading{"etna_preemptions_total", "Requests that gave their pages back and waited again.",
                 of_load<&engine::EngineStats::preemptions>},
    ModelReading{"etna_device_memory_free_bytes", "Memory of the model's device that nobody uses.",
                 of_memory<&runtime::DeviceMemory::free_bytes>},
    ModelReading{"etna_device_memory_bytes", "Memory of the model's device.",
                 of_memory<&runtime::DeviceMemory::total_bytes>},
};

std::vector<Metrics::Reading> readings_of(const std::vector<ModelListing>& models) {
    std::vector<Metrics::Reading> readings = {{.name = "etna_build_info",
                                               .help = "The version that runs.",
                                               .labels = "version=\"" ETNA_VERSION "\"",
                                               .value = 1}};
    for (const ModelReading& reading : model_readings) {
        for (const ModelListing& model : models) {
            if (const auto value = reading.value(model))
                readings.push_back({.name = std::string(reading.name),
                                    .help = std::string(reading.help),
                                    .labels = label_of_model(model.name),
                                    .value = *value});
        }
    }
    return readings;
}

} // namespace

HttpReply show_metrics(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = service.metrics.text(readings_of(service.models.list()))};
}

} // namespace etna::server
