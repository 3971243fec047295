#include "core/grammar/lark.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"
#include "core/grammar/grammar_text.hpp"
#include "core/grammar/regex.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

struct Terminal {
    std::string_view name;
    std::string_view pattern;
};

constexpr std::array<Terminal, 27> terminals = {
    {{"DIGIT", "[0-9]"},
     {"HEXDIGIT", "[0-9a-fA-F]"},
     {"INT", "[0-9]+"},
     {"SIGNED_INT", "[+-]?[0-9]+"},
     {"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
     {"_EXP", "[eE][+-]?[0-9]+"},
     {"FLOAT", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
     {"SIGNED_FLOAT", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))"},
     {"NUMBER", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+)"},
     {"SIGNED_NUMBER", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+))"},
     {"ESCAPED_STRING", R"("([^"\\\n]|\\[^\n])*")"},
     {"LCASE_LETTER", "[a-z]"},
     {"UCASE_LETTER", "[A-Z]"},
     {"LETTER", "[a-zA-Z]"},
     {"WORD", "[a-zA-Z]+"},
     {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
     {"WS_INLINE", R"([ \t]+)"},
     {"WS", R"([ \t\f\r\n]+)"},
     {"CR", R"(\r)"},
     {"LF", R"(\n)"},
     {"NEWLINE", R"((\r?\n)+)"},
     {"SH_COMMENT", R"(#[^\n]*)"},
     {"CPP_COMMENT", R"(//[^\n]*)"},
     {"C_COMMENT", R"(/\*([^*]|\*+[^*/])*\*+/)"},
     {"SQL_COMMENT", R"(--[^\n]*)"},
     {"_STRING_INNER", R"([^\n]*)"},
     {"_STRING_ESC_INNER", R"(([^"\\\n]|\\[^\n])*)"}}};

/// A terminal of Lark's grammars/common.lark as a regular expression; empty for an unknown name.
std::optional<std::string_view> lark_common_terminal(std::string_view name) {
    const auto found = std::find_if(terminals.begin(), terminals.end(),
                                    [&](const Terminal& one) { return one.name == name; });
    return found == terminals.end() ? std::nullopt : std::optional(found->pattern);
}

bool is_lark_name_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_';
}

bool is_terminal(std::string_view name) {
    const std::size_t first = std::min(name.find_first_not_of('_'), name.size() - 1);
    return name[first] >= 'A' && name[first] <= 'Z';
}

/// The set plus the other case of its ASCII letters.
CodePoints any_case(const CodePoints& set) {
    CodePoints result = set;
    for (char32_t letter = 'a'; letter <= 'z'; ++letter) {
        const char32_t large = letter - 'a' + 'A';
        if (set.contains(letter))
            result.add(large);
        if (set.contains(large))
            result.add(letter);
    }
    return result;
}

class LarkParser {
public:
    LarkParser(Language& language, std::string_view text, const Alphabet& alphabet)
        : language_(&language), alphabet_(&alphabet),
          source_(text, R"(a rule looks like this: start: "yes" | "no" /[0-9]+/)"), rules_(language),
          ignored_(language.rule("(ignored)")) {}

    /// The result is not sealed.
    Result<Expression> parse() {
        ETNA_CHECK(source_.check());
        for (skip_blank(Lines::may_end); !source_.is_at_end(); skip_blank(Lines::may_end))
            ETNA_CHECK(source_.sees("%") ? directive() : definition());
        language_->define(ignored_, language_->repeat(language_->either(ignorable_), 0));
        ETNA_TRY(const Expression start, rules_.define_all("start", source_));
        return language_->sequence(ignored_, start);
    }

private:
    enum class Lines : uint8_t { stop, may_end };

    [[nodiscard]] Error wrong(std::string_view what) const { return source_.wrong(what); }
    [[nodiscard]] Error unsupported(std::string_view what) const {
        Error error = source_.wrong(what);
        error.kind = ErrorKind::unsupported;
        return error;
    }

    void skip_blank(Lines lines) {
        while (!source_.is_at_end()) {
            const char byte = source_.next();
            if (source_.sees("//") || byte == '#') {
                source_.skip_line();
            } else if (byte == ' ' || byte == '\t' || byte == '\r' ||
                       (byte == '\n' && lines == Lines::may_end)) {
                source_.skip(1);
            } else {
                return;
            }
        }
    }

    /// Takes a `|`, which may begin a new line.
    bool take_bar(Lines lines) {
        const std::size_t before = source_.at();
        skip_blank(Lines::may_end);
        if (source_.take("|"))
            return true;
        if (lines == Lines::stop)
            source_.go_to(before);
        return false;
    }

    Result<std::string_view> name() {
        const std::string_view found = source_.run(is_lark_name_letter);
        if (found.empty())
            return wrong("a name is missing");
        return found;
    }

    Status end_of_line() {
        skip_blank(Lines::stop);
        return source_.is_at_end() || source_.sees("\n") ? Status()
                                                         : Status(wrong("this text is not part of a rule"));
    }

    Status definition() {
        while (source_.take("?") || source_.take("!")) { // these affect the parse tree, not the text
        }
        const std::size_t begin = source_.at();
        ETNA_TRY(const std::string_view own, name());
        if (source_.sees("{"))
            return unsupported("templates are not supported");
        if (source_.take(".")) {
            ETNA_TRY(const auto priority, source_.count());
            if (!priority)
                return wrong("a priority is missing");
        }
        skip_blank(Lines::stop);
        if (!source_.take(":"))
            return wrong("`:` is missing");
        in_terminal_ = is_terminal(own);
        rules_.begin_definition();
        ETNA_TRY(const Expression expression, alternatives(Lines::stop));
        ETNA_CHECK(rules_.end_definition(own, expression, source_, begin));
        return end_of_line();
    }

    Status directive() {
        if (source_.take("%ignore")) {
            skip_blank(Lines::stop);
            in_terminal_ = true;
            rules_.begin_definition();
            ETNA_TRY(ignorable_.emplace_back(), alternatives(Lines::stop));
            return end_of_line();
        }
        if (!source_.take("%import"))
            return unsupported("only %import and %ignore are supported");
        skip_blank(Lines::stop);
        if (!source_.take("common"))
            return unsupported("only `common` can be imported");
        if (source_.take(".")) {
            ETNA_CHECK(import());
            return end_of_line();
        }
        skip_blank(Lines::stop);
        if (!source_.take("("))
            return wrong("`.` or `(` is missing");
        do {
            skip_blank(Lines::may_end);
            ETNA_CHECK(import());
            skip_blank(Lines::may_end);
        } while (source_.take(","));
        if (!source_.take(")"))
            return wrong("`)` is missing");
        return end_of_line();
    }

    Status import() {
        const std::size_t begin = source_.at();
        ETNA_TRY(const std::string_view imported, name());
        const auto pattern = lark_common_terminal(imported);
        if (!pattern)
            return source_.wrong(fmt::format("`common` has no `{}`", imported), begin);
        std::string_view own = imported;
        skip_blank(Lines::stop);
        if (source_.take("->")) {
            skip_blank(Lines::stop);
            ETNA_TRY(own, name());
        }
        ETNA_TRY(const Expression expression, regex(*language_, *pattern, *alphabet_, MatchMode::full));
        rules_.begin_definition();
        return rules_.end_definition(own, expression, source_, begin);
    }

    Result<Expression> alternatives(Lines lines) {
        if (depth_ == group_depth_max)
            return wrong("groups are nested too deep");
        ++depth_;
        std::vector<Expression> all;
        do {
            ETNA_TRY(all.emplace_back(), sequence(lines));
        } while (take_bar(lines));
        --depth_;
        return language_->either(all);
    }

    Result<Expression> sequence(Lines lines) {
        std::vector<Expression> items;
        while (true) {
            skip_blank(lines);
            ETNA_TRY(const auto item, one());
            if (!item)
                break;
            ETNA_TRY(items.emplace_back(), repeated(*item));
            ETNA_CHECK(language_->check());
        }
        if (source_.take("->")) { // the name of a branch of the parse tree
            skip_blank(Lines::stop);
            ETNA_CHECK(Status(name().has_value() ? Status() : wrong("a name is missing")));
        }
        return language_->sequence(items);
    }

    /// Empty if no item begins here.
    Result<std::optional<Expression>> one() {
        using Item = std::optional<Expression>;
        if (source_.take("(") || source_.sees("[")) {
            const bool is_optional = source_.take("[");
            ETNA_TRY(const Expression inner, alternatives(Lines::may_end));
            if (!source_.take(is_optional ? "]" : ")"))
                return wrong(is_optional ? "`]` is missing" : "`)` is missing");
            return Item(is_optional ? language_->optional(inner) : inner);
        }
        if (source_.sees("\"")) {
            ETNA_TRY(const Expression text, string());
            return Item(terminal(text));
        }
        if (source_.take("/")) {
            ETNA_TRY(const Expression pattern, pattern_between_slashes());
            return Item(terminal(pattern));
        }
        if (source_.is_at_end() || !is_lark_name_letter(source_.next()))
            return Item();
        const std::size_t begin = source_.at();
        ETNA_TRY(const std::string_view named, name());
        if (source_.sees("{"))
            return unsupported("templates are not supported");
        const Expression expression = rules_.use(named, begin);
        if (in_terminal_ && !is_terminal(named))
            return source_.wrong("a terminal cannot contain a rule", begin);
        return Item(is_terminal(named) ? terminal(expression) : expression);
    }

    /// A terminal within a rule, followed by ignored text.
    Expression terminal(Expression expression) {
        return in_terminal_ ? expression : language_->sequence(expression, ignored_);
    }

    Result<Expression> repeated(Expression item) {
        if (source_.take("*"))
            return language_->repeat(item, 0);
        if (source_.take("+"))
            return language_->repeat(item, 1);
        if (source_.take("?"))
            return language_->optional(item);
        skip_blank(Lines::stop);
        if (!source_.take("~"))
            return item;
        skip_blank(Lines::stop);
        ETNA_TRY(const auto min, source_.count());
        auto max = min;
        if (source_.take("..")) {
            ETNA_TRY(max, source_.count());
        }
        if (!min || !max)
            return wrong("a count is missing");
        if (*min > *max)
            return wrong("the counts are out of order");
        return language_->repeat(item, *min, *max);
    }

    Result<std::u32string> quoted() {
        std::u32string text;
        source_.skip(1);
        while (!source_.take("\"")) {
            if (source_.is_at_end() || source_.sees("\n"))
                return wrong("the closing quote is missing");
            ETNA_TRY(const char32_t letter, source_.character("nrtf\"'\\/", "\n\r\t\f\"'\\/"));
            text.push_back(letter);
        }
        return text;
    }

    /// "text", "text"i or "a".."z".
    Result<Expression> string() {
        ETNA_TRY(const std::u32string text, quoted());
        if (source_.sees("..\"")) {
            source_.skip(2);
            ETNA_TRY(const std::u32string last, quoted());
            if (text.size() != 1 || last.size() != 1 || text[0] > last[0])
                return wrong("a range goes from one character to a later one");
            return (*alphabet_)(CodePoints{{text[0], last[0]}});
        }
        const bool is_any_case = source_.take("i");
        std::vector<Expression> letters;
        for (const char32_t letter : text) {
            const CodePoints set{{letter, letter}};
            letters.push_back((*alphabet_)(is_any_case ? any_case(set) : set));
        }
        return language_->sequence(letters);
    }

    Result<Expression> pattern_between_slashes() {
        const std::size_t begin = source_.at();
        std::string pattern;
        for (bool in_brackets = false; in_brackets || !source_.sees("/");) {
            if (source_.is_at_end() || source_.sees("\n"))
                return wrong("the closing `/` is missing");
            if (source_.sees("\\")) {
                pattern.push_back(source_.next());
                source_.skip(1);
            } else if (source_.sees("[") || source_.sees("]")) {
                in_brackets = source_.sees("[");
            }
            if (source_.is_at_end())
                return wrong("the closing `/` is missing");
            pattern.push_back(source_.next());
            source_.skip(1);
        }
        source_.skip(1);
        bool is_any_case = false;
        for (; std::string_view("imslux").find(source_.next()) != std::string_view::npos &&
               !source_.is_at_end();
             source_.skip(1)) {
            if (source_.next() != 'i' && source_.next() != 'u')
                return unsupported("of a regular expression's flags only i and u are supported");
            is_any_case = is_any_case || source_.next() == 'i';
        }
        if (is_any_case &&
            (pattern.find("[^") != std::string::npos || pattern.find("\\W") != std::string::npos))
            return unsupported("the flag i is not supported with a negated set");
        const Alphabet alphabet = [this, is_any_case](const CodePoints& set) {
            return (*alphabet_)(is_any_case ? any_case(set) : set);
        };
        auto found = regex(*language_, pattern, alphabet, MatchMode::full);
        if (!found) {
            Error error = source_.wrong(found.error().message, begin);
            error.kind = found.error().kind;
            return error;
        }
        return found;
    }

    Language* language_;
    const Alphabet* alphabet_;
    GrammarSource source_;
    GrammarRules rules_;
    Expression ignored_;
    std::vector<Expression> ignorable_;
    std::size_t depth_ = 0;
    bool in_terminal_ = false;
};

} // namespace

Result<Expression> lark(Language& language, std::string_view text) {
    const Alphabet plain = [&](const CodePoints& set) { return utf8(language, set); };
    ETNA_TRY(const Expression start, lark_rules(language, text, plain));
    return language.seal(start);
}

Result<Expression> lark_rules(Language& language, std::string_view text, const Alphabet& alphabet) {
    return LarkParser(language, text, alphabet).parse();
}

bool looks_like_lark(std::string_view text) {
    return text.find("::=") == std::string_view::npos;
}

} // namespace etna::grammar
