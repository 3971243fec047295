#include "core/vk/device.hpp"
#include "tests/vk/shaders.hpp"

#include <utility>

using namespace etna;
using namespace etna::test;

TEST_CASE("a device opened for inspection compiles and records, but executes nothing") {
    vk::DeviceOptions options = gpu().options;
    options.use = vk::DeviceUse::inspection;
    auto device = must(vk::Device::create(gpu().instance, gpu().physical, options));
    CHECK(device->profile().pipeline_statistics == gpu().physical.profile.pipeline_statistics);
    const vk::Pipeline pipeline = make_add_one(*device);
    CHECK(must(pipeline.statistics()).empty() != device->profile().pipeline_statistics);

    auto recorder = must(vk::Recorder::create(*device, {.timestamps = true}));
    recorder.begin_region("nothing");
    add_one(recorder, pipeline, {.address = 4096, .bytes = 400}, {.address = 8192, .bytes = 400});
    recorder.barrier();
    add_one(recorder, pipeline, {.address = 8192, .bytes = 400}, {.address = 4096, .bytes = 400});
    recorder.end_region();
    auto commands = must(recorder.finish());
    CHECK(commands.dispatch_count() == 2);
    CHECK(commands.barrier_count() == 1);

    const auto submitted = device->submit(std::move(commands));
    REQUIRE_FALSE(submitted);
    CHECK(submitted.error().kind == ErrorKind::unsupported);
    CHECK(device->completed() == 0);
    must(device->wait(0));
    CHECK(device->timings().empty());
}

TEST_CASE("commands recorded for inspection are validated") {
    vk::DeviceOptions options = gpu().options;
    options.use = vk::DeviceUse::inspection;
    auto device = must(vk::Device::create(gpu().instance, gpu().physical, options));
    const vk::Pipeline pipeline = make_add_one(*device);
    auto recorder = must(vk::Recorder::create(*device));
    const AddOnePush push{};
    recorder.dispatch({.pipeline = pipeline, .push_constants = bytes_of(push), .groups = {0, 1, 1}});
    const auto commands = recorder.finish();
    REQUIRE_FALSE(commands);
    CHECK(commands.error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("a device opened for work has no pipeline statistics") {
    auto& device = gpu().device;
    CHECK_FALSE(device.profile().pipeline_statistics);
    CHECK(must(make_add_one(device).statistics()).empty());
}
