#include "core/chat/control_names.hpp"

#include "core/base/utf8.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::chat {
namespace {

std::size_t character_end(std::string_view text, std::size_t begin) {
    return begin + next_utf8(text.substr(begin)).bytes;
}

/// Returns the text without the white space at its ends, which templates trim.
std::string_view trimmed(std::string_view text) {
    return jinja::stripped(text, {}, jinja::Side::both);
}

/// A string of the template's source.
struct Literal {
    std::string_view text;
    bool is_quoted = false; ///< in an expression
    bool is_cut = false;    ///< an argument of split() or replace()
};

bool is_cut_argument(std::string_view before) {
    before = trimmed(before);
    return before.ends_with("split(") || before.ends_with("replace(");
}

/// Reads a block of the template, `{{ ... }}`, `{% ... %}` or `{# ... #}`, at the start of `source`. Appends
/// its quoted strings, which may hold the end of a block. Returns the block's length.
std::size_t read_block(std::string_view source, std::vector<Literal>& literals) {
    const char kind = source[1] == '{' ? '}' : source[1];
    std::size_t i = 2;
    while (i + 1 < source.size() && (source[i] != kind || source[i + 1] != '}')) {
        const char quote = source[i];
        const std::size_t begin = ++i;
        if (kind == '#' || (quote != '\'' && quote != '"'))
            continue;
        while (i < source.size() && source[i] != quote)
            i += source[i] == '\\' ? 2 : 1;
        literals.push_back({.text = source.substr(begin, i - begin),
                            .is_quoted = true,
                            .is_cut = is_cut_argument(source.substr(0, begin - 1))});
        ++i;
    }
    return std::min(i + 2, source.size());
}

std::vector<Literal> literals_of(std::string_view source) {
    std::vector<Literal> literals;
    while (!source.empty()) {
        const std::size_t open =
            std::min({source.find("{{"), source.find("{%"), source.find("{#"), source.size()});
        if (open > 0)
            literals.push_back({.text = source.substr(0, open)});
        source.remove_prefix(open);
        if (!source.empty())
            source.remove_prefix(read_block(source, literals));
    }
    return literals;
}

} // namespace

std::string folded(std::string_view text) {
    std::string small(text);
    for (char& letter : small) {
        if (letter >= 'A' && letter <= 'Z')
            letter = static_cast<char>(letter - 'A' + 'a');
    }
    return small;
}

bool is_identifier(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
        return letter == '_' || letter == '-' || (letter >= '0' && letter <= '9') ||
               (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    });
}

ControlNames::ControlNames(std::span<const std::string> names, std::string_view template_text) {
    for (const std::string& name : names) {
        std::string small = folded(name);
        names_.add(name, 0);
        folded_.add(small, 0);
        if (name.empty())
            continue;
        begins_[static_cast<uint8_t>(name[0])] = true;
        longest_ = std::max(longest_, std::min(name.size(), SpecialMatcher::longest_name_bytes));
        std::reverse(small.begin(), small.end());
        reversed_.add(small, 0);
    }
    names_.finish();
    folded_.finish();
    reversed_.finish();
    if (longest_ > 0)
        add_template(template_text, names);
}

void ControlNames::add_template(std::string_view text, std::span<const std::string> names) {
    std::set<std::string, std::less<>> begins;
    std::set<std::string, std::less<>> ends;
    for (const Literal& literal : literals_of(text)) {
        const bool is_plain = literal.text.size() > 1 && literal.text.find('\\') == std::string_view::npos;
        const std::string small = folded(literal.text);
        const bool is_tag = literal.is_quoted && is_plain && begins_[static_cast<uint8_t>(literal.text[0])] &&
                            !folded_.is_proper_prefix(small);
        if (is_tag)
            literals_.add(literal.text, 0);
        if (is_tag || (literal.is_cut && is_plain)) // a tag may be cut out by way of a variable
            cuts_.add(literal.text, 0);
        for (const std::string_view side : {std::string_view(small), trimmed(small)}) {
            for (std::size_t bytes = 1; bytes <= std::min(side.size(), longest_); ++bytes) {
                // Only parts of names, so that a template of long texts takes little memory.
                if (ends_name(side.substr(0, bytes)))
                    begins.emplace(side.substr(0, bytes));
                if (folded_.is_proper_prefix(side.substr(side.size() - bytes)))
                    ends.emplace(side.substr(side.size() - bytes));
            }
        }
    }
    literals_.finish();
    cuts_.finish();
    for (const std::string& name : names) {
        if (name.size() <= SpecialMatcher::longest_name_bytes) // longer ones are never control tokens
            add_enclosed(folded(name), ends, begins);
    }
    // The template looks these up or compares with them: `message.tool_calls` is not "[TOOL_CALLS]".
    const std::string small = folded(text);
    std::erase_if(enclosed_, [&](const std::string& part) {
        return is_identifier(part) && small.find(part) != std::string::npos;
    });
}

