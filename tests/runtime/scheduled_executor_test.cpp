#include "core/engine/engine.hpp"
#include "core/runtime/scheduled_executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_executor.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace etna;
using namespace etna::test;
using runtime::DeviceClient;
using runtime::DeviceTurns;
using std::chrono::milliseconds;

namespace {

/// One device for several engines.
struct Shared {
    std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
    std::shared_ptr<DeviceTurns> turns = std::make_shared<DeviceTurns>();
};

std::unique_ptr<engine::Executor> executor_on(const Shared& shared, std::shared_ptr<DeviceClient> client,
                                              FakeOptions options) {
    options.device = shared.device;
    return scheduled(std::make_unique<FakeExecutor>(std::move(options)), std::move(client));
}

/// An engine on a shared fake device, which counts its steps.
struct FakeEngine {
    std::shared_ptr<std::atomic<uint32_t>> steps = std::make_shared<std::atomic<uint32_t>>(0);
    std::unique_ptr<engine::Engine> engine;

    FakeEngine(const Shared& shared, milliseconds step, std::optional<uint64_t> lost_at_step = {}) {
        auto executor = executor_on(shared, std::make_shared<DeviceClient>(shared.turns),
                                    {.lost_at_step = lost_at_step,
                                     .step_delay = step,
                                     .on_submit = [count = steps](const engine::Batch&) { ++*count; }});
        engine = std::move(engine::Engine::create(std::move(executor)).value());
    }

    /// Queues answers of `tokens` tokens each.
    [[nodiscard]] std::vector<engine::Stream> start(std::size_t answers, uint32_t tokens) const {
        std::vector<engine::Stream> streams;
        for (std::size_t i = 0; i < answers; ++i) {
            engine::Request request;
            request.prompt = {1, 2, static_cast<TokenId>(3 + i % 60)};
            request.sampling.temperature = 0; // sampled on the device: steps are submitted ahead
            request.max_tokens = tokens;
            streams.push_back(std::move(engine->submit(std::move(request)).value()));
        }
        return streams;
    }
};

engine::Finished end_of(engine::Stream& stream) {
    while (true) {
        const engine::Event event = stream.next();
        if (const auto* finished = std::get_if<engine::Finished>(&event))
            return *finished;
    }
}

/// A client that holds the device until it ends a step that takes all credit, or is destroyed.
std::shared_ptr<DeviceClient> holder_of(const Shared& shared) {
    auto holder = std::make_shared<DeviceClient>(shared.turns);
    holder->begin_step();
    return holder;
}

/// Starts an answer of eight steps; returns when the engine waits for its turn, in debt after a step or two.
engine::Stream start_and_block(const FakeEngine& model) {
    auto streams = model.start(1, 8);
    CHECK(std::holds_alternative<engine::TokenEvent>(streams.front().next()));
    std::this_thread::sleep_for(milliseconds(60)); // for steps that must not happen
    CHECK(*model.steps <= 2);
    return std::move(streams.front());
}

} // namespace

TEST_CASE("two engines on one device get half of its time each") {
    const Shared shared;
    const FakeEngine fast(shared, milliseconds(1));
    const FakeEngine slow(shared, milliseconds(10));
    constexpr std::size_t sequences = 4; // of fake_limits()
    auto endless = slow.start(32 * sequences, 240);
    auto streams = fast.start(3 * sequences, 240);
    const uint32_t slow_before = *slow.steps;
    for (engine::Stream& stream : streams)
        CHECK(end_of(stream).reason == engine::FinishReason::length);
    const double fast_ms = *fast.steps;
    const double slow_ms = 10.0 * (*slow.steps - slow_before);
    CHECK(fast_ms > 3 * 240);
    CHECK(fast_ms / (fast_ms + slow_ms) == Approx(0.5).epsilon(0.05));
}

TEST_CASE("an engine that waits for its turn can be cancelled and destroyed") {
    const Shared shared;
    auto holder = holder_of(shared);
    FakeEngine model(shared, milliseconds(20));
    engine::Stream stream = start_and_block(model);
    SECTION("cancelled: the answer ends with its next turn") {
        stream.cancel();
        holder->end_step(100);
        CHECK(end_of(stream).reason == engine::FinishReason::cancelled);
    }
    SECTION("destroyed: the engine ends with its next turn") {
        std::thread leaver([&] {
            std::this_thread::sleep_for(milliseconds(30)); // until the engine's destructor waits
            holder.reset();
        });
        model.engine.reset();
        leaver.join();
        CHECK(end_of(stream).reason == engine::FinishReason::cancelled);
    }
}

TEST_CASE("an engine that failed gives its turn back at once") {
    const Shared shared;
    const FakeEngine failing(shared, milliseconds(5), 3);
    const FakeEngine other(shared, milliseconds(20));
    auto lost = failing.start(1, 8);
    auto streams = other.start(1, 8);
    CHECK(end_of(lost.front()).error.value().kind == ErrorKind::device_lost);
    CHECK(end_of(streams.front()).reason == engine::FinishReason::length);
}

TEST_CASE("a draft model and its target take turns as one") {
    const Shared shared;
    const auto client = std::make_shared<DeviceClient>(shared.turns);
    const auto holder = holder_of(shared);
    const auto draft = executor_on(shared, client, {.step_delay = milliseconds(20)});
    const auto target = executor_on(shared, client, {});
    const std::vector<engine::PageId> pages = {0};
    engine::Batch batch;
    batch.sequences = {{.pages = {pages}}};
    engine::Row row;
    row.set_position(0);
    batch.rows = {row};

    CHECK(target->has_turn());
    const engine::Ticket ticket = draft->submit(batch).value();
    CHECK(draft->wait(ticket).value().device_ms == 20);
    CHECK_FALSE(target->has_turn());
    holder->end_step(100);
    CHECK(target->has_turn());
}

TEST_CASE("a batch that is refused does not count as a step") {
    const Shared shared;
    const auto executor = executor_on(shared, std::make_shared<DeviceClient>(shared.turns), {});
    DeviceClient other(shared.turns);
    CHECK_FALSE(executor->submit({}));
    other.begin_step();
    other.end_step(1000); // in debt; `executor` has credit, but neither waits nor has a step
    other.begin_step();
}
