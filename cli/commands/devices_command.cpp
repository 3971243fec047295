#include "cli/commands/devices_command.hpp"

#include "cli/folders.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/log_to_diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "core/base/bytes.hpp"
#include "core/base/json.hpp"

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

Json as_json(const runtime::SelfCheckReport& report) {
    return {{"checked", report.checked}, {"state", state_name(report.state)}, {"wrong", report.wrong}};
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

Json as_json(const DeviceReport& report) {
    Json shortfalls = Json::array();
    for (const runtime::Shortfall& one : report.shortfalls)
        shortfalls.push_back({{"effect", one.effect}, {"remedy", one.remedy}, {"what", one.what}});
    std::map<std::string, std::string> kernels; // a JSON object's members are sorted by name
    for (const kernels::ChosenKernel& one : report.kernels)
        kernels[one.operation] = one.variant;
    return {{"chosen", report.is_chosen},
            {"driver", report.profile.driver},
            {"features", report.features},
            {"index", report.index},
            {"kernels", kernels},
            {"kernels_for", report.family},
            {"lacks", report.missing},
            {"memory_free_bytes", report.free_bytes},
            {"memory_total_bytes", report.total_bytes},
            {"name", report.profile.name},
            {"reason", report.reason},
            {"self_check", as_json(report.self_check)},
            {"shortfalls", shortfalls},
            {"type", type_name(report.profile.type)},
            {"usable", report.missing.empty()},
            {"uuid", vk::uuid_text(report.profile)}};
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
    Json devices = Json::array();
    for (const DeviceReport& report : reports)
        devices.push_back(as_json(report));
    // A driver's text need not be UTF-8.
    return dump_json_indented({{"devices", devices}}) + "\n";
}

std::string whole_json(const Error& error) {
    return dump_json_indented(
               {{"devices", Json::array()}, {"error", {{"hint", error.hint}, {"message", error.message}}}}) +
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
