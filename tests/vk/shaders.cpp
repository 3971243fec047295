#include "tests/vk/shaders.hpp"

#include "tests/vk/add_one.h"
#include "tests/vk/scale_add.h"
#include "tests/vk/subgroup.h"

#include <cstring>

namespace etna::test {

std::span<const uint32_t> scale_add_code() {
    return scale_add_words;
}
std::span<const uint32_t> add_one_code() {
    return add_one_words;
}
std::span<const uint32_t> subgroup_code() {
    return subgroup_words;
}

vk::Pipeline make_add_one(vk::Device& device) {
    return must(vk::Pipeline::create(
        device, {.label = "add_one", .code = add_one_code(), .push_constant_bytes = sizeof(AddOnePush)}));
}

void add_one(vk::Recorder& recorder, const vk::Pipeline& pipeline, const vk::Range& from, const vk::Range& to,
             uint32_t rounds) {
    const auto count = static_cast<uint32_t>(to.bytes / sizeof(uint32_t));
    const AddOnePush push{.from = from.address, .to = to.address, .count = count, .rounds = rounds};
    recorder.dispatch({.pipeline = pipeline,
                       .push_constants = bytes_of(push),
                       .groups = {divide_up(count, 64), 1, 1},
                       .reads = {&from, 1},
                       .writes = {&to, 1}});
}

void run(vk::Device& device, vk::Recorder& recorder) {
    const uint64_t value = must(device.submit(must(recorder.finish())));
    must(device.wait(value));
    CHECK(device.completed() >= value);
}

void write_words(vk::Device& device, const vk::Buffer& buffer, const std::vector<uint32_t>& words) {
    const uint64_t bytes = words.size() * sizeof(uint32_t);
    const auto staging = must(vk::Buffer::create(device, vk::MemoryDomain::upload, bytes, "staging"));
    std::memcpy(staging.mapped().data(), words.data(), bytes);
    auto recorder = must(vk::Recorder::create(device));
    recorder.copy(staging, 0, buffer, 0, bytes);
    run(device, recorder);
}

std::vector<uint32_t> read_words(vk::Device& device, const vk::Buffer& buffer, size_t count) {
    const uint64_t bytes = count * sizeof(uint32_t);
    const auto result = must(vk::Buffer::create(device, vk::MemoryDomain::readback, bytes, "result"));
    auto recorder = must(vk::Recorder::create(device));
    recorder.copy(buffer, 0, result, 0, bytes);
    run(device, recorder);
    std::vector<uint32_t> words(count);
    std::memcpy(words.data(), result.mapped().data(), bytes);
    return words;
}

} // namespace etna::test
