// One device, used by several threads.
#include "tests/vk/shaders.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// Creates buffers and a pipeline, submits and waits, again and again; returns how often the result was
/// right.
int right_results(vk::Device& device, uint32_t rounds, int repetitions) {
    int right = 0;
    for (int i = 0; i < repetitions; ++i) {
        const auto words = vk::Buffer::create(device, vk::MemoryDomain::readback, 4096, "words");
        const auto pipeline = vk::Pipeline::create(
            device, {.label = "add_one", .code = add_one_code(), .push_constant_bytes = sizeof(AddOnePush)});
        auto recorder = vk::Recorder::create(device);
        if (!words || !pipeline || !recorder)
            continue;
        recorder->fill(*words, 0, words->bytes(), 7);
        recorder->barrier();
        add_one(*recorder, *pipeline, words->range(), words->range(), rounds);
        auto commands = recorder->finish();
        if (!commands)
            continue;
        const auto value = device.submit(std::move(*commands));
        if (!value || !device.wait(*value))
            continue;
        uint32_t last = 0;
        std::memcpy(&last, words->mapped().last(sizeof last).data(), sizeof last);
        right += last == 7 + rounds ? 1 : 0;
    }
    return right;
}

uint64_t start_work(vk::Device& device, const vk::Pipeline& pipeline, const vk::Range& range,
                    int dispatches) {
    auto recorder = must(vk::Recorder::create(device));
    for (int i = 0; i < dispatches; ++i) {
        add_one(recorder, pipeline, range, range, 20);
        recorder.barrier();
    }
    return must(device.submit(must(recorder.finish())));
}

} // namespace

TEST_CASE("threads create, submit and wait on one device") {
    vk::Device& device = gpu().device;
    constexpr int repetitions = 50;
    std::vector<int> right(4);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < right.size(); ++i)
        threads.emplace_back([&, i] { right[i] = right_results(device, i + 1, repetitions); });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(right == std::vector<int>(right.size(), repetitions));
}

TEST_CASE("the time of a submission does not include the submissions before it") {
    vk::Device& device = gpu().device;
    const vk::Pipeline pipeline = make_add_one(device);
    const auto large = must(vk::Buffer::create(device, vk::MemoryDomain::device, 4 * mebibyte, "large"));
    const auto small = must(vk::Buffer::create(device, vk::MemoryDomain::device, 4096, "small"));
    must(device.wait(start_work(device, pipeline, large.range(), 1))); // compiles
    const auto start = std::chrono::steady_clock::now();
    const uint64_t slow = start_work(device, pipeline, large.range(), 8);
    const uint64_t fast = start_work(device, pipeline, small.range(), 1);
    must(device.wait(fast)); // no thread waits for the slow one
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    CHECK(device.busy_ms(fast) > 0);
    CHECK(device.busy_ms(slow) > device.busy_ms(fast));
    CHECK(device.busy_ms(slow) + device.busy_ms(fast) <= elapsed.count());

    for (int i = 0; i < 64; ++i)
        must(device.wait(start_work(device, pipeline, small.range(), 1)));
    CHECK(device.busy_ms(slow) == 0);
}
