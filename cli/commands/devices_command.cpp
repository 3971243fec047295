#include "cli/commands/devices_command.hpp"

#include "cli/folders.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/log_to_diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "core/base/bytes.hpp"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace etna::cli {
namespace {

using runtime::DeviceReport;
using runtime::DeviceReports;

std::string_view type_name(vk::DeviceType type) {
    switch (type) {
    case vk::DeviceType::discrete:
        return "discrete";
    case vk::DeviceType::integrated:
        return "integrated";
    case vk::DeviceType::virtual_gpu:
        return "virtual";
    case vk::DeviceType::cpu:
        return "cpu";
    case vk::DeviceType::other:
        break;
    }
    return "other";
}

std::string_view state_name(runtime::SelfCheckReport::State state) {
    switch (state) {
    case runtime::SelfCheckReport::State::passed:
        return "passed";
    case runtime::SelfCheckReport::State::set_aside:
        return "set_aside";
    case runtime::SelfCheckReport::State::not_run:
        break;
    }
    return "not_run";
}

nlohmann::json as_json(const runtime::SelfCheckReport& report) {
    return {{"state", state_name(report.state)}, {"checked", report.checked}, {"wrong", report.wrong}};
}

std::string as_text(const runtime::SelfCheckReport& report) {
    switch (report.state) {
    case runtime::SelfCheckReport::State::passed:
        return fmt::format("passed ({} kernels so far)", report.checked);
    case runtime::SelfCheckReport::State::set_aside:
        return fmt::format("wrong on this driver, and set aside: {}", fmt::join(report.wrong, ", "));
    case runtime::SelfCheckReport::State::not_run:
        break;
    }
    return "not yet run; the first model to be loaded does it";
}

nlohmann::json as_json(const DeviceReport& report) {
    nlohmann::json shortfalls = nlohmann::json::array();
    for (const runtime::Shortfall& one : report.shortfalls)
        shortfalls.push_back({{"what", one.what}, {"effect", one.effect}, {"remedy", one.remedy}});
    nlohmann::json kernels = nlohmann::json::object();
    for (const kernels::ChosenKernel& one : report.kernels)
        kernels[one.operation] = one.variant;
    return {{"index", report.index},
            {"name", report.profile.name},
            {"uuid", vk::uuid_text(report.profile)},
            {"type", type_name(report.profile.type)},
            {"driver", report.profile.driver},
            {"usable", report.missing.empty()},
            {"lacks", report.missing},
            {"memory_free_bytes", report.free_bytes},
            {"memory_total_bytes", report.total_bytes},
            {"features", report.features},
            {"shortfalls", shortfalls},
            {"kernels_for", report.family},
            {"kernels", kernels},
            {"self_check", as_json(report.self_check)},
            {"chosen", report.is_chosen},
            {"reason", report.reason}};
}

std::string as_text(const DeviceReport& report, bool with_kernels) {
    std::string text = fmt::format("{}  {}{}\n", report.index, report.profile.name,
                                   report.is_chosen ? fmt::format("  (chosen: {})", report.reason) : "");
    const auto line = [&](std::string_view label, const std::string& value) {
        text += fmt::format("   {:<10} {}\n", label, value);
    };
    line("type", std::string(type_name(report.profile.type)));
    line("driver", report.profile.driver);
    line("uuid", vk::uuid_text(report.profile));
    if (!report.missing.empty()) {
        line("unusable", fmt::format("it lacks {}; update its driver", report.missing));
        return text;
    }
    if (!report.is_chosen)
        line("not chosen", report.reason);
    line("memory",
         fmt::format("{:.1f} GiB free of {:.1f} GiB", static_cast<double>(report.free_bytes) / gibibyte,
                     static_cast<double>(report.total_bytes) / gibibyte));
    line("features", report.features.empty() ? "none" : fmt::format("{}", fmt::join(report.features, ", ")));
    line("kernels", fmt::format("as for {}", report.family));
    line("self-check", as_text(report.self_check));
    for (const runtime::Shortfall& one : report.shortfalls) {
        line("missing",
             fmt::format("{}: {}{}{}", one.what, one.effect, one.remedy.empty() ? "" : "; ", one.remedy));
    }
    if (with_kernels) {
        for (const kernels::ChosenKernel& one : report.kernels)
            text += fmt::format("   {:<26} {}\n", one.operation, one.variant);
    }
    return text;
}

std::string whole_text(const DeviceReports& reports, bool with_kernels) {
    std::string text;
    for (const DeviceReport& report : reports) {
        if (!text.empty())
            text += '\n';
        text += as_text(report, with_kernels);
    }
    return text;
}

std::string whole_json(const DeviceReports& reports) {
    nlohmann::json devices = nlohmann::json::array();
    for (const DeviceReport& report : reports)
        devices.push_back(as_json(report));
    // A driver's text need not be UTF-8.
    return nlohmann::json{{"devices", devices}}.dump(2, ' ', false,
                                                     nlohmann::json::error_handler_t::replace) +
           "\n";
}

std::string whole_json(const Error& error) {
    return nlohmann::json{{"devices", nlohmann::json::array()},
                          {"error", {{"message", error.message}, {"hint", error.hint}}}}
               .dump(2) +
           "\n";
}

} // namespace

Result<DevicesOptions> validate_devices(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    DevicesOptions options;
    options.device = values.text("device").value_or("");
    ETNA_TRY(options.as_json, values.flag("json"));
    ETNA_TRY(options.with_kernels, values.flag("verbose"));
    return options;
}

ExitCode devices_command(const DevicesOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    const auto reports = environment.device_lister(options.device, cache_folder(environment.variables));
    if (!reports && !options.as_json) {
        diagnostics.error(reports.error());
        return ExitCode::failed;
    }
    Output output(environment.output);
    if (!reports) {
        output.write(whole_json(reports.error()));
    } else {
        output.write(options.as_json ? whole_json(*reports) : whole_text(*reports, options.with_kernels));
    }
    if (output.state() == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    return reports ? ExitCode::done : ExitCode::failed;
}

} // namespace etna::cli
