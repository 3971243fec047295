#include "core/runtime/device_schedule.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

using namespace etna::runtime;

namespace {

/// Engines as the engine's thread drives them, on one device that runs steps in order of submission. The
/// clock is a number.
class Simulation {
public:
    struct Engine {
        double step_ms = 0;
        double host_ms = 0;            ///< after each step that is read
        std::size_t in_flight_max = 2; ///< 1: each step needs the outputs of the last
        bool has_work = true;

        DeviceSchedule::ClientId id = 0;
        std::deque<double> done_at = {}; ///< of its unread steps
        double ready_at = 0;             ///< end of its work on the host
        double served_ms = 0;
        double submitted_at = 0;   ///< newest submission
        double longest_gap_ms = 0; ///< between two submissions
    };

    std::size_t add(Engine engine) {
        engine.id = schedule_.add();
        engines_.push_back(engine);
        return engines_.size() - 1;
    }
    Engine& operator[](std::size_t engine) { return engines_[engine]; }
    [[nodiscard]] double now() const { return now_; }

    /// An engine that is destroyed: its unread steps still take the device's time.
    void remove(std::size_t engine) {
        schedule_.remove(engines_[engine].id, now_);
        engines_.erase(engines_.begin() + static_cast<std::ptrdiff_t>(engine));
    }

    void run(double duration_ms) {
        for (const double end = now_ + duration_ms; now_ < end;) {
            for (bool has_changed = true; has_changed;) {
                has_changed = false;
                for (Engine& engine : engines_) // one that has asked may get its turn by what another does
                    has_changed =
                        (engine.ready_at <= now_ && (submit(engine) || read(engine))) || has_changed;
            }
            double next = schedule_.next_update_ms(now_);
            for (const Engine& engine : engines_) {
                if (engine.ready_at > now_)
                    next = std::min(next, engine.ready_at);
                else if (!engine.done_at.empty())
                    next = std::min(next, engine.done_at.front());
            }
            REQUIRE(std::isfinite(next)); // else all wait for each other
            now_ = next;
            schedule_.update(now_);
        }
    }

private:
    /// Submits a step if it is the engine's turn; without unread steps the engine waits otherwise.
    bool submit(Engine& engine) {
        if (!engine.has_work || engine.done_at.size() == engine.in_flight_max)
            return false;
        schedule_.ask(engine.id, now_);
        if (!schedule_.has_turn(engine.id)) {
            if (!engine.done_at.empty())
                schedule_.withdraw(engine.id, now_);
            return false;
        }
        schedule_.begin(engine.id, now_);
        free_at_ = std::max(free_at_, now_) + engine.step_ms;
        engine.done_at.push_back(free_at_);
        engine.longest_gap_ms = std::max(engine.longest_gap_ms, now_ - engine.submitted_at);
        engine.submitted_at = now_;
        return true;
    }

    bool read(Engine& engine) {
        if (engine.done_at.empty() || engine.done_at.front() > now_)
            return false;
        engine.done_at.pop_front();
        engine.served_ms += engine.step_ms;
        schedule_.end(engine.id, engine.step_ms, now_);
        engine.ready_at = now_ + engine.host_ms;
        return true;
    }

    DeviceSchedule schedule_;
    std::vector<Engine> engines_;
    double now_ = 0;
    double free_at_ = 0;
};

} // namespace

TEST_CASE("engines that always have work get equal time, whatever the length of their steps") {
    Simulation simulation;
    const std::size_t fast = simulation.add({.step_ms = 1});
    const std::size_t slow = simulation.add({.step_ms = 50});
    constexpr double total_ms = 10'000;
    SECTION("two engines get a half each") {
        simulation.run(total_ms);
        CHECK(simulation[fast].served_ms == Approx(total_ms / 2).epsilon(0.05));
        CHECK(simulation[slow].served_ms == Approx(total_ms / 2).epsilon(0.05));
    }
    SECTION("three engines get a third each") {
        const std::size_t medium = simulation.add({.step_ms = 20});
        simulation.run(total_ms);
        for (const std::size_t engine : {fast, slow, medium})
            CHECK(simulation[engine].served_ms == Approx(total_ms / 3).epsilon(0.05));
    }
}

