#pragma once

#include "core/base/result.hpp"
#include "core/generate/answer_form.hpp"
#include "core/grammar/description.hpp"

#include <optional>

// Internal to core/generate: the grammar of an answer, with calls of the offered tools.
namespace etna::generate {

/// Describes the answer without the reasoning that comes before it (message formats include theirs): calls of
/// offered functions, with arguments that are a JSON object and match their schemas if they must; or content,
/// or both. No value: the answer is unconstrained because nothing is offered. Errors: invalid_argument (a
/// tool has no name), unsupported (a name that cannot be written). Schema errors are reported when the
/// grammar is built.
Result<std::optional<grammar::Description>> describe_answer(const AnswerForm& form);

/// Lets the reasoning before an answer end with a call, or with the turn: `answer` describes the answer of
/// the form, with its reasoning. The turn does not end there if a call or a form of the content is required.
/// Errors: those of describe_answer().
Status end_open_reasoning(const AnswerForm& form, grammar::Description& answer);

} // namespace etna::generate
