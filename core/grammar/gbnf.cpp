#include "core/grammar/gbnf.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"
#include "core/grammar/grammar_text.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {
namespace {

constexpr std::size_t group_depth_max = 200;
constexpr std::string_view root_name = "root";

bool is_gbnf_name_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '-' || byte == '_';
}

class GbnfParser {
public:
    GbnfParser(Language& language, std::string_view text)
        : language_(&language), source_(text, R"(a rule looks like this: root ::= "yes" | "no" [0-9]+)"),
          rules_(language) {}

    Result<Expression> parse() {
        ETNA_CHECK(source_.check());
        skip_space(Lines::may_end);
        while (!source_.is_at_end())
            ETNA_CHECK(rule());
        ETNA_TRY(const Expression root, rules_.define_all(root_name, source_));
        return language_->seal(root);
    }

private:
    /// Whether white space may span the end of a line, after which the next rule may begin.
    enum class Lines : uint8_t { stop, may_end };

    [[nodiscard]] Error wrong(std::string_view what) const { return source_.wrong(what); }
    [[nodiscard]] bool sees(std::string_view part) const { return source_.sees(part); }
    bool take(std::string_view part) { return source_.take(part); }

    void skip_space(Lines lines) {
        while (!source_.is_at_end()) {
            const char byte = source_.next();
            if (byte == '#') {
                source_.skip_line();
            } else if (byte == ' ' || byte == '\t' ||
                       (lines == Lines::may_end && (byte == '\n' || byte == '\r'))) {
                source_.skip(1);
            } else {
                return;
            }
        }
    }

    std::string_view name() { return source_.run(is_gbnf_name_letter); }

    Status rule() {
        const std::size_t begin = source_.at();
        const std::string_view own_name = name();
        if (own_name.empty())
            return wrong("a rule's name is missing");
        skip_space(Lines::stop);
        if (!take("::="))
            return wrong("`::=` is missing");
        skip_space(Lines::may_end);
        rules_.begin_definition();
        ETNA_TRY(const Expression definition, alternatives(Lines::stop));
        ETNA_CHECK(rules_.end_definition(own_name, definition, source_, begin));
        if (!source_.is_at_end() && !sees("\n") && !sees("\r"))
            return wrong("this text is not part of a rule");
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
            const std::size_t before = source_.at();
            ETNA_TRY(const auto item, one());
            if (!item) {
                source_.go_to(before);
                break;
            }
            ETNA_TRY(items.emplace_back(), repeated(*item));
            ETNA_CHECK(language_->check());
            skip_space(lines);
        }
        return language_->sequence(items);
    }

    /// Empty if no item begins here.
    Result<std::optional<Expression>> one() {
        using Item = std::optional<Expression>;
        const std::size_t begin = source_.at();
        if (take("\"")) {
            ETNA_TRY(const std::string text, quoted());
            return Item(language_->literal(text));
        }
        if (take("[")) {
            ETNA_TRY(const CodePoints set, bracket());
            return Item(utf8(*language_, set));
        }
        if (take("."))
            return Item(any_character());
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
        return Item(rules_.use(named, begin));
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
        ETNA_TRY(const auto min, count());
        auto max = min;
        skip_space(Lines::stop);
        if (take(",")) {
            ETNA_TRY(max, count());
        } else if (!min) {
            return wrong("a count is missing");
        }
        skip_space(Lines::stop);
        if (!take("}"))
            return wrong("`}` is missing");
        if (max && min.value_or(0) > *max)
            return wrong("the counts are out of order");
        return language_->repeat(item, min.value_or(0), max.value_or(unbounded));
    }

    Result<std::optional<uint32_t>> count() {
        skip_space(Lines::stop);
        return source_.count();
    }

    Result<std::string> quoted() {
        std::string text;
        while (!take("\"")) {
            if (source_.is_at_end() || sees("\n"))
                return wrong("the closing quote is missing");
            ETNA_TRY(const char32_t letter, character());
            append_utf8(text, letter);
        }
        return text;
    }

    Result<CodePoints> bracket() {
        const bool is_negated = take("^");
        std::vector<CodePoints::Range> ranges;
        while (!take("]")) {
            if (source_.is_at_end() || sees("\n"))
                return wrong("`]` is missing");
            ETNA_TRY(const char32_t first, character());
            char32_t last = first;
            if (sees("-") && !sees("-]")) {
                source_.skip(1);
                ETNA_TRY(last, character());
            }
            if (first > last)
                return wrong("the range is out of order");
            ranges.push_back({first, last});
        }
        const CodePoints set(std::move(ranges));
        return is_negated ? set.complement() : set;
    }

    Expression any_character() {
        if (!any_character_)
            any_character_ = utf8(*language_, CodePoints::all());
        return *any_character_;
    }

    Result<char32_t> character() { return source_.character("nrt\"\\[]-^", "\n\r\t\"\\[]-^"); }

    Language* language_;
    GrammarSource source_;
    std::size_t depth_ = 0;
    std::optional<Expression> any_character_;
    GrammarRules rules_;
};

} // namespace

Result<Expression> gbnf(Language& language, std::string_view text) {
    return GbnfParser(language, text).parse();
}

} // namespace etna::grammar
