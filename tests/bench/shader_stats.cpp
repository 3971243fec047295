// shader_stats [DEVICE [FOLDER]]: compiles every kernel with the driver at hand and prints what its compiler
// reports of each pipeline, one line of tab-separated values each, on stdout. Nothing is run: drivers without
// hardware will do. Exit code 1, and a line on stderr, for each kernel that does not compile or spills, and
// for each shader variant that nothing in operations/ asks for. Into FOLDER goes the machine code of
// each pipeline, VARIANT-SPECIALIZATION.txt with dashes between the constants.
#include "core/vk/instance.hpp"
#include "tests/bench/every_operation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using namespace etna;

/// A column of the table, and its names in drivers (RADV's, then NVK's); several reported values add up.
struct Column {
    std::string_view title;
    std::vector<std::string_view> names;
};

const Column& spills() {
    static const Column column{"spills", {"Spilled VGPRs", "Spilled SGPRs", "Spills to memory"}};
    return column;
}

const std::array<Column, 9>& columns() {
    static const std::array<Column, 9> all{{
        {"registers", {"VGPRs", "Number of GPRs"}},
        {"scalar_registers", {"SGPRs"}},
        spills(),
        {"spills_to_registers", {"Spills to reg"}},    // of a scarcer kind into ordinary ones: a move each
        {"local_bytes", {"Scratch size", "SLM size"}}, // arrays and spills in memory; RADV: of a subgroup
        {"shared_bytes", {"LDS size"}},
        {"occupancy", {"Subgroups per SIMD", "Max warps/SM"}}, // subgroups at once on one unit
        {"cycles", {"Latency", "Static cycle count"}},         // as the compiler estimates one pass through
        {"code_bytes", {"Code size"}},
    }};
    return all;
}

std::optional<double> value_of(const std::vector<vk::PipelineStatistic>& statistics, const Column& column) {
    std::optional<double> sum;
    for (const vk::PipelineStatistic& statistic : statistics) {
        if (std::find(column.names.begin(), column.names.end(), statistic.name) != column.names.end())
            sum = sum.value_or(0) + statistic.value;
    }
    return sum;
}

/// Everything that is seen on one driver.
struct Survey {
    vk::Instance& instance;
    const vk::PhysicalDevice& physical;
    std::filesystem::path code_folder; ///< empty: the code is not written
    std::string_view operation;        ///< part of the names of the operations to survey; empty: all
    std::set<std::pair<shaders::Variant, std::vector<uint32_t>>> printed;
    bool failed = false;

    void fail(std::string_view problem) {
        fmt::print(stderr, "error: {}\n", problem);
        failed = true;
    }
};

void print_header() {
    fmt::print("variant\tspecialization");
    for (const Column& column : columns())
        fmt::print("\t{}", column.title);
    fmt::print("\n");
}

void write_code(Survey& survey, const kernels::CreatedPipeline& created) {
    const auto code = created.pipeline->disassembly();
    if (!code)
        return survey.fail(code.error().message);
    if (code->empty())
        return survey.fail(fmt::format("the driver does not disassemble {}", created.pipeline->label()));
    const std::string name =
        fmt::format("{}-{}.txt", created.pipeline->label(), fmt::join(created.specialization, "-"));
    std::ofstream file(survey.code_folder / name);
    if (!file.write(code->data(), static_cast<std::streamsize>(code->size())).flush())
        survey.fail(fmt::format("cannot write {}", (survey.code_folder / name).string()));
}

void print(Survey& survey, const kernels::CreatedPipeline& created) {
    if (!survey.printed.emplace(created.variant, created.specialization).second)
        return;
    const std::string name =
        fmt::format("{}\t{}", created.pipeline->label(), fmt::join(created.specialization, ","));
    const auto statistics = created.pipeline->statistics();
    if (!statistics)
        return survey.fail(statistics.error().message);
    fmt::print("{}", name);
    for (const Column& column : columns()) {
        const auto value = value_of(*statistics, column);
        fmt::print("\t{}", value ? fmt::format("{:.0f}", *value) : "-");
    }
    fmt::print("\n");
    if (!survey.code_folder.empty())
        write_code(survey, created);
    const auto spilled = value_of(*statistics, spills());
    if (!spilled) {
        survey.fail(fmt::format("the driver does not report whether {} spills", created.pipeline->label()));
    } else if (*spilled > 0) {
        survey.fail(fmt::format("{} [{}] spills: {:.0f}", created.pipeline->label(),
                                fmt::join(created.specialization, ","), *spilled));
    }
}

/// Compiles the variants for a device with all or none of the optional features, and prints the new ones.
Status look_at(Survey& survey, vk::DeviceOptions options, const kernels::LibraryOptions& planned = {}) {
    options.use = vk::DeviceUse::inspection;
    ETNA_TRY(const auto device, vk::Device::create(survey.instance, survey.physical, options));
    kernels::Library library(*device, planned);
    for (const bench::OperationCase& operation : bench::every_operation(library.target())) {
        if (operation.name.find(survey.operation) == std::string::npos)
            continue;
        ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(*device));
        operation.record(library, recorder);
        if (const auto recorded = recorder.finish(); !recorded)
            survey.fail(fmt::format("{}: {}", operation.name, recorded.error().message));
    }
    for (const kernels::CreatedPipeline& created : library.created())
        print(survey, created);
    return {};
}

/// Whether every variant of the manifest was compiled, or is not available here.
void check_complete(Survey& survey) {
    std::set<shaders::Variant> seen;
    for (const auto& [variant, specialization] : survey.printed)
        seen.insert(variant);
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        if (seen.contains(variant))
            continue;
        if (const Status status = kernels::usable(variant, survey.physical.profile); !status) {
            fmt::print(stderr, "left out: {}\n", status.error().message);
        } else {
            survey.fail(
                fmt::format("nothing was compiled of {}: does a case in tests/bench/operations ask for it?",
                            shaders::code(variant).name));
        }
    }
}

Result<bool> survey_passes(std::string_view selector, std::string_view code_folder,
                           std::string_view operation) {
    ETNA_TRY(const auto instance, vk::Instance::create(vk::Validation::off));
    ETNA_TRY(const vk::PhysicalDevice physical, vk::select_device(instance->devices(), selector));
    fmt::print(stderr, "{}, {}\n", physical.profile.name, physical.profile.driver);
    if (!physical.profile.pipeline_statistics) {
        return Error{ErrorKind::unsupported,
                     fmt::format("`{}` lacks VK_KHR_pipeline_executable_properties", physical.profile.name)};
    }
    Survey survey{.instance = *instance,
                  .physical = physical,
                  .code_folder = code_folder,
                  .operation = operation,
                  .printed = {}};
    print_header();
    ETNA_CHECK(look_at(survey, {}));
    ETNA_CHECK(look_at(survey, {}, {.precision = kernels::Precision::fast}));
    ETNA_CHECK(look_at(survey, {}, {.untrusted = bench::codes_kernels()}));
    ETNA_CHECK(look_at(survey, {.mask_optional_features = true}));
    if (operation.empty())
        check_complete(survey);
    return !survey.failed;
}

} // namespace

int main(int count, char** arguments) {
    if (count > 4) {
        fmt::print(stderr, "usage: shader_stats [DEVICE [FOLDER [OPERATION]]]\n");
        return 2;
    }
    const auto passed = survey_passes(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : "",
                                      count > 3 ? arguments[3] : "");
    if (!passed)
        fmt::print(stderr, "error: {}\n", passed.error().message);
    return passed && *passed ? 0 : 1;
}
