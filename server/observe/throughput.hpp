#pragma once

#include "server/models/models.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace etna::server {

/// Tokens of all models in steps of time, for the last quarter of an hour. Thread-safe.
class Throughput {
public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds step{10};
    static constexpr std::size_t steps = 90;

    /// Tokens of one step.
    struct Tokens {
        uint64_t prompt = 0; ///< computed; those from the cache are not counted
        uint64_t generated = 0;
    };

    /// `start`: the beginning of the first step.
    explicit Throughput(Clock::time_point start = Clock::now()) : start_(start) {}

    /// Adds the tokens that the engines have counted since the last call to the step of `now`. An engine
    /// whose counters fell is a new one. Tokens after the last call before an engine's end are lost: call it
    /// often.
    void record(Clock::time_point now, const std::vector<EngineReading>& engines);

    /// The last `steps` steps, oldest first; that of `now` is the last. 0 before the start.
    [[nodiscard]] std::array<Tokens, steps> history(Clock::time_point now) const;

    /// The time since the beginning of the step of `now`.
    [[nodiscard]] std::chrono::duration<double> step_time(Clock::time_point now) const;

private:
    [[nodiscard]] std::size_t step_of(Clock::time_point now) const;

    const Clock::time_point start_;
    mutable std::mutex mutex_;
    std::array<Tokens, steps> ring_ = {};  ///< that of a step at its number modulo `steps`
    std::size_t newest_ = 0;               ///< number of the newest step with an entry, from 0
    std::map<std::string, Tokens> counts_; ///< at the last call, by model
};

} // namespace etna::server
