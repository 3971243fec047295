#include "core/grammar/gbnf.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr std::size_t group_depth_max = 200;
constexpr uint32_t count_max = 1'000'000'000;
constexpr std::string_view root_name = "root";

struct Rule {
    Expression expression = nothing;
    std::optional<Expression> definition = {};
    std::set<std::string, std::less<>> names = {}; ///< of rules in the definition
    std::size_t first_seen = 0;                    ///< where in the text
};
using Rules = std::map<std::string, Rule, std::less<>>;

bool is_name_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

class Parser {
public:
    Parser(Language& language, std::string_view text) : language_(&language), text_(text) {}

    Result<Rules> parse() {
        if (valid_utf8_prefix(text_) != text_.size())
            return Error{ErrorKind::invalid_argument, "the grammar is no UTF-8"};
        skip_space(Lines::may_end);
        while (at_ < text_.size())
            ETNA_CHECK(rule());
        return std::move(rules_);
    }

    [[nodiscard]] Error wrong(std::string_view what, std::size_t at) const {
        const auto before = text_.substr(0, at);
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const std::size_t column = at - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
        return {ErrorKind::invalid_argument,
                fmt::format("the grammar, line {}, column {}: {}", line, column, what),
                R"(a rule looks like this: root ::= "yes" | "no" [0-9]+)"};
    }

private:
    /// Whether white space goes on behind the end of a line: there, the next rule may begin.
    enum class Lines : uint8_t { stop, may_end };

    [[nodiscard]] Error wrong(std::string_view what) const { return wrong(what, at_); }
    [[nodiscard]] bool sees(std::string_view part) const { return text_.substr(at_).starts_with(part); }
    bool take(std::string_view part) {
        const bool is_there = sees(part);
        at_ += is_there ? part.size() : 0;
        return is_there;
    }

    void skip_space(Lines lines) {
        while (at_ < text_.size()) {
            const char byte = text_[at_];
            if (byte == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (byte == ' ' || byte == '\t' ||
                       (lines == Lines::may_end && (byte == '\n' || byte == '\r'))) {
                ++at_;
            } else {
                return;
            }
        }
    }

    std::string_view name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name_letter(text_[at_]))
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    Rule& known(std::string_view name, std::size_t at) {
        auto place = rules_.find(name);
        if (place == rules_.end()) {
            const Expression expression = language_->rule(std::string(name));
            place = rules_.emplace(name, Rule{.expression = expression, .first_seen = at}).first;
        }
        return place->second;
    }

    Status rule() {
        const std::size_t begin = at_;
        const std::string_view own_name = name();
        if (own_name.empty())
            return wrong("a rule's name is missing");
        skip_space(Lines::stop);
        if (!take("::="))
            return wrong("`::=` is missing");
        skip_space(Lines::may_end);
        names_.clear();
        ETNA_TRY(const Expression definition, alternatives(Lines::stop));
        Rule& own = known(own_name, begin);
        if (own.definition)
            return wrong(fmt::format("the rule `{}` is there twice", own_name), begin);
        own.definition = definition;
        own.names = names_;
        if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r')
            return wrong("this belongs to no rule");
        skip_space(Lines::may_end);
        return {};
    }

    Result<Expression> alternatives(Lines lines) {
        if (depth_ == group_depth_max)
            return wrong("groups are nested too deep");
        ++depth_;
        std::vector<Expression> all;
        do {
            skip_space(Lines::may_end);
            ETNA_TRY(all.emplace_back(), sequence(lines));
        } while (take("|"));
        --depth_;
        return language_->either(all);
    }

    Result<Expression> sequence(Lines lines) {
        std::vector<Expression> items;
        while (true) {
            const std::size_t before = at_;
            ETNA_TRY(const auto item, one());
            if (!item) {
                at_ = before;
                break;
            }
            ETNA_TRY(items.emplace_back(), repeated(*item));
            skip_space(lines);
        }
        return language_->sequence(items);
    }

    /// Nothing where no item begins.
    Result<std::optional<Expression>> one() {
        using Item = std::optional<Expression>;
        const std::size_t begin = at_;
        if (take("\"")) {
            ETNA_TRY(const std::string text, quoted());
            return Item(language_->literal(text));
        }
        if (take("[")) {
            ETNA_TRY(const CodePoints set, bracket());
            return Item(utf8(*language_, set));
        }
        if (take("."))
            return Item(utf8(*language_, CodePoints::all()));
        if (take("(")) {
            ETNA_TRY(const Expression inner, alternatives(Lines::may_end));
            if (!take(")"))
                return wrong("`)` is missing");
            return Item(inner);
        }
        if (sees("<") || sees("!"))
            return wrong("tokens cannot be named here");
        const std::string_view named = name();
        if (named.empty())
            return Item();
        names_.emplace(named);
        return Item(known(named, begin).expression);
    }

