#include "core/vk/recorder.hpp"
#include "tests/vk/shaders.hpp"

#include <numeric>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

struct RecorderFixture {
    vk::Device& device = gpu().device;
    vk::Pipeline pipeline = make_add_one(device);
    vk::Buffer a = must(vk::Buffer::create(device, vk::MemoryDomain::device, 1000 * 4, "a"));
    vk::Buffer b = must(vk::Buffer::create(device, vk::MemoryDomain::device, 1000 * 4, "b"));

    [[nodiscard]] vk::Recorder recorder(const vk::RecorderOptions& options = {}) const {
        return must(vk::Recorder::create(device, options));
    }
};

std::vector<uint32_t> counting(uint32_t first, size_t count) {
    std::vector<uint32_t> words(count);
    std::iota(words.begin(), words.end(), first);
    return words;
}

Error error_of(vk::Recorder& recorder) {
    auto commands = recorder.finish();
    REQUIRE_FALSE(commands);
    return std::move(commands).error();
}

} // namespace

TEST_CASE("scale_add computes through addresses in push constants") {
    auto& device = gpu().device;
    constexpr uint32_t count = 1001;
    constexpr uint64_t bytes = count * sizeof(float);
    auto x = must(vk::Buffer::create(device, vk::MemoryDomain::upload, bytes, "x"));
    auto y = must(vk::Buffer::create(device, vk::MemoryDomain::readback, bytes, "y"));
    auto* const xs = reinterpret_cast<float*>(x.mapped().data());
    auto* const ys = reinterpret_cast<float*>(y.mapped().data());
    for (uint32_t i = 0; i < count; ++i) {
        xs[i] = static_cast<float>(i);
        ys[i] = 0.5F * static_cast<float>(i % 7);
    }
    const std::vector<float> before(ys, ys + count);
    for (const uint32_t workgroup : {1U, 32U, 128U}) {
        const auto pipeline =
            must(vk::Pipeline::create(device, {.label = "scale_add",
                                               .code = scale_add_code(),
                                               .specialization = {&workgroup, 1},
                                               .push_constant_bytes = sizeof(ScaleAddPush)}));
        std::copy(before.begin(), before.end(), ys);
        const ScaleAddPush push{.x = x.range().address, .y = y.range().address, .a = 2, .count = count};
        const vk::Range reads[] = {x.range(), y.range()};
        const vk::Range write = y.range();
        auto recorder = must(vk::Recorder::create(device));
        recorder.dispatch({.pipeline = pipeline,
                           .push_constants = bytes_of(push),
                           .groups = {divide_up(count, workgroup), 1, 1},
                           .reads = reads,
                           .writes = {&write, 1}});
        run(device, recorder);
        for (uint32_t i = 0; i < count; ++i) { // exact in float: small multiples of a half
            CAPTURE(workgroup, i);
            REQUIRE(ys[i] == 2 * static_cast<float>(i) + before[i]);
        }
    }
}

TEST_CASE("thousands of dispatches see each other's writes") {
    const RecorderFixture f;
    write_words(f.device, f.a, counting(5, 1000));
    auto recorder = f.recorder();
    for (int i = 0; i < 1500; ++i) {
        add_one(recorder, f.pipeline, f.a.range(), f.b.range());
        add_one(recorder, f.pipeline, f.b.range(), f.a.range());
    }
    auto commands = must(recorder.finish());
    CHECK(commands.dispatch_count() == 3000);
    CHECK(commands.barrier_count() == 2999);
    must(f.device.wait(must(f.device.submit(std::move(commands)))));
    CHECK(read_words(f.device, f.a, 1000) == counting(5 + 3000, 1000));
}

TEST_CASE("a submission comes after everything submitted before") {
    const RecorderFixture f;
    write_words(f.device, f.a, counting(0, 1000));
    uint64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        auto recorder = f.recorder();
        add_one(recorder, f.pipeline, f.a.range(), f.a.range());
        const uint64_t value = must(f.device.submit(must(recorder.finish())));
        CHECK(value == (last == 0 ? value : last + 1));
        last = value;
    }
    CHECK(read_words(f.device, f.a, 1000) == counting(50, 1000));
    CHECK(f.device.completed() > last);
}

