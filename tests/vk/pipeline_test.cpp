#include "core/vk/pipeline.hpp"
#include "tests/vk/shaders.hpp"

#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

struct SubgroupReport {
    uint32_t size = 0;
    uint32_t count = 0;
    uint32_t workgroup = 0;
};

SubgroupReport report(vk::Device& device, uint32_t workgroup, uint32_t required) {
    const auto pipeline = must(vk::Pipeline::create(device, {.label = "subgroup",
                                                             .code = subgroup_code(),
                                                             .specialization = {&workgroup, 1},
                                                             .push_constant_bytes = sizeof(uint64_t),
                                                             .required_subgroup_size = required}));
    const auto to = must(vk::Buffer::create(device, vk::MemoryDomain::device, 12, "to"));
    const uint64_t address = to.range().address;
    const vk::Range write = to.range();
    auto recorder = must(vk::Recorder::create(device));
    recorder.dispatch({.pipeline = pipeline, .push_constants = bytes_of(address), .writes = {&write, 1}});
    run(device, recorder);
    const auto words = read_words(device, to, 3);
    return {words[0], words[1], words[2]};
}

ErrorKind kind_of(vk::Device& device, const vk::PipelineOptions& options) {
    const auto pipeline = vk::Pipeline::create(device, options);
    REQUIRE_FALSE(pipeline);
    CHECK(pipeline.error().message.find(std::string(options.label)) != std::string::npos);
    return pipeline.error().kind;
}

} // namespace

TEST_CASE("specialisation sets the workgroup size, and the profile has the subgroup size") {
    auto& device = gpu().device;
    for (const uint32_t workgroup : {1U, 64U, 96U, 128U}) {
        const SubgroupReport found = report(device, workgroup, 0);
        CAPTURE(workgroup, found.size, found.count);
        CHECK(found.workgroup == workgroup);
        CHECK(found.size >= device.profile().subgroup_size_min);
        CHECK(found.size <= device.profile().subgroup_size_max);
        CHECK(found.count == divide_up(workgroup, found.size));
    }
}

TEST_CASE("a required subgroup size is used, or refused if the device does not support it") {
    auto& device = gpu().device;
    const vk::DeviceProfile& profile = device.profile();
    const uint32_t workgroup = 128;
    for (uint32_t size = 1; size <= 256; size *= 2) {
        CAPTURE(size);
        if (profile.subgroup_size_control && size >= profile.subgroup_size_min &&
            size <= profile.subgroup_size_max) {
            CHECK(report(device, workgroup, size).size == size);
            continue;
        }
        CHECK(kind_of(device, {.label = "subgroup",
                               .code = subgroup_code(),
                               .specialization = {&workgroup, 1},
                               .push_constant_bytes = sizeof(uint64_t),
                               .required_subgroup_size = size}) == ErrorKind::unsupported);
    }
}

TEST_CASE("an invalid or unsupported shader is refused, and the error has its label") {
    auto& device = gpu().device;
    const std::vector<uint32_t> noise(100, 0x12345678);
    CHECK(kind_of(device, {.label = "noise", .code = noise}) == ErrorKind::invalid_argument);
    CHECK(kind_of(device, {.label = "empty"}) == ErrorKind::invalid_argument);
    CHECK(kind_of(device, {.label = "large push", .code = add_one_code(), .push_constant_bytes = 260}) ==
          ErrorKind::invalid_argument);
    CHECK(kind_of(device, {.label = "odd push", .code = add_one_code(), .push_constant_bytes = 30}) ==
          ErrorKind::invalid_argument);
    const uint32_t workgroup = 1U << 20;
    CHECK(kind_of(device, {.label = "wide",
                           .code = subgroup_code(),
                           .specialization = {&workgroup, 1},
                           .push_constant_bytes = sizeof(uint64_t)}) == ErrorKind::unsupported);
}

TEST_CASE("a moved pipeline has its label") {
    auto first = make_add_one(gpu().device);
    const vk::Pipeline second = std::move(first);
    CHECK(second.label() == "add_one");
}
