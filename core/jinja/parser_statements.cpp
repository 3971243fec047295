// Parser: statements, {% %}.

#include "core/jinja/parser_private.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {

Result<If> Parser::if_statement() {
    If result;
    while (true) {
        ETNA_TRY(auto test, tuple(Conditions::left_alone, {}, false));
        ETNA_TRY(auto body, block({"elif", "else", "endif"}));
        result.branches.emplace_back(std::move(test), std::move(body));
        const std::string word = take().text;
        if (word == "elif")
            continue;
        if (word == "else") {
            ETNA_TRY(result.otherwise, block_until("endif"));
        }
        return result;
    }
}

Result<For> Parser::for_statement() {
    For result;
    ETNA_TRY(result.target, target(Attributes::refused));
    ETNA_CHECK(expect_name("in"));
    ETNA_TRY(result.iterable, tuple(Conditions::left_alone, "recursive", false));
    if (skip_name("if")) {
        ETNA_TRY(result.test, expression());
    }
    result.is_recursive = skip_name("recursive");
    ETNA_TRY(result.body, block({"endfor", "else"}));
    if (take().text == "else") {
        ETNA_TRY(result.otherwise, block_until("endfor"));
    }
    return result;
}

Status Parser::set_statement(Statement& out) {
    ETNA_TRY(auto assigned, target(Attributes::allowed));
    if (skip_sign("=")) {
        Set set = {.target = std::move(assigned), .value = nullptr};
        ETNA_TRY(set.value, tuple(Conditions::allowed, {}, false));
        out.node = std::move(set);
        return {};
    }
    SetBlock set;
    set.target = std::move(assigned);
    ETNA_TRY(set.filter, filter_chain(nullptr, false));
    ETNA_TRY(set.body, block_until("endset"));
    out.node = std::move(set);
    return {};
}

/// Parses a name, a namespace attribute, or a tuple in brackets.
Result<Target> Parser::target_part(Attributes attributes) {
    const Level level(*this);
    ETNA_CHECK(level.check());
    Target result = {.at = current().at};
    if (skip_sign("(")) {
        ETNA_TRY(result, target(attributes));
        ETNA_CHECK(expect_sign(")"));
        return result;
    }
    ETNA_TRY(result.name, expect_any_name());
    for (const char* constant : {"true", "false", "none", "True", "False", "None"}) {
        if (result.name == constant)
            return syntax_error(result.at, "can't assign to 'const'");
    }
    if (attributes == Attributes::allowed && skip_sign(".")) {
        ETNA_TRY(result.attribute, expect_any_name());
    }
    return result;
}

Result<Target> Parser::target(Attributes attributes) {
    ETNA_TRY(auto first, target_part(attributes));
    if (!at_sign(","))
        return first;
    Target result = {.at = first.at, .is_tuple = true};
    result.parts.push_back(std::move(first));
    while (skip_sign(",")) {
        if (at_sign(")") || current().type == TokenType::block_end)
            break;
        ETNA_TRY(auto part, target_part(attributes));
        result.parts.push_back(std::move(part));
    }
    return result;
}

Result<std::vector<Parameter>> Parser::signature() {
    std::vector<Parameter> parameters;
    ETNA_CHECK(expect_sign("("));
    while (!at_sign(")")) {
        if (!parameters.empty())
            ETNA_CHECK(expect_sign(","));
        Parameter parameter = {.at = current().at};
        ETNA_TRY(parameter.name, expect_any_name());
        if (skip_sign("=")) {
            ETNA_TRY(parameter.fallback, expression());
        } else if (!parameters.empty() && parameters.back().fallback != nullptr) {
            return syntax_error(parameter.at, "non-default argument follows default argument");
        }
        for (const Parameter& other : parameters) {
            if (other.name == parameter.name)
                return syntax_error(parameter.at, fmt::format("duplicate argument '{}'", parameter.name));
        }
        parameters.push_back(std::move(parameter));
    }
    ETNA_CHECK(expect_sign(")"));
    return parameters;
}

Result<Macro> Parser::macro_statement() {
    Macro macro;
    ETNA_TRY(macro.name, expect_any_name());
    ETNA_TRY(macro.parameters, signature());
    ETNA_TRY(macro.body, block_until("endmacro"));
    return macro;
}

Result<CallBlock> Parser::call_statement() {
    const Position at = current().at;
    CallBlock result;
    if (at_sign("(")) {
        ETNA_TRY(result.body.parameters, signature());
    }
    ETNA_TRY(result.call, expression());
    if (!std::holds_alternative<Call>(result.call->node))
        return syntax_error(at, "expected call");
    ETNA_TRY(result.body.body, block_until("endcall"));
    return result;
}

Result<With> Parser::with_statement() {
    With result;
    while (current().type != TokenType::block_end) {
        if (!result.targets.empty())
            ETNA_CHECK(expect_sign(","));
        ETNA_TRY(auto assigned, target(Attributes::refused));
        ETNA_CHECK(expect_sign("="));
        ETNA_TRY(auto value, expression());
        result.targets.push_back(std::move(assigned));
        result.values.push_back(std::move(value));
    }
    ETNA_TRY(result.body, block_until("endwith"));
    return result;
}

Result<NamedBlock> Parser::block_statement() {
    NamedBlock result;
    ETNA_TRY(result.name, expect_any_name());
    const Position at = current().at;
    for (const NamedBlock* other : blocks_) {
        if (other->name == result.name)
            return syntax_error(at, fmt::format("block '{}' defined twice", result.name));
    }
    result.is_scoped = skip_name("scoped");
    result.is_required = skip_name("required");
    if (at_sign("-")) {
        return syntax_error(current().at, "Block names in Jinja have to be valid Python identifiers and may "
                                          "not contain hyphens, use an underscore instead.");
    }
    ETNA_TRY(result.body, block_until("endblock"));
    const bool is_blank = std::all_of(result.body.begin(), result.body.end(), [](const auto& statement) {
        const auto* output = std::get_if<Output>(&statement->node);
        return output != nullptr && output->expression == nullptr &&
               stripped(output->text, {}, Side::both).empty();
    });
    if (result.is_required && !is_blank)
        return syntax_error(at, "Required blocks can only contain comments or whitespace");
    skip_name(result.name);
    return result;
}

Status Parser::print_statement(Block& out) {
    bool is_first = true;
    while (current().type != TokenType::block_end) {
        if (!is_first)
            ETNA_CHECK(expect_sign(","));
        is_first = false;
        const Position at = current().at;
        ETNA_TRY(auto printed, expression());
        out.push_back(std::make_unique<Statement>(Statement{at, Output{{}, std::move(printed)}}));
    }
    return {};
}

/// Parses only the source, because there is nothing to load from; skips the rest of the tag.
Result<Load> Parser::load_statement() {
    Load result;
    ETNA_TRY(result.source, expression());
    while (current().type != TokenType::block_end && current().type != TokenType::end)
        take();
    return result;
}

} // namespace etna::jinja
