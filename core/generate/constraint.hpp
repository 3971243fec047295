#pragma once

#include "core/engine/constraint.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"
#include "core/grammar/grammars.hpp"

#include <memory>

// Private to the room: what an answer is kept to, for the engine.
namespace etna::generate {

/// The tokenizer's tokens as a grammar sees them: text as its bytes, control tokens as
/// grammar::control_text(), and those that end a turn as nothing; up to `size` where the model has more rows
/// than tokens.
grammar::Vocabulary grammar_vocabulary(const text::Tokenizer& tokenizer, uint32_t size);

/// The grammar that the answer to the prompt is kept to; null where nothing is asked. Errors: those of
/// grammar::Grammars::make(), unsupported (the model writes its answers in a way that cannot be kept to it).
/// `stop_requested`: asked while it is made; may be empty.
Result<std::shared_ptr<const grammar::Grammar>> make_grammar(const Model& model, const Request& request,
                                                             const Prompt& prompt,
                                                             const StopRequested& stop_requested);

/// For one answer; null without a grammar. `forcing`: the tokenizer, borrowed, by which text that has to come
/// is spelled without asking the model; null: the model is asked for every token.
std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar,
                                                    const text::Tokenizer* forcing);

} // namespace etna::generate
