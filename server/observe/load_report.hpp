#pragma once

#include "core/engine/engine.hpp"
#include "server/models/models.hpp"
#include "server/observe/metrics.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The load of models, for routers. The names are vLLM's, so that routers written for vLLM work unchanged.
namespace etna::server {

/// The load of a model.
struct LoadReport {
    uint32_t waiting = 0;      ///< requests in the engine's queue
    uint32_t running = 0;      ///< requests that the engine has admitted
    double kv_cache_usage = 0; ///< fraction of all pages that requests hold, 0..1
};

LoadReport load_report(const engine::EngineStats& stats);

/// vLLM's gauges for every model; 0 for a model that is not loaded. Readings of one name are adjacent.
std::vector<Metrics::Reading> load_readings(const std::vector<ModelListing>& models);

/// The request header that asks for a load report, and the response header with the report (ORCA, Open
/// Request Cost Aggregation).
constexpr std::string_view load_format_header = "endpoint-load-metrics-format";
constexpr std::string_view load_report_header = "endpoint-load-metrics";

/// Returns the value of `load_report_header`. `format`: "TEXT" or "JSON", case-insensitive. Empty for other
/// formats.
std::string load_report_text(std::string_view format, const LoadReport& report);

} // namespace etna::server
