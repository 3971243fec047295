#pragma once

#include "core/generate/generate.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace etna::test {

/// stories260K's tokenizer on the fake executor, which answers everything with `answer`. Empty
/// `chat_template`: none.
generate::Model model_that_says(const std::string& answer, const std::string& chat_template = {},
                                uint32_t context_tokens = 256);

/// The same, with a draft model that says `draft` to everything.
generate::Model model_that_says_with_draft(const std::string& answer, const std::string& draft);

/// A request for text as it is.
generate::Request raw(std::string prompt);

/// What a sink was told.
struct Events {
    std::vector<std::string> deltas = {};
    std::vector<generate::PromptTokenDelta> prompt = {};
    std::vector<generate::TokenDelta> tokens = {};
    std::vector<generate::Finished> finished = {};
    std::size_t stop_after = std::numeric_limits<std::size_t>::max(); ///< deltas, or tokens

    generate::Sink sink();
    [[nodiscard]] std::string text() const;
};

} // namespace etna::test
