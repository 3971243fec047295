#include "server/observe/throughput.hpp"

#include <algorithm>
#include <utility>

namespace etna::server {
namespace {

/// Returns the increase of a counter that begins at 0 again in a new engine.
uint64_t increase(uint64_t before, uint64_t now) {
    return now < before ? now : now - before;
}

} // namespace

std::size_t Throughput::step_of(Clock::time_point now) const {
    return static_cast<std::size_t>(std::max(now - start_, Clock::duration(0)) / step);
}

void Throughput::record(Clock::time_point now, const std::vector<EngineReading>& engines) {
    const std::scoped_lock lock(mutex_);
    const std::size_t current = std::max(step_of(now), newest_);
    newest_ = std::max(newest_, current - std::min(current, steps)); // older steps have left the ring
    while (newest_ < current)
        ring_[++newest_ % steps] = {};
    Tokens& tokens = ring_[current % steps];
    std::map<std::string, Tokens> counts;
    for (const auto& [model, stats] : engines) {
        const Tokens count = {.prompt = stats.prompt_tokens_computed, .generated = stats.tokens_generated};
        const Tokens before = counts_[model];
        tokens.prompt += increase(before.prompt, count.prompt);
        tokens.generated += increase(before.generated, count.generated);
        counts[model] = count;
    }
    counts_ = std::move(counts);
}

std::array<Throughput::Tokens, Throughput::steps> Throughput::history(Clock::time_point now) const {
    const std::scoped_lock lock(mutex_);
    const std::size_t current = std::max(step_of(now), newest_);
    std::array<Tokens, steps> history = {};
    for (std::size_t age = 0; age < steps && age <= current; ++age) {
        const std::size_t number = current - age;
        if (number <= newest_ && newest_ - number < steps)
            history[steps - 1 - age] = ring_[number % steps];
    }
    return history;
}

std::chrono::duration<double> Throughput::step_time(Clock::time_point now) const {
    return now - (start_ + step * step_of(now));
}

} // namespace etna::server