    Result<Expression> repeated(Expression item) {
        skip_space(Lines::stop);
        if (take("*"))
            return language_->repeat(item, 0);
        if (take("+"))
            return language_->repeat(item, 1);
        if (take("?"))
            return language_->optional(item);
        if (!take("{"))
            return item;
        ETNA_TRY(const auto least, count());
        auto most = least;
        skip_space(Lines::stop);
        if (take(",")) {
            ETNA_TRY(most, count());
        } else if (!least) {
            return wrong("a count is missing");
        }
        skip_space(Lines::stop);
        if (!take("}"))
            return wrong("`}` is missing");
        if (most && least.value_or(0) > *most)
            return wrong("the counts are out of order");
        return language_->repeat(item, least.value_or(0), most.value_or(unbounded));
    }

    Result<std::optional<uint32_t>> count() {
        skip_space(Lines::stop);
        std::optional<uint32_t> value;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            value = value.value_or(0) * 10 + static_cast<uint32_t>(text_[at_] - '0');
            if (*value > count_max / 10)
                return wrong("the count is too large");
        }
        return value;
    }

    Result<std::string> quoted() {
        std::string text;
        while (!take("\"")) {
            if (at_ == text_.size() || sees("\n"))
                return wrong("the closing quote is missing");
            ETNA_TRY(const char32_t letter, character());
            append_utf8(text, letter);
        }
        return text;
    }

    Result<CodePoints> bracket() {
        const bool is_negated = take("^");
        CodePoints set;
        while (!take("]")) {
            if (at_ == text_.size() || sees("\n"))
                return wrong("`]` is missing");
            ETNA_TRY(const char32_t first, character());
            char32_t last = first;
            if (sees("-") && !sees("-]")) {
                ++at_;
                ETNA_TRY(last, character());
            }
            if (first > last)
                return wrong("the range is out of order");
            set.add(first, last);
        }
        return is_negated ? set.complement() : set;
    }

    Result<char32_t> character() {
        if (take("\\"))
            return escape();
        if (at_ == text_.size())
            return wrong("a character is missing");
        const std::size_t bytes = next_utf8(text_.substr(at_)).bytes;
        const char32_t letter = code_point_of(text_.substr(at_), bytes);
        at_ += bytes;
        return letter;
    }

    Result<char32_t> escape() {
        constexpr std::string_view letters = "nrt\"\\[]-^";
        constexpr std::string_view meanings = "\n\r\t\"\\[]-^";
        const char letter = at_ < text_.size() ? text_[at_] : '\0';
        if (const auto known = letters.find(letter); known != std::string_view::npos) {
            ++at_;
            return static_cast<char32_t>(meanings[known]);
        }
        const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
        if (digits == 0)
            return wrong("the escape is unknown");
        ++at_;
        char32_t value = 0;
        for (std::size_t i = 0; i < digits; ++i, ++at_) {
            const auto digit = std::string_view("0123456789abcdef")
                                   .find(static_cast<char>(at_ < text_.size() ? text_[at_] | 0x20 : 0));
            if (digit == std::string_view::npos)
                return wrong("a hexadecimal digit is missing");
            value = value * 16 + static_cast<char32_t>(digit);
        }
        if (value > code_point_max || (value >= 0xD800 && value <= 0xDFFF))
            return wrong("the escape is no character");
        return value;
    }

    Language* language_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
    Rules rules_;
    std::set<std::string, std::less<>> names_; ///< in the rule that is being read
};

/// Rules that do not come back to themselves through others: only these can be walked by themselves.
std::set<std::string, std::less<>> flat_rules(const Rules& rules) {
    std::set<std::string, std::less<>> flat;
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (const auto& [name, rule] : rules) {
            const bool is_flat = std::all_of(rule.names.begin(), rule.names.end(),
                                             [&](const std::string& other) { return flat.contains(other); });
            has_grown = (is_flat && flat.insert(name).second) || has_grown;
        }
    }
    return flat;
}

} // namespace

Result<Expression> gbnf(Language& language, std::string_view text) {
    Parser parser(language, text);
    ETNA_TRY(const Rules rules, parser.parse());
    for (const auto& [name, rule] : rules) {
        if (!rule.definition)
            return parser.wrong(fmt::format("there is no rule `{}`", name), rule.first_seen);
    }
    const auto root = rules.find(root_name);
    if (root == rules.end())
        return parser.wrong("there is no rule `root`", 0);
    const auto flat = flat_rules(rules);
    for (const auto& [name, rule] : rules) {
        const bool is_unit = name != root_name && flat.contains(name);
        language.define(rule.expression, is_unit ? language.unit(*rule.definition) : *rule.definition);
    }
    return language.seal(root->second.expression);
}

} // namespace etna::grammar
