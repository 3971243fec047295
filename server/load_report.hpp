#pragma once

#include "core/engine/engine.hpp"
#include "server/metrics.hpp"
#include "server/models/models.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What routers read of the models' load. The names are vLLM's, so that routers written for it need no change.
namespace etna::server {

/// The load of a model.
struct LoadReport {
    uint32_t waiting = 0;      ///< requests in the engine's queue
    uint32_t running = 0;      ///< requests that the engine has admitted
    double kv_cache_usage = 0; ///< pages that requests hold, as a fraction of all pages; 0..1
};

LoadReport load_report(const engine::EngineStats& stats);

/// vLLM's gauges of every model; those of a model that is not loaded are 0. Readings of one name are
/// adjacent.
std::vector<Metrics::Reading> load_readings(const std::vector<ModelListing>& models);

/// The request header that asks for a report with the response, and the header of the report (ORCA, Open
/// Request Cost Aggregation).
constexpr std::string_view load_format_header = "endpoint-load-metrics-format";
constexpr std::string_view load_report_header = "endpoint-load-metrics";

/// Returns the value of `load_report_header`. `format`: "TEXT" or "JSON", in any case. Empty for other
/// formats.
std::string load_report_text(std::string_view format, const LoadReport& report);

} // namespace etna::server
