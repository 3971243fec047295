#pragma once

#include "core/generate/generation.hpp"
#include "server/json.hpp"
#include "server/metrics.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace etna::server::openai {

/// Token usage of a request, over all of its prompts and choices.
class Usage {
public:
    /// For a started request; each prompt is counted once.
    Usage(const generate::Generation& generation, std::size_t prompts);

    void add(uint32_t choice, const generate::Finished& finished);

    [[nodiscard]] Metrics::Tokens tokens() const;
    [[nodiscard]] Json json() const;

private:
    uint32_t prompt_tokens_ = 0;
    uint32_t completion_tokens_ = 0;
    uint32_t reasoning_tokens_ = 0;
    uint32_t accepted_drafts_ = 0;
    uint32_t rejected_drafts_ = 0;
    uint32_t choices_per_prompt_ = 1;
    std::vector<uint32_t> cached_tokens_; ///< per prompt: the maximum over its choices
};

/// The members common to all objects of one response.
struct AnswerHead {
    std::string id; ///< "chatcmpl-..."
    std::string object;
    int64_t created_unix_s = 0;
    std::string model;
    int64_t seed = 0; ///< the first choice's; each further choice adds one
};

/// {"id", "object", "created", "model", "system_fingerprint", "seed", "choices": []}.
Json to_json(const AnswerHead& head);

} // namespace etna::server::openai