TEST_CASE("reusable commands run once for each submission") {
    const RecorderFixture f;
    write_words(f.device, f.a, counting(0, 1000));
    auto recorder = f.recorder({.is_reusable = true});
    add_one(recorder, f.pipeline, f.a.range(), f.a.range());
    auto commands = must(recorder.finish());
    for (int i = 0; i < 5; ++i) // those of one command buffer wait for each other on the host
        must(f.device.wait(must(f.device.submit_reusable(commands))));
    CHECK(read_words(f.device, f.a, 1000) == counting(5, 1000));
    must(f.device.wait(must(f.device.submit(std::move(commands)))));
    CHECK(read_words(f.device, f.a, 1000) == counting(6, 1000));
}

TEST_CASE("commands are submitted again only if they are reusable, and have completed") {
    const RecorderFixture f;
    auto recorder = f.recorder();
    auto once = must(recorder.finish());
    CHECK(f.device.submit_reusable(once).error().kind == ErrorKind::invalid_argument);

    auto long_work = f.recorder({.is_reusable = true});
    for (int i = 0; i < 200; ++i) {
        add_one(long_work, f.pipeline, f.a.range(), f.a.range(), 1000);
        long_work.barrier();
    }
    auto commands = must(long_work.finish());
    const uint64_t value = must(f.device.submit_reusable(commands));
    const auto early = f.device.submit_reusable(commands);
    const bool was_idle = f.device.is_idle();
    REQUIRE(f.device.completed() < value); // else this test shows nothing
    CHECK_FALSE(was_idle);
    REQUIRE_FALSE(early);
    CHECK(early.error().kind == ErrorKind::invalid_argument);
    must(f.device.wait(value));
    CHECK(f.device.is_idle());
    must(f.device.submit_reusable(commands)); // and is destroyed while it runs
}

TEST_CASE("regions nest and are optional for nothing but captures") {
    const RecorderFixture f;
    write_words(f.device, f.a, counting(0, 1000));
    auto recorder = f.recorder();
    recorder.begin_region("step");
    recorder.begin_region("layer 0");
    add_one(recorder, f.pipeline, f.a.range(), f.b.range());
    recorder.end_region();
    recorder.end_region();
    run(f.device, recorder);
    CHECK(read_words(f.device, f.b, 1000) == counting(1, 1000));

    auto open = f.recorder();
    open.begin_region("left open");
    CHECK(error_of(open).message == "the region `left open` is not closed");
    auto closed = f.recorder();
    closed.end_region();
    CHECK(error_of(closed).kind == ErrorKind::internal);
}

TEST_CASE("a step that conflicts with an earlier one gets a barrier, and others get none") {
    const RecorderFixture f;
    const auto barriers = [&](const auto& record) {
        auto recorder = f.recorder();
        record(recorder);
        const auto commands = recorder.finish();
        REQUIRE(commands);
        return commands->barrier_count();
    };
    CHECK(barriers([&](vk::Recorder& recorder) {
              recorder.fill(f.a, 0, 4000, 1);
              add_one(recorder, f.pipeline, f.a.range(), f.b.range()); // reads what the fill wrote
              recorder.copy(f.b, 0, f.a, 0, 4000);                     // writes what the dispatch read
          }) == 2);
    CHECK(barriers([&](vk::Recorder& recorder) {
              recorder.fill(f.a, 0, 2000, 1);
              recorder.fill(f.a, 2000, 2000, 2);
              recorder.fill(f.b, 0, 4000, 3);
          }) == 0);
    CHECK(barriers([&](vk::Recorder& recorder) {
              recorder.barrier(); // there is nothing to separate
              recorder.fill(f.a, 0, 4000, 1);
              recorder.barrier();
              recorder.barrier();
              recorder.fill(f.b, 0, 4000, 1);
          }) == 1);
}

