#pragma once

#include "core/base/cancel.hpp"
#include "core/engine/constraint.hpp"
#include "core/generate/answer_text.hpp"
#include "core/generate/model.hpp"
#include "core/generate/prompt.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "core/text/detokenizer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Internal to core/generate: the engine constraints of an answer.
namespace etna::generate {

/// Returns the grammar that constrains the answer to the prompt; null if it is unconstrained. Errors: those
/// of grammar::GrammarCache::make(), unsupported (the model's answer format cannot be constrained this way).
/// `is_cancelled` is polled during the build; may be empty.
Result<std::shared_ptr<const grammar::Grammar>> make_grammar(const Model& model, const Request& request,
                                                             const Prompt& prompt,
                                                             const CancelPoll& is_cancelled);

/// Returns the constraint of one answer; null without a grammar. `forcing`: the tokenizer, borrowed, that
/// encodes forced text without running the model; null: the model chooses every token.
std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar,
                                                    const text::Tokenizer* forcing);

/// Ends a beam search hypothesis at the first stop string, because the search must score the hypothesis
/// without the text after it. Without beam search, stop strings are found off the engine's thread.
class StopStringConstraint final : public engine::Constraint {
public:
    struct Options {
        AnswerText text;                    ///< of the answer, with its stop strings
        uint32_t min_tokens = 0;            ///< see Request::min_tokens
        text::DetokenizeOptions detokenize; ///< `shown` is copied: the engine may outlive the request
    };

    /// Borrows the tokenizer. `inner`: another constraint on the text; may be null.
    StopStringConstraint(const text::Tokenizer& tokenizer, Options options,
                         std::shared_ptr<engine::Constraint> inner);
    StopStringConstraint(const StopStringConstraint& other);

    bool prepare(Part part, const TimeSlice& slice) override;
    Result<Allowed> allowed() override;
    void accept(TokenId token) override;
    Result<bool> is_over() override;
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override;

private:
    std::shared_ptr<const std::vector<TokenId>> shown_;
    text::Detokenizer detokenizer_;
    AnswerText text_;
    uint32_t tokens_ = 0;
    uint32_t min_tokens_;
    std::shared_ptr<engine::Constraint> inner_;
};

} // namespace etna::generate
