#include "cli/commands/plan_list.hpp"

#include "cli/terminal/printable.hpp"
#include "core/base/bytes.hpp"
#include "core/base/json.hpp"
#include "core/engine/device/device_plan.hpp"
#include "core/runtime/device_rates.hpp"
#include "core/store/known_models.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using runtime::DeviceRates;
using runtime::DeviceReport;
using store::KnownModel;

constexpr double million = 1e6;
constexpr double dispatches_per_layer = 6; ///< of a generation step, as models of the README were measured
constexpr double dispatches_per_mixture_layer = 9;

/// Memory beside the weights: 4,096 tokens of cache, rows of a step, and what the driver rounds up.
constexpr double needed_per_weight = 1.1;
constexpr double needed_beside_bytes = 256 * mebibyte;

bool has_experts(const KnownModel& model) {
    return model.active_m < model.parameters_m;
}

/// The usual number of layers for a model's size.
double usual_layers(const KnownModel& model) {
    constexpr double mixture_layers = 40;
    constexpr double layers_min = 26;
    constexpr double layers_per_billion = 1.2;
    return has_experts(model) ? mixture_layers : layers_min + layers_per_billion * model.parameters_m / 1e3;
}

runtime::TokenCost token_cost(const KnownModel& model) {
    const double share = static_cast<double>(model.active_m) / model.parameters_m;
    return {.bytes = model.download_mb * million * share,
            .dispatches = usual_layers(model) *
                          (has_experts(model) ? dispatches_per_mixture_layer : dispatches_per_layer),
            .weights = model.active_m * million};
}

uint64_t needed_bytes(const KnownModel& model) {
    return static_cast<uint64_t>(model.download_mb * million * needed_per_weight + needed_beside_bytes);
}

/// The data of a printed list.
struct PlanList {
    DeviceReport device;
    std::optional<DeviceRates> rates; ///< empty: unknown

    [[nodiscard]] uint64_t usable_bytes() const {
        return device.free_bytes - std::min(device.free_bytes, engine::reserve_bytes(device.free_bytes));
    }
    [[nodiscard]] bool fits(const KnownModel& model) const { return needed_bytes(model) <= usable_bytes(); }
    [[nodiscard]] std::optional<runtime::SpeedEstimate> speed(const KnownModel& model) const {
        return rates ? std::optional(estimate_speed(*rates, token_cost(model))) : std::nullopt;
    }
};

std::string rate_cell(double tok_s) {
    return tok_s < 10 ? fmt::format("{:.1f}", tok_s) : fmt::format("{:.0f}", tok_s);
}

std::string list_text(const PlanList& list) {
    std::vector<std::vector<std::string>> rows = {
        {"NAME", "OR", "NEEDS", "GENERATES tok/s", "READS tok/s", "USE"}};
    for (const KnownModel& model : store::known_models()) {
        if (!list.fits(model))
            continue;
        const auto speed = list.speed(model);
        const bool generates = model.use == store::KnownUse::text;
        rows.push_back(
            {std::string(model.name), is_usual(model) ? std::string(model.family()) : "",
             size_text(needed_bytes(model)), speed && generates ? rate_cell(speed->generation_tok_s) : "",
             speed ? "< " + rate_cell(speed->prompt_tok_s) : "", std::string(to_string(model.use))});
    }
    return table_text(rows, {2, 3, 4});
}

Json list_json(const PlanList& list) {
    Json models = Json::array();
    for (const KnownModel& model : store::known_models()) {
        const auto speed = list.speed(model);
        models.push_back({{"name", model.name},
                          {"fits", list.fits(model)},
                          {"needed_bytes", needed_bytes(model)},
                          {"generation_tok_s", speed ? Json(speed->generation_tok_s) : Json()},
                          {"prompt_tok_s_max", speed ? Json(speed->prompt_tok_s) : Json()},
                          {"use", to_string(model.use)}});
    }
    const auto rate = [&](double DeviceRates::* member) {
        return list.rates ? Json((*list.rates).*member) : Json();
    };
    return {{"device", list.device.profile.name},
            {"device_free_bytes", list.device.free_bytes},
            {"usable_bytes", list.usable_bytes()},
            {"copy_bytes_s", rate(&DeviceRates::copy_bytes_s)},
            {"matrix_flop_s", rate(&DeviceRates::matrix_flop_s)},
            {"dispatch_us", rate(&DeviceRates::dispatch_us)},
            {"models", std::move(models)}};
}

void report_assumptions(const PlanList& list, Diagnostics& diagnostics) {
    const auto known = store::known_models();
    const auto fitting = std::ranges::count_if(known, [&](const auto& model) { return list.fits(model); });
    diagnostics.note(fmt::format("{}: {} of {} known models fit into {} of its memory, with 4096 tokens of "
                                 "context; `etna plan NAME` reads a model's header and is exact",
                                 printable(list.device.profile.name), fitting, known.size(),
                                 size_text(list.usable_bytes())));
    if (!list.rates)
        return;
    diagnostics.note(
        fmt::format("speeds are estimates for one answer and a short context: copies {:.1f} GB/s, products "
                    "{:.2f} TFLOP/s, {:.1f} us a dispatch; {:.0f} dispatches a layer, {:.0f} with experts, "
                    "and the usual number of layers; prompts as if all units multiplied all the time",
                    list.rates->copy_bytes_s / 1e9, list.rates->matrix_flop_s / 1e12, list.rates->dispatch_us,
                    dispatches_per_layer, dispatches_per_mixture_layer));
}

/// Returns the device's rates; empty, with a warning, if they cannot be measured.
std::optional<DeviceRates> rates_of(const DeviceReport& device, const Environment& environment,
                                    Diagnostics& diagnostics) {
    const auto rates =
        environment.rate_meter({.device = vk::uuid_text(device.profile),
                                .cache_folder = cache_folder(environment.variables),
                                .progress = [&](std::string_view what) {
                                    diagnostics.status(fmt::format("measuring the device: {}", what));
                                }});
    diagnostics.status({});
    if (rates)
        return *rates;
    diagnostics.warning("no speeds, because the device was not measured: " + rates.error().message);
    return std::nullopt;
}

} // namespace

ExitCode list_plans(const DeviceReport& device, PlanFormat format, const Environment& environment,
                    Diagnostics& diagnostics) {
    const PlanList list = {.device = device, .rates = rates_of(device, environment, diagnostics)};
    Output output(environment.output);
    output.write(format == PlanFormat::json ? dump_json_indented(list_json(list)) + "\n" : list_text(list));
    if (output.state() == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    if (format == PlanFormat::text)
        report_assumptions(list, diagnostics);
    return ExitCode::done;
}

} // namespace etna::cli
