#include "server/observe/load_report.hpp"

#include "server/base/lower_case.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// A gauge with one reading per model.
struct LoadGauge {
    std::string_view name;
    std::string_view help;
    double (*value)(const LoadReport& report);
};

constexpr std::array load_gauges = {
    LoadGauge{"vllm:num_requests_waiting",
              "Requests in the engine's queue; etna_requests_waiting under vLLM's name.",
              [](const LoadReport& report) { return static_cast<double>(report.waiting); }},
    LoadGauge{"vllm:num_requests_running",
              "Requests that the engine has admitted; etna_requests_running under vLLM's name.",
              [](const LoadReport& report) { return static_cast<double>(report.running); }},
    LoadGauge{"vllm:kv_cache_usage_perc",
              "Fraction of the KV cache's pages that requests hold, 0 to 1; cached pages without a request "
              "are free.",
              [](const LoadReport& report) { return report.kv_cache_usage; }},
};

/// Formats the number with a decimal point, as vLLM does.
std::string real_text(double value) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos)
        text += ".0";
    return text;
}

} // namespace

LoadReport load_report(const engine::EngineStats& stats) {
    const double total = stats.pages_total;
    return {.waiting = stats.waiting,
            .running = stats.running,
            .kv_cache_usage = stats.pages_total == 0 ? 0 : stats.pages_used / total};
}

std::vector<Metrics::Reading> load_readings(const std::vector<ModelListing>& models) {
    std::vector<Metrics::Reading> readings;
    for (const LoadGauge& gauge : load_gauges) {
        for (const ModelListing& model : models) {
            readings.push_back({.name = std::string(gauge.name),
                                .help = std::string(gauge.help),
                                .labels = vllm_labels(model.name),
                                .value = gauge.value(model.load ? load_report(*model.load) : LoadReport{})});
        }
    }
    for (const ModelListing& model : models) {
        if (!model.load || model.load->prefix_pages == 0)
            continue;
        readings.push_back(
            {.name = "vllm:cache_config_info",
             .help = "Positions in a page of the KV cache, and pages of one layer that keeps all.",
             .labels =
                 fmt::format("{},block_size=\"{}\",num_gpu_blocks=\"{}\","
                             "enable_prefix_caching=\"True\"",
                             vllm_labels(model.name), model.load->page_tokens, model.load->prefix_pages),
             .value = 1});
    }
    return readings;
}

std::string load_report_text(std::string_view format, const LoadReport& report) {
    const std::string usage = real_text(report.kv_cache_usage);
    const std::string waiting = real_text(report.waiting);
    const std::string kind = to_lower(format);
    if (kind == "text") {
        return fmt::format("TEXT named_metrics.kv_cache_usage_perc={}, named_metrics.num_requests_waiting={}",
                           usage, waiting);
    }
    if (kind == "json") {
        return fmt::format(
            R"(JSON {{"named_metrics": {{"kv_cache_usage_perc": {}, "num_requests_waiting": {}}}}})", usage,
            waiting);
    }
    return {};
}

} // namespace etna::server
