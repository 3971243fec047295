#pragma once

#include "server/openai/generation_call.hpp"
#include "server/openai/untold_tokens.hpp"

#include <string>
#include <vector>

namespace etna::server::openai {

/// Output options of a completion.
struct CompletionForm {
    std::optional<uint32_t> logprobs = {}; ///< number of top logprobs; empty: no logprobs
    TokenNames token_names = TokenNames::text;
    bool tells_text = true;                   ///< false: token ids instead
    bool echoes = false;                      ///< the text starts with the prompt
    std::vector<std::string> told_stops = {}; ///< see told_stops()
};

/// {"text", "index", "logprobs", "finish_reason"}; without text, also `token_ids`: the tokens of this piece.
class CompletionChoice : public ChoiceWriter {
public:
    /// `prompt` is used only if the form echoes.
    CompletionChoice(uint32_t index, const CompletionForm& form, UntoldTokens untold, std::string prompt)
        : index_(index), form_(form), prompt_(std::move(prompt)), untold_(std::move(untold)) {}

    /// The prompt, if echoed; with logprobs it is delivered later, with the first token.
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
    std::vector<TokenId> untold_ids_; ///< pending ids, if ids are returned instead of text
    Json logprobs_;                   ///< logprobs of the next piece
    bool has_logprobs_ = false;       ///< any token so far had logprobs
    std::size_t characters_ = 0;      ///< characters of text before the next token
};

/// Aggregates the pieces into a choice of the same shape.
class WholeCompletion : public WholeChoice {
public:
    void add(const Json& piece) override;
    [[nodiscard]] Json result() const override { return whole_; }

private:
    Json whole_;
};

} // namespace etna::server::openai
