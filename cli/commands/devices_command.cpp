#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/base/bytes.hpp"
#include "core/base/json.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna devices`.
struct DevicesOptions {
    std::string device; ///< empty: the best device
    bool as_json = false;
    bool with_kernels = false;
};

constexpr std::array devices_options = {
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description =
               "report whether this device would be chosen; its number, its UUID or part of its name",
           .category = Category::device},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "also list the kernel selected for each operation and format, and the sizes that "
                          "`etna tune` measured",
           .category = Category::output},
    help_option,
    help_all_option,
};

constexpr std::array devices_examples = {
    Example{"etna devices", "all devices, and the chosen one"},
    Example{"etna devices --json", "the same as JSON"},
};

using runtime::DeviceReport;
using runtime::DeviceReports;

std::string_view type_name(vk::DeviceType type) {
    constexpr std::array<std::string_view, 5> names = {"discrete", "integrated", "virtual", "cpu", "other"};
    return names[static_cast<std::size_t>(type)];
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
        return fmt::format("wrong results on this driver, not used: {}", fmt::join(report.wrong, ", "));
    case runtime::SelfCheckReport::State::not_run:
        break;
    }
    return "not run yet; the first model load runs it";
}

Json as_json(const runtime::StoredChoice& one) {
    return {{"date", one.date},
            {"kernel", describe(one.shape)},
            {"precision", kernels::to_string(one.precision)},
            {"policy_us", one.policy_us == 0 ? Json() : Json(one.policy_us)},
            {"sizes", describe(one.shape, one.sizes)},
            {"us", one.time_us}};
}

Json as_json(const DeviceReport& report) {
    Json shortfalls = Json::array();
    for (const runtime::Shortfall& one : report.shortfalls)
        shortfalls.push_back({{"effect", one.effect}, {"remedy", one.remedy}, {"what", one.what}});
    std::map<std::string, std::string> kernels; // a JSON object's members are sorted by name
    for (const kernels::ChosenKernel& one : report.kernels)
        kernels[one.operation] = one.variant;
    Json tuned = Json::array();
    for (const runtime::StoredChoice& one : report.tuned)
        tuned.push_back(as_json(one));
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
            {"tuned", tuned},
            {"type", type_name(report.profile.type)},
            {"usable", report.missing.empty()},
            {"uuid", vk::uuid_text(report.profile)}};
}

/// The origin of the workgroup sizes.
std::string sizes_text(const DeviceReport& report) {
    if (report.tuned.empty())
        return "by policy; `etna tune MODEL` measures them";
    const auto newest = std::ranges::max_element(report.tuned, {}, &runtime::StoredChoice::date);
    return fmt::format("tuned for {} shape{}, the newest on {}; the others by policy", report.tuned.size(),
                       report.tuned.size() == 1 ? "" : "s", newest->date);
}

std::string tuned_line(const runtime::StoredChoice& one) {
    const std::string gain =
        one.policy_us == 0 ? ""
                           : fmt::format(", {:.2f} times the policy's speed", one.policy_us / one.time_us);
    const std::string_view precision = one.precision == kernels::Precision::fast ? " for fast precision" : "";
    return fmt::format("   {:<38} {}; tuned on {}{}{}\n", describe(one.shape), describe(one.shape, one.sizes),
                       one.date, precision, gain);
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
    line("sizes", sizes_text(report));
    line("self-check", as_text(report.self_check));
    for (const runtime::Shortfall& one : report.shortfalls) {
        line("missing",
             fmt::format("{}: {}{}{}", one.what, one.effect, one.remedy.empty() ? "" : "; ", one.remedy));
    }
    if (with_kernels) {
        for (const kernels::ChosenKernel& one : report.kernels)
            text += fmt::format("   {:<26} {}\n", one.operation, one.variant);
        for (const runtime::StoredChoice& one : report.tuned)
            text += tuned_line(one);
    }
    return text;
}

std::string devices_text(const DeviceReports& reports, bool with_kernels) {
    std::string text;
    for (const DeviceReport& report : reports) {
        if (!text.empty())
            text += '\n';
        text += as_text(report, with_kernels);
    }
    return text;
}

std::string devices_json(const DeviceReports& reports) {
    Json devices = Json::array();
    for (const DeviceReport& report : reports)
        devices.push_back(as_json(report));
    // A driver's text need not be UTF-8.
    return dump_json_indented({{"devices", devices}}) + "\n";
}

std::string devices_json(const Error& error) {
    return dump_json_indented(
               {{"devices", Json::array()}, {"error", {{"hint", error.hint}, {"message", error.message}}}}) +
           "\n";
}

/// Errors: invalid_argument.
Result<DevicesOptions> validate_devices(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    DevicesOptions options;
    options.device = values.text("device").value_or("");
    ETNA_TRY(options.as_json, values.flag("json"));
    ETNA_TRY(options.with_kernels, values.flag("verbose"));
    return options;
}

/// Runs `etna devices`: lists every Vulkan device and which one is chosen. Blocking.
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
        output.write(devices_json(reports.error()));
    } else {
        output.write(options.as_json ? devices_json(*reports) : devices_text(*reports, options.with_kernels));
    }
    if (output.state() == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    return reports ? ExitCode::done : ExitCode::failed;
}

} // namespace

Command devices_spec() {
    return {.name = "devices",
            .summary = "list the devices that models can run on",
            .description = "Prints each Vulkan device with its driver, memory and features, what is missing "
                           "for full speed and what to install, and which device is chosen and why. It also "
                           "diagnoses a missing loader, driver or device; the exit code is then 1.",
            .positionals = {},
            .options = devices_options,
            .examples = devices_examples,
            .run = run_validated<validate_devices, devices_command>};
}

} // namespace etna::cli