TEST_CASE("copies and fills outside a buffer, or of odd parts, are errors") {
    const RecorderFixture f;
    const auto refuses = [&](const auto& step) {
        auto recorder = f.recorder();
        step(recorder);
        const Error error = error_of(recorder);
        CHECK(error.kind == ErrorKind::invalid_argument);
        return error.message;
    };
    CHECK(refuses([&](vk::Recorder& r) { r.copy(f.a, 1, f.b, 0, 4000); }) ==
          "copy of 4000 bytes at offset 1 is outside buffer `a` of 4000 bytes");
    CHECK(refuses([&](vk::Recorder& r) { r.copy(f.a, 0, f.b, 4001, 0); }) ==
          "copy of 0 bytes at offset 4001 is outside buffer `b` of 4000 bytes");
    CHECK(refuses([&](vk::Recorder& r) { r.copy(f.a, 8, f.b, 0, ~uint64_t{0} - 4); }).find("outside") !=
          std::string::npos);
    CHECK(refuses([&](vk::Recorder& r) { r.copy(f.a, 0, f.a, 50, 100); }).find("overlap") !=
          std::string::npos);
    CHECK(refuses([&](vk::Recorder& r) { r.copy(vk::Buffer(), 0, f.a, 0, 1); }) ==
          "copy with an empty buffer");
    CHECK(refuses([&](vk::Recorder& r) { r.fill(f.a, 2, 4, 0); }).find("multiples of 4") !=
          std::string::npos);
    CHECK(refuses([&](vk::Recorder& r) { r.fill(f.a, 0, 4004, 0); }).find("outside buffer `a`") !=
          std::string::npos);
}

TEST_CASE("dispatches with wrong push constants or group counts are errors") {
    const RecorderFixture f;
    const AddOnePush push;
    const auto refuses = [&](ByteView push_constants, std::array<uint32_t, 3> groups) {
        auto recorder = f.recorder();
        recorder.dispatch({.pipeline = f.pipeline, .push_constants = push_constants, .groups = groups});
        const Error error = error_of(recorder);
        CHECK(error.kind == ErrorKind::invalid_argument);
        return error.message;
    };
    const std::vector<std::byte> large(132);
    CHECK(refuses(bytes_of(push).first(20), {1, 1, 1}) ==
          "dispatch of `add_one` with 20 bytes of push constants instead of 24");
    CHECK(refuses(large, {1, 1, 1}).find("132 bytes") != std::string::npos);
    CHECK(refuses(bytes_of(push), {1, 0, 1}).find("1 x 0 x 1 workgroups") != std::string::npos);
    for (size_t axis = 0; axis < 3; ++axis) {
        std::array<uint32_t, 3> groups{1, 1, 1};
        if (f.device.profile().workgroup_count_max[axis] == UINT32_MAX)
            continue; // every count is allowed
        groups[axis] = f.device.profile().workgroup_count_max[axis] + 1;
        CHECK(refuses(bytes_of(push), groups).find("workgroups") != std::string::npos);
    }
}

TEST_CASE("the first failure is reported, whatever follows") {
    const RecorderFixture f;
    auto recorder = f.recorder();
    recorder.fail({ErrorKind::unsupported, "first"});
    recorder.fail({ErrorKind::internal, "second"});
    recorder.copy(f.a, 1, f.b, 0, 4000);
    add_one(recorder, f.pipeline, f.a.range(), f.b.range());
    CHECK(error_of(recorder).message == "first");
}

TEST_CASE("commands cannot be submitted to another device or waited for before they are submitted") {
    const RecorderFixture f;
    auto other = must(vk::Device::create(gpu().instance, gpu().physical, gpu().options));
    auto recorder = must(vk::Recorder::create(*other));
    auto commands = must(recorder.finish());
    const auto submitted = f.device.submit(std::move(commands)); // outside CHECK, which evaluates in a loop
    CHECK(submitted.error().kind == ErrorKind::invalid_argument);
    const uint64_t never = f.device.completed() + 1000;
    const auto waited = f.device.wait(never);
    REQUIRE_FALSE(waited);
    CHECK(waited.error().kind == ErrorKind::invalid_argument);
    CHECK(recorder.finish().error().kind == ErrorKind::internal);
}
