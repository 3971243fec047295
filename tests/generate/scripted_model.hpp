#pragma once

#include "core/generate/generation.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace etna::test {

/// A text for scripted models.
inline constexpr const char* story = "there was a dog. The dog was big.";

/// A chat template whose model opens its reasoning, and one that opens it in the prompt.
inline constexpr const char* thinking_template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <think> </think> #}";
inline constexpr const char* open_template =
    "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n{# </think> #}";

/// Returns a model with stories260K's tokenizer on the fake executor, which answers every prompt with
/// `answer`. `chat_template` may be empty.
generate::Model model_that_says(const std::string& answer, const std::string& chat_template = {},
                                uint32_t context_tokens = 256);

/// As model_that_says(), but each token depends on all tokens before it.
generate::Model model_without_script(uint32_t context_tokens);

/// As model_that_says(), with a draft model that answers `draft`.
generate::Model model_that_says_with_draft(const std::string& answer, const std::string& draft);

/// Returns the tokens from `begin` up to `end`, which is not included.
std::vector<TokenId> token_range(TokenId begin, TokenId end);

/// Returns a request with a text prompt.
generate::Request raw(std::string prompt);

/// Collects the events of a generation.
struct Events {
    std::vector<std::string> deltas = {};
    std::vector<generate::PromptTokenDelta> prompt = {};
    std::vector<generate::TokenDelta> tokens = {};
    std::vector<generate::Finished> finished = {};
    std::size_t stop_after =
        std::numeric_limits<std::size_t>::max(); ///< number of deltas or tokens after which the sink stops

    generate::Sink sink();
    [[nodiscard]] std::string text() const;
};

} // namespace etna::test
