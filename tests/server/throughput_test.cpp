// Tokens in steps of time, by a clock of the tests.
#include "server/observe/throughput.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

using namespace etna;
using namespace std::chrono_literals;
using server::EngineReading;
using server::Throughput;

namespace {

EngineReading engine_counts(const std::string& model, uint64_t prompt, uint64_t generated) {
    EngineReading reading = {.model = model, .stats = {}};
    reading.stats.prompt_tokens_computed = prompt;
    reading.stats.tokens_generated = generated;
    return reading;
}

/// The tokens of the step that lies `age` before the newest.
Throughput::Tokens step_before(const Throughput& throughput, Throughput::Clock::time_point now,
                               std::size_t age) {
    return throughput.history(now).at(Throughput::steps - 1 - age);
}

uint64_t all_generated(const Throughput& throughput, Throughput::Clock::time_point now) {
    const auto history = throughput.history(now);
    return std::accumulate(history.begin(), history.end(), uint64_t{0},
                           [](uint64_t sum, const auto& tokens) { return sum + tokens.generated; });
}

} // namespace

TEST_CASE("tokens are added to the step in which the engines counted them") {
    const Throughput::Clock::time_point start{};
    Throughput throughput(start);
    throughput.record(start + 1s, {engine_counts("one", 100, 5)});
    throughput.record(start + 9s, {engine_counts("one", 100, 15), engine_counts("two", 7, 1)});
    throughput.record(start + 10s, {engine_counts("one", 130, 16), engine_counts("two", 7, 1)});
    const auto now = start + 12s;
    CHECK((step_before(throughput, now, 1).prompt == 107 && step_before(throughput, now, 1).generated == 16));
    CHECK((step_before(throughput, now, 0).prompt == 30 && step_before(throughput, now, 0).generated == 1));
    CHECK(step_before(throughput, now, 2).generated == 0); // before the start
    CHECK(throughput.step_time(now) == 2s);
}

TEST_CASE("the counters of a model that was loaded again begin at 0") {
    const Throughput::Clock::time_point start{};
    Throughput throughput(start);
    throughput.record(start, {engine_counts("one", 50, 50)});
    throughput.record(start + 1s, {});                             // unloaded
    throughput.record(start + 2s, {engine_counts("one", 60, 60)}); // counted since the load
    throughput.record(start + 3s, {engine_counts("one", 2, 3)});   // and again, within one interval
    CHECK(step_before(throughput, start + 3s, 0).prompt == 112);
    CHECK(step_before(throughput, start + 3s, 0).generated == 113);
}

TEST_CASE("steps without a record are empty, and old ones are forgotten") {
    const Throughput::Clock::time_point start{};
    Throughput throughput(start);
    throughput.record(start, {engine_counts("one", 0, 1)});
    throughput.record(start + 50s, {engine_counts("one", 0, 3)});
    CHECK(step_before(throughput, start + 50s, 0).generated == 2);
    CHECK(step_before(throughput, start + 50s, 3).generated == 0);
    CHECK(step_before(throughput, start + 50s, 5).generated == 1);
    CHECK(step_before(throughput, start + 70s, 7).generated == 1); // without another record
    CHECK(all_generated(throughput, start + 899s) == 3);
    CHECK(all_generated(throughput, start + 900s) == 2);
    throughput.record(start + 10'000s, {engine_counts("one", 0, 7)});
    CHECK(all_generated(throughput, start + 10'000s) == 4);
    CHECK(step_before(throughput, start + 10'000s, 0).generated == 4);
}

TEST_CASE("a quarter of an hour of steps is kept in the ring") {
    const Throughput::Clock::time_point start{};
    Throughput throughput(start);
    for (uint64_t step = 0; step < 200; ++step)
        throughput.record(start + step * Throughput::step, {engine_counts("one", 0, (step + 1) * 10 + step)});
    const auto now = start + 199 * Throughput::step;
    for (std::size_t age = 0; age < Throughput::steps; ++age)
        CHECK(step_before(throughput, now, age).generated == 11);
}
