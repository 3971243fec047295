#pragma once

#include "server/openai/generation_call.hpp"

#include <string>
#include <vector>

namespace etna::server::openai {

/// How completions are told.
struct CompletionForm {
    std::optional<uint32_t> logprobs = {}; ///< how many of the likeliest tokens; empty: nothing of them
    bool tells_text = true;                ///< false: the tokens' ids instead
};

/// {"text", "index", "logprobs", "finish_reason"}; without text, `token_ids` too.
class CompletionChoice : public ChoiceWriter {
public:
    /// `prompt` begins the text; empty: nothing does.
    CompletionChoice(uint32_t index, const CompletionForm& form, std::string prompt)
        : index_(index), form_(form), prompt_(std::move(prompt)) {}

    /// The prompt, if it is wanted.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;

private:
    Json piece(std::string_view text);
    Json logprobs();

    uint32_t index_;
    CompletionForm form_;
    std::string prompt_;
    std::vector<generate::TokenDelta> untold_; ///< tokens whose text has not come yet
    std::size_t characters_ = 0;               ///< of the tokens that have been told
};

/// The same shape, whole.
class WholeCompletion : public WholeChoice {
public:
    void add(const Json& piece) override;
    [[nodiscard]] Json result() const override { return whole_; }

private:
    Json whole_;
};

} // namespace etna::server::openai
