#pragma once

#include "core/grammar/description.hpp"
#include "core/output/parser.hpp"
#include "core/output/syntax.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string_view>

// Internal to core/generate: what the grammar of an answer must describe.
namespace etna::generate {

/// The constraints on an answer, and the syntax of its model.
struct AnswerForm {
    const output::Syntax& syntax;
    std::span<const jinja::Value> tools = {}; ///< see output::ParserOptions; borrowed
    /// Name of the function that must be called; an empty name: any function; no value: no call is required.
    std::optional<std::string_view> required = {};
    bool allows_parallel = true; ///< several calls are allowed
    bool is_strict = false;      ///< arguments must match their schemas even if a function is not strict
    grammar::JsonSpacing spacing = grammar::JsonSpacing::single; ///< in arguments that match their schemas
    bool is_lenient = false; ///< parameter schema keywords that cannot be enforced are dropped
    std::optional<grammar::Description> content = {}; ///< constraint on an answer that is not a call
    /// Returns whether a token of this name ends the answer; such a token is not part of it.
    std::function<bool(std::string_view)> is_end_token = {};
    output::Start start = output::Start::content;
    bool may_reason = true;      ///< for message formats: messages with reasoning may come first
    bool starts_in_body = false; ///< for message formats: the prompt ends inside a message, after its header
};

} // namespace etna::generate
