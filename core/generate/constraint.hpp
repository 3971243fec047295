#pragma once

#include "core/engine/constraint.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"
#include "core/grammar/grammar_cache.hpp"

#include <memory>

// Internal to core/generate: the engine constraint of an answer.
namespace etna::generate {

/// Maps the tokenizer's tokens to grammar input: text tokens to their bytes, control tokens to
/// grammar::control_text(), end-of-turn tokens to nothing. Padded to `size`, for models with more rows than
/// tokens.
grammar::Vocabulary grammar_vocabulary(const text::Tokenizer& tokenizer, uint32_t size);

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

} // namespace etna::generate