/// Adds the parts of the name that the template can enclose, for texts that it ends with and begins with.
void ControlNames::add_enclosed(std::string_view name, const std::set<std::string, std::less<>>& ends,
                                const std::set<std::string, std::less<>>& begins) {
    for (std::size_t begin = 1; begin < name.size(); ++begin) {
        if (!ends.contains(name.substr(0, begin)))
            continue;
        for (std::size_t end = begin + 1; end < name.size(); ++end) {
            if (begins.contains(name.substr(end)))
                enclosed_.emplace(name.substr(begin, end - begin));
        }
    }
}

/// Returns whether a name ends with the text and is longer.
bool ControlNames::ends_name(std::string_view folded) const {
    std::string backwards(folded);
    std::reverse(backwards.begin(), backwards.end());
    return reversed_.is_proper_prefix(backwards);
}

/// Returns whether the text begins with the end of a name.
bool ControlNames::continues_name(std::string_view folded) const {
    std::string backwards(folded.substr(0, longest_));
    std::reverse(backwards.begin(), backwards.end());
    for (std::size_t bytes = 1; bytes <= backwards.size(); ++bytes) {
        if (reversed_.is_proper_prefix(std::string_view(backwards).substr(backwards.size() - bytes)))
            return true;
    }
    return false;
}

/// Breaks the parts of names at the ends of the text, and at its ends after trimming.
void ControlNames::break_ends(std::string_view folded, std::vector<NameBreak>& found) const {
    for (const std::string_view part : {folded, trimmed(folded)}) {
        const auto offset = static_cast<std::size_t>(part.data() - folded.data());
        for (std::size_t bytes = 1; bytes <= std::min(part.size(), longest_); ++bytes) {
            const std::size_t begin = part.size() - bytes;
            if (folded_.is_proper_prefix(part.substr(begin)))
                found.push_back({character_end(folded, offset + begin), Spelling::end});
        }
        if (continues_name(part) || enclosed_.contains(part))
            found.push_back({offset, Spelling::end});
    }
}

/// If the template may cut something out of the text, breaks all that could then begin a name, except in
/// strings that the template may look for.
void ControlNames::break_after_cuts(std::string_view text, std::vector<NameBreak>& found) const {
    if (!cuts_.find(text, 0))
        return;
    auto literal = literals_.find(text, 0);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (literal && i >= literal->end)
            literal = literals_.find(text, i);
        if (begins_[static_cast<uint8_t>(text[i])] && (!literal || i < literal->begin))
            found.push_back({character_end(text, i), Spelling::removal});
    }
}

std::vector<NameBreak> ControlNames::breaks(std::string_view text) const {
    std::vector<NameBreak> found;
    if (longest_ == 0 || text.empty())
        return found;
    const std::string small = folded(text);
    for (auto name = names_.find(text, 0); name; name = names_.find(text, name->begin + 1))
        found.push_back({character_end(text, name->begin), Spelling::name});
    for (auto name = folded_.find(small, 0); name; name = folded_.find(small, name->begin + 1))
        found.push_back({character_end(text, name->begin), Spelling::end});
    break_ends(small, found);
    break_after_cuts(text, found);
    const auto order = [](const NameBreak& one) { return std::pair(one.position, one.spelling); };
    std::sort(found.begin(), found.end(),
              [&](const NameBreak& left, const NameBreak& right) { return order(left) < order(right); });
    const auto last =
        std::unique(found.begin(), found.end(), [](const NameBreak& left, const NameBreak& right) {
            return left.position == right.position;
        });
    found.erase(last, found.end());
    return found;
}

} // namespace etna::chat
