#include "server/openai/answer_head.hpp"

#include <algorithm>
#include <numeric>

namespace etna::server::openai {

Usage::Usage(const generate::Generation& generation, std::size_t prompts)
    : choices_per_prompt_(generation.choices() / static_cast<uint32_t>(prompts)), cached_tokens_(prompts) {
    for (std::size_t prompt = 0; prompt < prompts; ++prompt)
        prompt_tokens_ += static_cast<uint32_t>(generation.prompt_tokens(prompt).size());
}

void Usage::add(uint32_t choice, const generate::Finished& finished) {
    uint32_t& cached = cached_tokens_[choice / choices_per_prompt_];
    cached = std::max(cached, finished.cached_tokens);
    completion_tokens_ += static_cast<uint32_t>(finished.tokens.size()) + finished.discarded_tokens;
    reasoning_tokens_ += finished.reasoning_tokens;
    accepted_drafts_ += finished.accepted_drafts;
    rejected_drafts_ += finished.rejected_drafts;
}

Metrics::Tokens Usage::tokens() const {
    return {.prompt = prompt_tokens_,
            .cached = std::accumulate(cached_tokens_.begin(), cached_tokens_.end(), 0U),
            .completion = completion_tokens_,
            .accepted_drafts = accepted_drafts_,
            .rejected_drafts = rejected_drafts_};
}

Json Usage::json() const {
    const Metrics::Tokens counts = tokens();
    return {{"prompt_tokens", counts.prompt},
            {"completion_tokens", counts.completion},
            {"total_tokens", counts.prompt + counts.completion},
            {"prompt_tokens_details", {{"cached_tokens", counts.cached}}},
            {"completion_tokens_details",
             {{"reasoning_tokens", reasoning_tokens_},
              {"accepted_prediction_tokens", counts.accepted_drafts},
              {"rejected_prediction_tokens", counts.rejected_drafts}}}};
}

Json to_json(const AnswerHead& head) {
    return {{"id", head.id},
            {"object", head.object},
            {"created", head.created_unix_s},
            {"model", head.model},
            {"system_fingerprint", "etna-" ETNA_VERSION},
            {"seed", head.seed},
            {"choices", Json::array()}};
}

} // namespace etna::server::openai
