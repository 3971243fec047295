#include "core/kernels/operations.hpp"
#include "tests/bench/every_operation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <vector>

using namespace etna;

namespace {

/// `void main() {}` with a workgroup of one, as SPIR-V 1.3.
std::vector<uint32_t> empty_shader() {
    constexpr uint32_t function = 1, no_value = 2, signature = 3, block = 4, ids = 5;
    std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, ids, 0};
    const auto add = [&](uint32_t opcode, std::initializer_list<uint32_t> operands) {
        words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
        words.insert(words.end(), operands);
    };
    add(17, {1});                                // OpCapability Shader
    add(14, {0, 1});                             // OpMemoryModel Logical GLSL450
    add(15, {5, function, 0x6E69616D, 0});       // OpEntryPoint GLCompute "main"
    add(16, {function, 17, 1, 1, 1});            // OpExecutionMode LocalSize 1 1 1
    add(19, {no_value});                         // OpTypeVoid
    add(33, {signature, no_value});              // OpTypeFunction
    add(54, {no_value, function, 0, signature}); // OpFunction
    add(248, {block});                           // OpLabel
    add(253, {});                                // OpReturn
    add(56, {});                                 // OpFunctionEnd
    return words;
}

/// Every shader of this build, with this code: nothing runs, and compiling all takes minutes on a CPU.
std::vector<shaders::Code> shaders_with(const std::vector<uint32_t>& words) {
    std::vector<shaders::Code> codes;
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        codes.push_back(shaders::code(static_cast<shaders::Variant>(index)));
        if (!codes.back().words.empty()) // else it was left out of this build
            codes.back().words = words;
    }
    return codes;
}

/// Records every operation on a device and a library with these options; adds the variants of the pipelines.
void record_all(vk::DeviceOptions options, kernels::LibraryOptions planned,
                std::set<shaders::Variant>& seen) {
    const test::Gpu gpu = test::gpu();
    options.use = vk::DeviceUse::inspection;
    auto device = vk::Device::create(gpu.instance, gpu.physical, options);
    REQUIRE(device);
    const std::vector<uint32_t> words = empty_shader();
    const std::vector<shaders::Code> codes = shaders_with(words);
    planned.code = [&](shaders::Variant variant) -> const shaders::Code& {
        return codes[static_cast<std::size_t>(variant)];
    };
    kernels::Library library(**device, planned);
    for (const bench::OperationCase& operation : bench::every_operation(library.target())) {
        INFO(operation.name);
        auto recorder = vk::Recorder::create(**device);
        REQUIRE(recorder);
        operation.record(library, *recorder);
        const auto commands = recorder->finish();
        INFO((commands ? "" : commands.error().message));
        REQUIRE(commands);
        REQUIRE(commands->dispatch_count() > 0);
    }
    for (const kernels::CreatedPipeline& created : library.created())
        seen.insert(created.variant);
}

} // namespace

TEST_CASE("every operation of the list has cases") {
    for (const kernels::Operation* operation : kernels::operations()) {
        INFO(operation->name << " (it needs a row in tests/bench/every_operation.cpp)");
        CHECK(bench::has_cases(*operation));
    }
}

TEST_CASE("every shader variant that a device can run is asked for by an operation") {
    std::set<shaders::Variant> seen;
    record_all({}, {}, seen);
    record_all({}, {.family = kernels::PlanFamily::nvidia}, seen); // attention_decode
    record_all({}, {.family = kernels::PlanFamily::nvidia, .precision = kernels::Precision::fast}, seen);
    record_all({}, {.family = kernels::PlanFamily::nvidia, .untrusted = bench::codes_kernels()}, seen);
    record_all({}, {.family = kernels::PlanFamily::nvidia, .untrusted = bench::matrix_kernels()}, seen);
    record_all({.mask_optional_features = true}, {}, seen);
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        INFO(shaders::code(variant).name << " (its operation needs a case in tests/bench/operations)");
        CHECK(seen.contains(variant) == kernels::usable(variant, test::gpu().physical.profile).has_value());
    }
}
