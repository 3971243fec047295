#include "server/api/timings.hpp"

#include "core/base/duration.hpp"

#include <algorithm>

namespace etna::server::api {
namespace {

double ms_between(TokenClock::Clock::time_point begin, TokenClock::Clock::time_point end) {
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

double mean_ms(uint32_t tokens, double ms) {
    return tokens == 0 ? 0 : ms / tokens;
}

double per_second(uint32_t tokens, double ms) {
    return ms > 0 ? tokens * ms_per_second / ms : 0;
}

} // namespace

AnswerTimings timings_of(const generate::Finished& finished) {
    return {.cached_tokens = finished.cached_tokens,
            .prompt_tokens = finished.prompt_tokens - finished.cached_tokens,
            .prompt_ms = finished.timings.prompt_ms,
            .generated_tokens = finished.generated_tokens,
            .generation_ms = finished.timings.generation_ms,
            .accepted_drafts = finished.accepted_drafts,
            .rejected_drafts = finished.rejected_drafts};
}

Json timings_json(const AnswerTimings& timings) {
    Json json = {{"cache_n", timings.cached_tokens},
                 {"prompt_n", timings.prompt_tokens},
                 {"prompt_ms", timings.prompt_ms},
                 {"prompt_per_token_ms", mean_ms(timings.prompt_tokens, timings.prompt_ms)},
                 {"prompt_per_second", per_second(timings.prompt_tokens, timings.prompt_ms)},
                 {"predicted_n", timings.generated_tokens},
                 {"predicted_ms", timings.generation_ms},
                 {"predicted_per_token_ms", mean_ms(timings.generated_tokens, timings.generation_ms)},
                 {"predicted_per_second", per_second(timings.generated_tokens, timings.generation_ms)}};
    if (const uint32_t drafts = timings.accepted_drafts + timings.rejected_drafts; drafts > 0) {
        json["draft_n"] = drafts;
        json["draft_n_accepted"] = timings.accepted_drafts;
    }
    return json;
}

void TokenClock::take(const generate::Event& event) {
    if (const auto* finished = std::get_if<generate::Finished>(&event))
        final_ = timings_of(*finished);
    if (!std::holds_alternative<generate::TokenDelta>(event))
        return;
    ++tokens_;
    if (!first_token_)
        first_token_ = Clock::now();
}

double TokenClock::elapsed_ms() const {
    return ms_between(began_, Clock::now());
}

double TokenClock::generation_ms() const {
    return first_token_ ? ms_between(*first_token_, Clock::now()) : 0;
}

AnswerTimings TokenClock::timings(const std::optional<engine::PromptProgress>& progress) const {
    if (final_)
        return *final_;
    AnswerTimings timings = {.prompt_ms = first_token_ ? ms_between(began_, *first_token_) : elapsed_ms(),
                             .generated_tokens = tokens_,
                             .generation_ms = generation_ms()};
    if (progress) {
        timings.cached_tokens = progress->cached_tokens;
        timings.prompt_tokens =
            progress->computed_tokens - std::min(progress->computed_tokens, progress->cached_tokens);
    }
    return timings;
}

} // namespace etna::server::api