TEST_CASE("no engine waits longer than for the debt of the other, a quantum and the steps in flight") {
    Simulation simulation;
    const std::size_t fast = simulation.add({.step_ms = 1});
    const std::size_t slow = simulation.add({.step_ms = 50});
    simulation.run(10'000);
    CHECK(simulation[fast].longest_gap_ms <= 2 * 50 + DeviceSchedule::quantum_ms);
    CHECK(simulation[slow].longest_gap_ms <= 2 * 50 + 2 * 50 + DeviceSchedule::quantum_ms);
}

TEST_CASE("an idle engine costs the others nothing, and earns at most a quantum") {
    Simulation simulation;
    const std::size_t busy = simulation.add({.step_ms = 10});
    const std::size_t idle = simulation.add({.step_ms = 10});
    simulation[idle].has_work = false;
    simulation.run(1'000);
    CHECK(simulation[busy].served_ms >= 1'000 - 10); // the last step is not read

    simulation[idle].has_work = true;
    simulation[idle].submitted_at = simulation.now();
    const double before_ms = simulation[busy].served_ms;
    simulation.run(1'000);
    constexpr double bound_ms = DeviceSchedule::quantum_ms + 2 * 10; // and the steps in flight
    CHECK(simulation[idle].served_ms >= 500 - bound_ms);
    CHECK(simulation[idle].served_ms <= 500 + bound_ms);
    CHECK(simulation[busy].served_ms - before_ms >= 500 - bound_ms);
    CHECK(simulation[idle].longest_gap_ms <= bound_ms);
}

TEST_CASE("an engine that leaves does not block the others") {
    Simulation simulation;
    const std::size_t first = simulation.add({.step_ms = 50});
    const std::size_t second = simulation.add({.step_ms = 1});
    simulation.run(500);
    simulation[first].longest_gap_ms = simulation[second].longest_gap_ms = 0;
    SECTION("the one in debt, with steps in flight") {
        simulation.remove(first);
        simulation.run(1'000);
        CHECK(simulation[0].longest_gap_ms <= 2 * 50); // its steps still run on the device
        CHECK(simulation[0].served_ms >= 1'000 - 2 * 50);
    }
    SECTION("the one with credit") {
        simulation.remove(second);
        const double before_ms = simulation[0].served_ms;
        simulation.run(1'000);
        CHECK(simulation[0].served_ms - before_ms >= 1'000 - 50);
    }
}

TEST_CASE(
    "an engine that submits each step after reading the last gets its half, less its time on the host") {
    Simulation simulation;
    const std::size_t slow = simulation.add({.step_ms = 50});
    const std::size_t alternating = simulation.add({.step_ms = 1, .host_ms = 0.1, .in_flight_max = 1});
    simulation.run(10'000);
    CHECK(simulation[slow].served_ms == Approx(5'000).epsilon(0.05));
    CHECK(simulation[alternating].served_ms == Approx(5'000 / 1.1).epsilon(0.05));
}

TEST_CASE("an engine that is slow on the host does not keep the device idle for long") {
    Simulation simulation;
    const std::size_t slow = simulation.add({.step_ms = 50});
    const std::size_t on_host = simulation.add({.step_ms = 0.1, .in_flight_max = 1});
    for (const double host_ms : {1.0, 1.9, 10.0}) {
        INFO(host_ms << " ms on the host");
        simulation[on_host].host_ms = host_ms;
        const double before_ms = simulation[slow].served_ms;
        simulation.run(10'000);
        CHECK(simulation[slow].served_ms - before_ms >= 0.95 * 5'000);
    }
}

TEST_CASE("a step that failed costs nothing") {
    DeviceSchedule schedule;
    const auto failing = schedule.add();
    const auto other = schedule.add();
    schedule.ask(other, 0);
    schedule.begin(other, 0);
    for (int i = 0; i < 100; ++i) {
        schedule.ask(failing, 0);
        REQUIRE(schedule.has_turn(failing));
        schedule.begin(failing, 0);
        schedule.end(failing, 0, 0);
    }
}
