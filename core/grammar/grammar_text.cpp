#include "core/grammar/grammar_text.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
namespace etna::grammar {
namespace {

constexpr uint32_t grammar_count_max = 1'000'000'000;

} // namespace

Status GrammarSource::check() const {
    if (valid_utf8_prefix(text_) != text_.size())
        return invalid_argument("the grammar is not UTF-8");
    return {};
}

Error GrammarSource::wrong(std::string_view what, std::optional<std::size_t> position) const {
    const std::size_t at = position.value_or(at_);
    const auto before = text_.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    return {ErrorKind::invalid_argument,
            fmt::format("the grammar, line {}, column {}: {}", line, column, what), std::string(hint_)};
}

void GrammarSource::skip_line() {
    at_ = std::min(text_.find('\n', at_), text_.size());
}

bool GrammarSource::take(std::string_view part) {
    const bool is_there = sees(part);
    at_ += is_there ? part.size() : 0;
    return is_there;
}

Result<std::optional<uint32_t>> GrammarSource::count() {
    std::optional<uint32_t> value;
    for (; next() >= '0' && next() <= '9'; ++at_) {
        value = value.value_or(0) * 10 + static_cast<uint32_t>(next() - '0');
        if (*value > grammar_count_max / 10)
            return wrong("the count is too large");
    }
    return value;
}

Result<char32_t> GrammarSource::character(std::string_view letters, std::string_view meanings) {
    if (take("\\"))
        return escape(letters, meanings);
    if (is_at_end())
        return wrong("a character is missing");
    const std::size_t bytes = next_utf8(rest()).bytes;
    const char32_t letter = code_point_of(rest(), bytes);
    at_ += bytes;
    return letter;
}

Result<char32_t> GrammarSource::escape(std::string_view letters, std::string_view meanings) {
    const char letter = next();
    if (const auto known = letters.find(letter); !is_at_end() && known != std::string_view::npos) {
        ++at_;
        return static_cast<char32_t>(meanings[known]);
    }
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0)
        return wrong("the escape is unknown");
    ++at_;
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
        const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(next() | 0x20));
        if (digit == std::string_view::npos)
            return wrong("a hexadecimal digit is missing");
        value = value * 16 + static_cast<char32_t>(digit);
    }
    if (value > code_point_max || (value >= 0xD800 && value <= 0xDFFF))
        return wrong("the escape is not a character");
    return value;
}

GrammarRules::Rule& GrammarRules::known(std::string_view name, std::size_t position) {
    auto found = rules_.find(name);
    if (found == rules_.end()) {
        const Expression expression = language_->rule(std::string(name));
        found = rules_.emplace(name, Rule{.expression = expression, .first_seen = position}).first;
    }
    return found->second;
}

Expression GrammarRules::use(std::string_view name, std::size_t position) {
    const Expression rule = known(name, position).expression;
    parts_.insert(rule);
    return rule;
}

Status GrammarRules::end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                                    std::size_t position) {
    Rule& own = known(name, position);
    if (own.definition)
        return source.wrong(fmt::format("the rule `{}` is defined twice", name), position);
    own.definition = definition;
    own.parts = std::move(parts_);
    parts_.clear();
    return {};
}

/// Rules that neither are nor use recursive rules: only these can be walked separately.
std::unordered_set<Expression> GrammarRules::flat_rules() const {
    std::unordered_map<Expression, std::vector<Expression>> users;
    std::unordered_map<Expression, std::size_t>
        open_parts; // number of rules in a definition that are not known to be flat
    std::vector<Expression> found;
    for (const auto& [name, rule] : rules_) {
        for (const Expression part : rule.parts)
            users[part].push_back(rule.expression);
        open_parts[rule.expression] = rule.parts.size();
        if (rule.parts.empty())
            found.push_back(rule.expression);
    }
    for (std::size_t at = 0; at < found.size(); ++at) {
        for (const Expression user : users[found[at]]) {
            if (--open_parts[user] == 0)
                found.push_back(user);
        }
    }
    return {found.begin(), found.end()};
}

Result<Expression> GrammarRules::define_all(std::string_view root, const GrammarSource& source) {
    for (const auto& [name, rule] : rules_) {
        if (!rule.definition)
            return source.wrong(fmt::format("the rule `{}` is undefined", name), rule.first_seen);
    }
    const auto found = rules_.find(root);
    if (found == rules_.end())
        return source.wrong(fmt::format("the rule `{}` is undefined", root), 0);
    const auto flat = flat_rules();
    for (const auto& [name, rule] : rules_) {
        const bool is_unit = name != root && flat.contains(rule.expression);
        language_->define(rule.expression, is_unit ? language_->unit(*rule.definition) : *rule.definition);
    }
    return found->second.expression;
}

} // namespace etna::grammar
