// Filters that encode and detect URLs.

#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/links.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::jinja {
namespace {

bool is_unreserved(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') ||
           std::string_view("_.-~").find(letter) != std::string_view::npos;
}

enum class Quoting : uint8_t { path, query };

std::string url_quoted(std::string_view text, Quoting quoting) {
    std::string out;
    for (const char letter : text) {
        if (is_unreserved(letter) || (letter == '/' && quoting == Quoting::path)) {
            out += letter;
        } else if (letter == ' ' && quoting == Quoting::query) {
            out += '+';
        } else {
            out += fmt::format("%{:02X}", static_cast<uint8_t>(letter));
        }
    }
    return out;
}

Result<Value> urlencode(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::string) || !is_iterable(machine, self)) {
        ETNA_TRY(const auto text, to_text(machine, self));
        ETNA_CHECK(machine.reserve(text.size() * 3));
        return machine.text(url_quoted(text, Quoting::path));
    }
    Value pairs = self;
    if (self.is(Type::dict)) {
        ETNA_TRY(pairs, call_native(machine, *find_native(dict_methods(), "items"), self, {}));
    }
    ETNA_TRY(const auto items, items_of(machine, pairs));
    std::string out;
    for (const Value& item : items) {
        ETNA_TRY(const auto parts, items_of(machine, item));
        if (parts.size() != 2)
            return value_error(fmt::format("not enough values to unpack (expected 2, got {})", parts.size()));
        ETNA_TRY(const auto key, to_text(machine, parts[0]));
        ETNA_TRY(const auto value, to_text(machine, parts[1]));
        ETNA_CHECK(machine.reserve((key.size() + value.size()) * 3));
        out += out.empty() ? "" : "&";
        out.append(url_quoted(key, Quoting::query)).append("=").append(url_quoted(value, Quoting::query));
        ETNA_CHECK(machine.room_for(out.size()));
    }
    return machine.text(std::move(out));
}

/// Whether the text is a valid URL scheme prefix such as "ftp:" or "git+ssh://".
bool is_scheme(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon < 2 || text.size() > colon + 3)
        return false;
    const std::u32string name = decode(text.substr(0, colon));
    const bool is_name = std::all_of(name.begin(), name.end(), [](char32_t letter) {
        return is_word_letter(letter) || letter == '.' || letter == '+' || letter == '-';
    });
    return is_name && text.find_first_not_of('/', colon + 1) == std::string_view::npos;
}

/// Returns the words of `rel` and those that every link gets, sorted.
Result<std::string> relations(Machine& machine, const Bound& arguments) {
    std::set<std::string> words = {"noopener"};
    ETNA_TRY(const bool no_follow, flag(machine, arguments.at(1), false));
    if (no_follow)
        words.insert("nofollow");
    if (const Value* given = arguments.at(3); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(const auto text, string_argument(*given, "urlize"));
        for (std::string& word : split(text, {}, -1))
            words.insert(std::move(word));
    }
    return fmt::format("{}", fmt::join(words, " "));
}

Result<LinkStyle> link_style(Machine& machine, const Bound& arguments) {
    LinkStyle style;
    if (const Value* given = arguments.at(0); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(style.shown_max, integer_argument(*given));
    }
    ETNA_TRY(const auto rel, relations(machine, arguments));
    style.attributes = fmt::format(" rel=\"{}\"", escaped(rel));
    if (const Value* given = arguments.at(2); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(const auto target, to_text(machine, *given));
        if (!target.empty())
            style.attributes += fmt::format(" target=\"{}\"", escaped(target));
    }
    if (const Value* given = arguments.at(4); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(const auto schemes, items_of(machine, *given));
        for (const Value& scheme : schemes) {
            ETNA_TRY(auto text, string_argument(scheme, "urlize"));
            if (!is_scheme(text)) {
                return python_error("FilterArgumentError",
                                    fmt::format("{} is not a valid URI scheme prefix.", quoted(text)));
            }
            style.schemes.push_back(std::move(text));
        }
    }
    return style;
}

Result<Value> urlize(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto style, link_style(machine, arguments));
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size() * 12)); // escaped, and up to three times per link
    const std::string source = self.is_markup() ? text : escaped(text);
    std::string out;
    std::size_t begin = 0;
    for (std::size_t position = 0; position <= source.size();) {
        const bool is_end = position == source.size();
        const Decoded decoded = is_end ? Decoded{' ', 1} : decode_at(source, position);
        if (is_end || has(decoded.code_point, Property::space)) {
            const std::string word = linked(source.substr(begin, position - begin), style);
            ETNA_CHECK(machine.spend(word.size()));
            ETNA_CHECK(machine.room_for(out.size() + word.size()));
            out += word + (is_end ? "" : source.substr(position, decoded.bytes));
            begin = position + decoded.bytes;
        }
        position += decoded.bytes;
    }
    return machine.text(std::move(out), machine.escapes());
}

constexpr Native filters_url_table[] = {
    {"urlencode", "", 0, urlencode},
    {"urlize", "trim_url_limit nofollow target rel extra_schemes", 0, urlize},
};

} // namespace

std::span<const Native> url_filters() {
    return filters_url_table;
}

} // namespace etna::jinja
