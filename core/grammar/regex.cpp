#include "core/grammar/regex.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

constexpr std::size_t regex_depth_max = 200;
constexpr uint32_t regex_count_max = 1'000'000'000;

/// Cost of reading a letter, even if it makes no expression; see Language::set_step_budget().
constexpr uint64_t steps_of_letter = 10;

/// The texts of one alternative, and whether it is anchored to the ends of the text.
struct RegexAlternative {
    Expression texts = empty;
    bool is_anchored_at_start = false;
    bool is_anchored_at_end = false;
};
using RegexAlternatives = std::vector<RegexAlternative>;

const CodePoints digit_set = {{'0', '9'}};
const CodePoints word_set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodePoints line_end_set = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
const CodePoints space_set = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
                              {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                              {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

std::optional<CodePoints> class_of(char32_t letter) {
    switch (letter) {
    case 'd':
        return digit_set;
    case 'D':
        return digit_set.complement();
    case 'w':
        return word_set;
    case 'W':
        return word_set.complement();
    case 's':
        return space_set;
    case 'S':
        return space_set.complement();
    default:
        return std::nullopt;
    }
}

std::optional<char32_t> control_of(char32_t letter) {
    constexpr std::u32string_view letters = U"tnvfr0";
    constexpr std::u32string_view controls = {U"\t\n\v\f\r\0", letters.size()};
    const std::size_t index = letters.find(letter);
    return index == letters.npos ? std::nullopt : std::optional(controls[index]);
}

class RegexParser {
public:
    RegexParser(Language& language, std::string_view pattern, const Alphabet& alphabet)
        : language_(&language), pattern_(pattern), alphabet_(&alphabet) {}

    Result<RegexAlternatives> parse() {
        language_->charge_steps(pattern_.size() * steps_of_letter);
        ETNA_CHECK(language_->check());
        ETNA_CHECK(decode());
        ETNA_TRY(auto all, disjunction());
        if (!is_at_end())
            return wrong("a ) without its (");
        return all;
    }

private:
    Status decode() {
        for (std::size_t at = 0; at < pattern_.size();) {
            const Utf8Step step = next_utf8(pattern_.substr(at));
            if (step.kind != Utf8Kind::valid)
                return invalid_argument("a regular expression is not UTF-8");
            letters_.push_back(code_point_of(pattern_.substr(at), step.bytes));
            at += step.bytes;
        }
        return {};
    }

    [[nodiscard]] bool is_at_end() const { return at_ == letters_.size(); }
    [[nodiscard]] bool sees(char32_t letter) const { return !is_at_end() && letters_[at_] == letter; }
    [[nodiscard]] bool sees_escape(char32_t letter) const {
        return sees('\\') && at_ + 1 < letters_.size() && letters_[at_ + 1] == letter;
    }
    bool take(char32_t letter) {
        const bool is_there = sees(letter);
        at_ += is_there ? 1 : 0;
        return is_there;
    }

    [[nodiscard]] Error error(ErrorKind kind, std::string_view what, std::string_view hint) const {
        return {kind,
                fmt::format("the regular expression `{}` has {} at character {}", pattern_, what, at_ + 1),
                std::string(hint)};
    }
    [[nodiscard]] Error wrong(std::string_view what) const {
        return error(ErrorKind::invalid_argument, what, "use the syntax of ECMAScript");
    }
    [[nodiscard]] Error unsupported(std::string_view what) const {
        return error(ErrorKind::unsupported, what, "rewrite it without");
    }

    Result<RegexAlternatives> disjunction() {
        if (depth_ == regex_depth_max)
            return unsupported("groups nested too deep");
        ++depth_;
        RegexAlternatives all;
        do {
            ETNA_TRY(const auto some, sequence());
            all.insert(all.end(), some.begin(), some.end());
            ETNA_CHECK(language_->check());
        } while (take('|'));
        --depth_;
        return merged(all);
    }

    /// Joins items from the last to the first, as sequences are stored.
    Result<RegexAlternatives> sequence() {
        struct Item {
            RegexAlternatives texts;
            std::size_t end;
        };
        std::vector<Item> items;
        while (!is_at_end() && !sees('|') && !sees(')')) {
            ETNA_TRY(auto item, term(items.empty()));
            items.push_back({.texts = std::move(item), .end = at_});
            ETNA_CHECK(language_->check());
        }
        RegexAlternatives all = {{}};
        const std::size_t end = at_;
        for (; !items.empty(); items.pop_back()) {
            at_ = items.back().end; // for errors
            ETNA_TRY(all, before(items.back().texts, all));
            ETNA_CHECK(language_->check());
        }
        at_ = end;
        return all;
    }

    /// Text anchored to the start must come first, and nothing may follow text anchored to the end.
    Result<RegexAlternatives> before(const RegexAlternatives& item, const RegexAlternatives& rest) {
        RegexAlternatives longer;
        for (const RegexAlternative& one : item) {
            for (const RegexAlternative& after : rest) {
                if ((after.is_anchored_at_start && one.texts != empty) ||
                    (one.is_anchored_at_end && after.texts != empty))
                    return unsupported("an anchor to the text's start or end in the middle");
                longer.push_back(
                    {.texts = language_->sequence(one.texts, after.texts),
                     .is_anchored_at_start = one.is_anchored_at_start || after.is_anchored_at_start,
                     .is_anchored_at_end = one.is_anchored_at_end || after.is_anchored_at_end});
            }
        }
        return merged(longer);
    }

    /// Merges alternatives with the same anchors, so that their number does not multiply.
    RegexAlternatives merged(const RegexAlternatives& all) {
        RegexAlternatives result;
        std::vector<std::vector<Expression>> texts; // parallel to `result`
        for (const RegexAlternative& one : all) {
            const auto same = std::find_if(result.begin(), result.end(), [&](const RegexAlternative& other) {
                return other.is_anchored_at_start == one.is_anchored_at_start &&
                       other.is_anchored_at_end == one.is_anchored_at_end &&
                       (other.texts == empty) == (one.texts == empty);
            });
            if (same == result.end()) {
                result.push_back(one);
                texts.push_back({one.texts});
            } else {
                texts[static_cast<std::size_t>(same - result.begin())].push_back(one.texts);
            }
        }
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i].texts = language_->either(texts[i]);
        return result;
    }

    Result<RegexAlternatives> term(bool is_first) {
        const bool is_start = sees('^') || sees_escape('A');
        if (is_start && !is_first)
            return unsupported(sees('^') ? "^ in the middle" : "\\A in the middle");
        if (is_start || sees('$') || sees_escape('Z') || sees_escape('z')) { // \A, \Z, \z: as in Python
            take('\\');
            ++at_;
            return RegexAlternatives{{.is_anchored_at_start = is_start, .is_anchored_at_end = !is_start}};
        }
        ETNA_TRY(auto item, atom());
        ETNA_TRY(const auto counts, quantifier());
        if (!counts)
            return item;
        Expression texts = nothing;
        for (const RegexAlternative& one : item) {
            if (one.is_anchored_at_start || one.is_anchored_at_end)
                return unsupported("a repeated anchor to the text's start or end");
            texts = language_->either(texts, one.texts);
        }
        return RegexAlternatives{{.texts = language_->repeat(texts, counts->first, counts->second)}};
    }

    Result<RegexAlternatives> atom() {
        if (sees('*') || sees('+') || sees('?') || sees('{'))
            return wrong("nothing to repeat");
        if (sees(']') || sees('}'))
            return wrong("an unmatched bracket");
        if (take('('))
            return group();
        if (take('.'))
            return one_of(line_end_set.complement());
        if (take('[')) {
            ETNA_TRY(const CodePoints set, bracket());
            return one_of(set);
        }
        if (take('\\')) {
            ETNA_TRY(const CodePoints set, escape());
            return one_of(set);
        }
        CodePoints set;
        set.add(letters_[at_++]);
        return one_of(set);
    }

    /// Encodes a repeated set once.
    RegexAlternatives one_of(const CodePoints& set) {
        const auto [entry, is_new] = sets_.try_emplace(set, nothing);
        if (is_new)
            entry->second = (*alphabet_)(set);
        return {{.texts = entry->second}};
    }

    Result<RegexAlternatives> group() {
        if (take('?')) {
            if (sees('=') || sees('!'))
                return unsupported("a lookahead");
            if (take('<')) {
                if (sees('=') || sees('!'))
                    return unsupported("a lookbehind");
                while (!is_at_end() && !sees('>'))
                    ++at_;
                if (!take('>'))
                    return wrong("a group's name without its end");
            } else if (!take(':')) {
                return wrong("an unknown kind of group");
            }
        }
        ETNA_TRY(auto all, disjunction());
        if (!take(')'))
            return wrong("an unmatched (");
        return all;
    }

    /// The counts of a quantifier; empty if the next character begins none.
    Result<std::optional<std::pair<uint32_t, uint32_t>>> quantifier() {
        std::optional<std::pair<uint32_t, uint32_t>> counts;
        if (take('*')) {
            counts = {0, unbounded};
        } else if (take('+')) {
            counts = {1, unbounded};
        } else if (take('?')) {
            counts = {0, 1};
        } else if (take('{')) {
            ETNA_TRY(const uint32_t min, count());
            counts = {min, min};
            if (take(',')) {
                counts->second = unbounded;
                if (!sees('}')) {
                    ETNA_TRY(counts->second, count());
                }
            }
            if (!take('}'))
                return wrong("a count without its }");
            if (counts->first > counts->second)
                return wrong("counts out of order");
        }
        if (counts)
            take('?'); // lazy
        return counts;
    }

    Result<uint32_t> count() {
        uint64_t value = 0;
        const std::size_t begin = at_;
        for (; !is_at_end() && digit_set.contains(letters_[at_]); ++at_) {
            value = value * 10 + (letters_[at_] - '0');
            if (value > regex_count_max)
                return unsupported("a count that is too large");
        }
        if (at_ == begin)
            return wrong("no count between { and }");
        return static_cast<uint32_t>(value);
    }

    Result<CodePoints> bracket() {
        const bool is_negated = take('^');
        std::vector<CodePoints::Range> ranges;
        while (!take(']')) {
            if (is_at_end())
                return wrong("a [ without its ]");
            ETNA_TRY(const CodePoints first, bracket_item());
            const bool is_range = sees('-') && at_ + 1 < letters_.size() && letters_[at_ + 1] != ']';
            if (!is_range) {
                ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
                continue;
            }
            ++at_;
            ETNA_TRY(const CodePoints last, bracket_item());
            if (!is_single(first) || !is_single(last))
                return wrong("a range between sets");
            if (first.ranges()[0].first > last.ranges()[0].first)
                return wrong("a range out of order");
            ranges.push_back({first.ranges()[0].first, last.ranges()[0].first});
        }
        const CodePoints set(std::move(ranges));
        return is_negated ? set.complement() : set;
    }

    static bool is_single(const CodePoints& set) {
        return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    }

    Result<CodePoints> bracket_item() {
        if (is_at_end())
            return wrong("a [ without its ]");
        if (sees_escape('b')) {
            at_ += 2;
            return CodePoints{{'\b', '\b'}};
        }
        if (take('\\'))
            return escape();
        CodePoints set;
        set.add(letters_[at_++]);
        return set;
    }

    static bool is_ascii_letter(char32_t letter) {
        const char32_t lower = letter | 0x20;
        return letter < 0x80 && lower >= 'a' && lower <= 'z';
    }

    /// Letters that have no meaning after a backslash in ECMAScript. Other dialects give them one, so they
    /// are not literals; characters other than letters are.
    static bool is_unknown_escape(char32_t letter) {
        constexpr std::u32string_view known = U"bBcdDfknpPrsStuvwWx";
        return is_ascii_letter(letter) && known.find(letter) == std::u32string_view::npos;
    }

    [[nodiscard]] Error unknown_escape(char32_t letter) const {
        const char name = static_cast<char>(letter);
        const bool is_anchor = name == 'A' || name == 'Z' || name == 'z';
        return error(ErrorKind::invalid_argument, fmt::format("the unknown escape \\{}", name),
                     is_anchor
                         ? "move it out of the brackets; it is an anchor"
                         : fmt::format("write {} for the letter, or use an escape of ECMAScript", name));
    }

    /// Reads an escape, after the backslash.
    Result<CodePoints> escape() {
        if (is_at_end())
            return wrong("a backslash");
        const char32_t letter = letters_[at_];
        if (is_unknown_escape(letter))
            return unknown_escape(letter);
        if (letter == 'p' || letter == 'P')
            return unsupported("a Unicode property");
        if (letter == 'b' || letter == 'B')
            return unsupported("a word boundary");
        if ((letter >= '1' && letter <= '9') || letter == 'k')
            return unsupported("a back reference");
        ++at_;
        if (auto known = class_of(letter))
            return std::move(*known);
        CodePoints set;
        if (const auto control = control_of(letter)) {
            if (letter == '0' && !is_at_end() && digit_set.contains(letters_[at_])) {
                return error(ErrorKind::invalid_argument, "a digit after \\0",
                             "write the character as \\x0A");
            }
            set.add(*control);
        } else if (letter == 'c') {
            if (is_at_end() || !is_ascii_letter(letters_[at_]))
                return wrong("no letter after \\c");
            set.add(letters_[at_++] % 32);
        } else if (letter == 'x') {
            ETNA_TRY(const char32_t value, hex(2));
            set.add(value);
        } else if (letter == 'u') {
            ETNA_TRY(const char32_t value, unicode());
            set.add(value);
        } else {
            set.add(letter);
        }
        return set;
    }

    Result<char32_t> unicode() {
        if (take('{')) {
            char32_t value = 0;
            const std::size_t begin = at_;
            for (; !is_at_end() && !sees('}'); ++at_) {
                ETNA_TRY(const char32_t digit, hex_digit());
                value = value * 16 + digit;
                if (value > code_point_max)
                    return wrong("a code point that is too large");
            }
            if (at_ == begin || !take('}'))
                return wrong("\\u{ without its end");
            return value;
        }
        ETNA_TRY(const char32_t high, hex(4));
        const bool is_pair = high >= 0xD800 && high < 0xDC00 && at_ + 1 < letters_.size() &&
                             letters_[at_] == '\\' && letters_[at_ + 1] == 'u';
        if (!is_pair)
            return high;
        at_ += 2;
        ETNA_TRY(const char32_t low, hex(4));
        if (low < 0xDC00 || low > 0xDFFF)
            return wrong("half a surrogate pair");
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }

    Result<char32_t> hex(int count) {
        char32_t value = 0;
        for (; count > 0; --count, ++at_) {
            ETNA_TRY(const char32_t digit, hex_digit());
            value = value * 16 + digit;
        }
        return value;
    }

    Result<char32_t> hex_digit() {
        const char32_t letter = is_at_end() ? U' ' : letters_[at_];
        if (digit_set.contains(letter))
            return letter - '0';
        const char32_t lower = letter | 0x20;
        if (lower >= 'a' && lower <= 'f' && letter < 0x80)
            return lower - 'a' + 10;
        return wrong("a character that is not a hexadecimal digit");
    }

    Language* language_;
    std::string_view pattern_;
    const Alphabet* alphabet_;
    std::vector<char32_t> letters_;
    std::map<CodePoints, Expression> sets_; ///< encoded sets
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

} // namespace

Result<Expression> regex(Language& language, std::string_view pattern, const Alphabet& alphabet,
                         MatchMode mode) {
    ETNA_TRY(const RegexAlternatives all, RegexParser(language, pattern, alphabet).parse());
    const Expression anything = language.repeat(alphabet(CodePoints::all()), 0);
    std::vector<Expression> texts;
    for (const RegexAlternative& one : all) {
        const bool is_open = mode == MatchMode::search;
        const Expression before = is_open && !one.is_anchored_at_start ? anything : empty;
        const Expression after = is_open && !one.is_anchored_at_end ? anything : empty;
        texts.push_back(language.sequence(std::array{before, one.texts, after}));
    }
    return language.either(texts);
}

} // namespace etna::grammar
