#include "tests/vk/shaders.hpp"

#include <chrono>

using namespace etna;
using namespace etna::test;

TEST_CASE("timestamps give the duration of each dispatch, by region") {
    auto& device = gpu().device;
    const vk::Pipeline pipeline = make_add_one(device);
    const auto buffer = must(vk::Buffer::create(device, vk::MemoryDomain::device, mebibyte, "work"));
    auto recorder = must(vk::Recorder::create(device, {.timestamps = true}));
    recorder.begin_region("step");
    for (int i = 0; i < 1100; ++i) { // more than two pools of queries
        add_one(recorder, pipeline, buffer.range().part(0, i == 7 ? mebibyte : 4),
                buffer.range().part(0, i == 7 ? mebibyte : 4));
        recorder.barrier();
    }
    recorder.begin_region("inner");
    add_one(recorder, pipeline, buffer.range(), buffer.range());
    recorder.end_region();
    recorder.end_region();
    const auto start = std::chrono::steady_clock::now();
    run(device, recorder);
    const double elapsed =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    const auto timings = device.timings();
    if (device.profile().timestamp_period_ns == 0) {
        CHECK(timings.empty());
        return;
    }
    REQUIRE(timings.size() == 1101);
    CHECK(timings.front().label == "step/add_one");
    CHECK(timings.back().label == "step/inner/add_one");
    CHECK(timings.front().start_us == 0);
    double total = 0;
    double end_us = 0; // of the dispatch before
    for (const vk::Timing& timing : timings) {
        REQUIRE(timing.microseconds >= 0);
        REQUIRE(timing.start_us >= end_us); // in order, also from one pool of queries to the next
        end_us = timing.start_us + timing.microseconds;
        total += timing.microseconds;
    }
    CHECK(total > 0);
    CHECK(total <= elapsed);
    CHECK(end_us <= elapsed);

    // Work without timestamps does not change the newest timings.
    auto plain = must(vk::Recorder::create(device));
    add_one(plain, pipeline, buffer.range(), buffer.range());
    run(device, plain);
    CHECK(device.timings().size() == 1101);
}
