#pragma once

#include "core/base/result.hpp"
#include "core/chat/output/parser.hpp"
#include "core/chat/output/syntax.hpp"
#include "core/grammar/description.hpp"

#include <functional>
#include <optional>
#include <string_view>

// Private to the room: how answers that may call tools are kept to what was offered.
namespace etna::generate {

/// What is asked of an answer, and how its model writes.
struct AnswerForm {
    const chat::output::Syntax& syntax;
    std::string_view tools = {}; ///< JSON, see chat::output::ParserOptions; empty for none
    /// The function that has to be called, any for an empty name; no value: none has to be.
    std::optional<std::string_view> demanded = {};
    bool are_parallel = true; ///< several calls may come
    bool are_strict = false;  ///< arguments have to fit their schemas, whether a function says so or not
    bool is_lenient = false;  ///< what cannot be enforced of the functions' parameters is left out
    std::optional<grammar::Description> content = {}; ///< what the answer is kept to where it is no call
    /// Whether a token of this name ends the answer: then it is no part of it.
    std::function<bool(std::string_view)> is_end = {};
    chat::output::Start start = chat::output::Start::content;
    bool has_body = false; ///< of models that write messages: the prompt has begun one, with its header
};

/// The answer, without what a model may think before it where it writes no messages: calls of functions that
/// were offered, with arguments that fit where they have to and are a JSON object anyway; or content, or
/// both. No value: it is free, as nothing is offered. Errors: invalid_argument (the tools are no JSON),
/// unsupported (a name that cannot be written). What is wrong with the schemas is told when the grammar is
/// made.
Result<std::optional<grammar::Description>> describe_answer(const AnswerForm& form);

} // namespace etna::generate
