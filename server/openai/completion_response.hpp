#pragma once

#include "server/openai/generation_call.hpp"
#include "server/openai/untold_tokens.hpp"

#include <string>
#include <vector>

namespace etna::server::openai {

/// How completions are told.
struct CompletionForm {
    std::optional<uint32_t> logprobs = {}; ///< how many of the likeliest tokens; empty: nothing of them
    TokenNames token_names = TokenNames::text;
    bool tells_text = true;                   ///< false: the tokens' ids instead
    bool echoes = false;                      ///< the text begins with the prompt
    std::vector<std::string> told_stops = {}; ///< see told_stops()
};

/// {"text", "index", "logprobs", "finish_reason"}; without text, `token_ids` too: those of this piece.
class CompletionChoice : public ChoiceWriter {
public:
    /// `prompt` is needed where the form echoes.
    CompletionChoice(uint32_t index, const CompletionForm& form, UntoldTokens untold, std::string prompt)
        : index_(index), form_(form), prompt_(std::move(prompt)), untold_(std::move(untold)) {}

    /// The prompt, if it is wanted; with log-probabilities it comes later, with the first token.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;

private:
    std::optional<Json> take_token(const generate::TokenDelta& token);
    Json end(const generate::Finished& finished);
    void add(const std::vector<ToldToken>& tokens);
    void add(const std::string& name, const generate::TokenDelta* likelihood, std::size_t characters);
    std::optional<Json> prompt_piece();
    Json piece(std::string_view text);

    uint32_t index_;
    CompletionForm form_;
    std::string prompt_;
    bool has_told_prompt_ = false;
    UntoldTokens untold_;
    std::vector<TokenId> untold_ids_; ///< where ids are told instead of text
    Json logprobs_;                   ///< of the tokens that the next piece tells
    bool has_logprobs_ = false;       ///< of any token so far
    std::size_t characters_ = 0;      ///< of the text before the next token
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
