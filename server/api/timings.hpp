#pragma once

#include "core/engine/request.hpp"
#include "core/generate/events.hpp"
#include "server/base/json.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace etna::server::api {

/// Counts and durations of one answer. Source: llama.cpp's tools/server/README.md, `timings`.
struct AnswerTimings {
    uint32_t cached_tokens = 0;
    uint32_t prompt_tokens = 0; ///< those of the cache not counted
    double prompt_ms = 0;
    uint32_t generated_tokens = 0;
    double generation_ms = 0;
    uint32_t accepted_drafts = 0;
    uint32_t rejected_drafts = 0;
};

/// Returns the timings of a finished answer.
AnswerTimings timings_of(const generate::Finished& finished);

/// Returns {"cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms", ...}, and `draft_n` if there
/// were drafts.
Json timings_json(const AnswerTimings& timings);

/// Measures an answer whose tokens arrive one by one. Not thread-safe.
class TokenClock {
public:
    using Clock = std::chrono::steady_clock;

    /// Begins with the prompt.
    TokenClock() : began_(Clock::now()) {}

    /// Counts a token, or takes the final timings.
    void take(const generate::Event& event);

    [[nodiscard]] bool has_token() const { return first_token_.has_value(); }

    /// Milliseconds since the start, and since the first token; 0 before that.
    [[nodiscard]] double elapsed_ms() const;
    [[nodiscard]] double generation_ms() const;

    /// Returns the timings so far, or the final ones. `progress`: of the prompt; empty while it waits.
    [[nodiscard]] AnswerTimings timings(const std::optional<engine::PromptProgress>& progress) const;

private:
    Clock::time_point began_;
    std::optional<Clock::time_point> first_token_;
    uint32_t tokens_ = 0;
    std::optional<AnswerTimings> final_;
};

} // namespace etna::server::api
