#include "server/observe/metric_readings.hpp"

#include "server/observe/load_report.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {
namespace {

/// A metric of every model, sampled at scrape time; empty if it is not available.
struct ModelMetric {
    std::string_view name;
    std::string_view help;
    std::optional<double> (*value)(const ModelListing& model);
};

template <auto member>
std::optional<double> load_value(const ModelListing& model) {
    return model.load ? std::optional(static_cast<double>((*model.load).*member)) : std::nullopt;
}

template <auto member>
std::optional<double> prioritized_value(const ModelListing& model) {
    return model.load ? std::optional<double>((*model.load).waiting_prioritized.*member) : std::nullopt;
}

template <auto member>
std::optional<double> memory_value(const ModelListing& model) {
    return model.device_memory ? std::optional(static_cast<double>((*model.device_memory).*member))
                               : std::nullopt;
}

std::optional<double> loaded_value(const ModelListing& model) {
    return model.is_loaded ? 1.0 : 0.0;
}

constexpr std::array model_metrics = {
    ModelMetric{"etna_model_loaded", "Whether the model is in memory.", loaded_value},
    ModelMetric{"etna_requests_waiting", "Requests in the engine's queue.",
                load_value<&engine::EngineStats::waiting>},
    ModelMetric{"etna_requests_waiting_raised", "Requests in the engine's queue with a priority below 0.",
                prioritized_value<&engine::PriorityCounts::raised>},
    ModelMetric{"etna_requests_waiting_lowered", "Requests in the engine's queue with a priority above 0.",
                prioritized_value<&engine::PriorityCounts::lowered>},
    ModelMetric{"etna_requests_running", "Requests that the engine has admitted.",
                load_value<&engine::EngineStats::running>},
    ModelMetric{"etna_kv_pages", "Pages of the KV cache.", load_value<&engine::EngineStats::pages_total>},
    ModelMetric{"etna_kv_pages_used", "KV cache pages in use by requests.",
                load_value<&engine::EngineStats::pages_used>},
    ModelMetric{"etna_kv_pages_cached", "KV cache pages that hold reusable prefixes.",
                load_value<&engine::EngineStats::pages_cached>},
    ModelMetric{"etna_preemptions_total", "Requests that were preempted and queued again.",
                load_value<&engine::EngineStats::preemptions>},
    ModelMetric{"etna_device_memory_free_bytes", "Free memory of the model's device.",
                memory_value<&runtime::DeviceMemory::free_bytes>},
    ModelMetric{"etna_device_memory_bytes", "Total memory of the model's device.",
                memory_value<&runtime::DeviceMemory::total_bytes>},
};

/// The batches of events of each model's cache.
void add_kv_events(const kv_events::Publisher& publisher, std::vector<Metrics::Reading>& readings) {
    const auto counts = publisher.counts();
    for (const auto& count : counts) {
        readings.push_back({.name = "etna_kv_event_batches_total",
                            .help = "Published batches of events of the prompt cache.",
                            .labels = label_of_model(count.model),
                            .value = static_cast<double>(count.published)});
    }
    for (const auto& count : counts) {
        readings.push_back({.name = "etna_kv_event_batches_dropped_total",
                            .help =
                                "Batches of events that found the publisher's queue full; AllBlocksCleared "
                                "and all pages followed.",
                            .labels = label_of_model(count.model),
                            .value = static_cast<double>(count.dropped)});
    }
}

/// The state of the collector of traces.
void add_trace_readings(const tracing::SpanExporter& exporter, std::vector<Metrics::Reading>& readings) {
    const tracing::SpanExporter::Counts counts = exporter.counts();
    readings.push_back({.name = "etna_trace_spans_exported_total",
                        .help = "Spans that the collector has accepted.",
                        .labels = {},
                        .value = static_cast<double>(counts.exported)});
    readings.push_back({.name = "etna_trace_spans_dropped_total",
                        .help = "Spans lost, because the collector was away, slow, or refused them.",
                        .labels = {},
                        .value = static_cast<double>(counts.dropped)});
    readings.push_back({.name = "etna_trace_export_failing",
                        .help = "Whether the last export to the collector failed.",
                        .labels = {},
                        .value = counts.is_failing ? 1.0 : 0.0});
}

} // namespace

std::vector<Metrics::Reading> metric_readings(Models& served, const kv_events::Publisher* publisher,
                                              const tracing::SpanExporter* exporter) {
    const std::vector<ModelListing> models = served.list();
    std::vector<Metrics::Reading> readings = {{.name = "etna_build_info",
                                               .help = "The server's version.",
                                               .labels = "version=\"" ETNA_VERSION "\"",
                                               .value = 1}};
    for (const ModelMetric& metric : model_metrics) {
        for (const ModelListing& model : models) {
            if (const auto value = metric.value(model))
                readings.push_back({.name = std::string(metric.name),
                                    .help = std::string(metric.help),
                                    .labels = label_of_model(model.name),
                                    .value = *value});
        }
    }
    for (Metrics::Reading& reading : load_readings(models))
        readings.push_back(std::move(reading));
    if (publisher != nullptr)
        add_kv_events(*publisher, readings);
    if (exporter != nullptr)
        add_trace_readings(*exporter, readings);
    return readings;
}

} // namespace etna::server
