#include "core/jinja/links.hpp"

#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

bool starts_with(std::string_view text, std::string_view part) {
    return text.substr(0, part.size()) == part;
}

bool ends_with(std::string_view text, std::string_view part) {
    return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}

template <class Is>
bool all(std::u32string_view text, const Is& is) {
    return std::all_of(text.begin(), text.end(), is);
}

bool is_label_letter(char32_t letter) {
    return is_word_letter(letter) || letter == '%' || letter == '-';
}

bool is_latin_letter(char32_t letter) {
    return letter >= 'a' && letter <= 'z';
}

bool is_hex_digit(char32_t letter) {
    return is_decimal(letter) || (letter >= 'a' && letter <= 'f');
}

std::vector<std::u32string_view> parts_of(std::u32string_view text, char32_t separator) {
    std::vector<std::u32string_view> parts;
    while (true) {
        const std::size_t end = std::min(text.find(separator), text.size());
        parts.push_back(text.substr(0, end));
        if (end == text.size())
            return parts;
        text.remove_prefix(end + 1);
    }
}

/// Whether the host is valid after "https://" or "www.": name.name.tld.
bool is_named_host(std::u32string_view host) {
    const auto labels = parts_of(host, '.');
    const std::u32string_view tld = labels.back();
    const bool is_basic = tld.size() >= 2 && tld.size() <= 63 && all(tld, is_latin_letter);
    const bool is_idna =
        tld.substr(0, 4) == U"xn--" && tld.size() >= 6 && tld.size() <= 63 &&
        all(tld.substr(4), [](char32_t each) { return is_word_letter(each) || each == '%'; });
    return (is_basic || is_idna) && std::none_of(labels.begin(), labels.end(), [](const auto& label) {
               return label.empty() || !all(label, is_label_letter);
           });
}

/// Whether the host counts as an address without a scheme: name.com, with a common TLD only.
bool is_plain_domain(std::u32string_view host) {
    constexpr std::array<std::u32string_view, 8> ends = {U"com", U"net", U"int",  U"edu",
                                                         U"gov", U"org", U"info", U"mil"};
    auto labels = parts_of(host, '.');
    const bool is_known = std::find(ends.begin(), ends.end(), labels.back()) != ends.end();
    labels.pop_back();
    return is_known && !labels.empty() && std::all_of(labels.begin(), labels.end(), [](const auto& label) {
               return label.size() >= 2 && label.size() <= 63 && all(label, is_label_letter);
           });
}

bool is_ipv4(std::u32string_view host) {
    const auto parts = parts_of(host, '.');
    return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](const auto& part) {
               return !part.empty() && part.size() <= 3 && all(part, is_decimal);
           });
}

/// Checks the text between [ and ]: two groups with their colons, then up to six more.
bool is_ipv6(std::u32string_view inside) {
    std::size_t groups = 0;
    while (!inside.empty() || groups < 2) {
        std::size_t end = 0;
        while (end < inside.size() && end < 4 && is_hex_digit(inside[end]))
            ++end;
        const bool has_colon = end < inside.size() && inside[end] == ':';
        if (!has_colon && (end == 0 || groups < 2))
            return false;
        if (++groups > 8)
            return false;
        inside.remove_prefix(end + (has_colon ? 1 : 0));
    }
    return true;
}

/// Whether the text is empty, or a port, a path, a query or a fragment.
bool is_tail(std::u32string_view text) {
    if (!text.empty() && text[0] == ':') {
        std::size_t end = 1;
        while (end < text.size() && end < 6 && is_decimal(text[end]))
            ++end;
        if (end == 1)
            return false;
        text.remove_prefix(end);
    }
    return text.empty() || text[0] == '/' || text[0] == '?' || text[0] == '#';
}

bool is_web_address(std::string_view word) {
    const std::u32string lowered = lower_case(decode(word));
    std::u32string_view rest = lowered;
    bool has_scheme = false;
    for (const std::u32string_view scheme : {U"http://", U"https://"}) {
        if (!has_scheme && rest.substr(0, scheme.size()) == scheme) {
            has_scheme = true;
            rest.remove_prefix(scheme.size());
        }
    }
    if (has_scheme && !rest.empty() && rest[0] == '[') {
        const std::size_t end = rest.find(U']');
        return end != std::u32string_view::npos && is_ipv6(rest.substr(1, end - 1)) &&
               is_tail(rest.substr(end + 1));
    }
    std::size_t end = 0;
    while (end < rest.size() && (is_label_letter(rest[end]) || rest[end] == '.'))
        ++end;
    const std::u32string_view host = rest.substr(0, end);
    if (!is_tail(rest.substr(end)))
        return false;
    if (has_scheme)
        return is_named_host(host) || is_ipv4(host);
    return is_plain_domain(host) || (host.substr(0, 4) == U"www." && is_named_host(host.substr(4)));
}

bool is_mail_address(std::string_view word) {
    const std::size_t at = word.rfind('@');
    if (at == std::string_view::npos || at == 0)
        return false;
    const std::u32string domain = decode(word.substr(at + 1));
    const std::size_t dot = domain.rfind('.');
    if (dot == std::u32string::npos || dot == 0 || dot + 1 == domain.size() || !is_word_letter(domain[0]))
        return false;
    const std::u32string_view host(domain);
    return all(host.substr(0, dot),
               [](char32_t letter) { return is_word_letter(letter) || letter == '.' || letter == '-'; }) &&
           all(host.substr(dot + 1), is_word_letter);
}

std::string link(std::string_view address, std::string_view shown, std::string_view attributes) {
    return fmt::format("<a href=\"{}\"{}>{}</a>", address, attributes, shown);
}

/// Truncates the text to `characters_max` characters and appends "..." if truncated.
std::string shortened(const std::string& text, int64_t characters_max) {
    const std::u32string letters = decode(text);
    const auto size = static_cast<int64_t>(letters.size());
    if (size <= characters_max)
        return text;
    const int64_t kept = characters_max < 0 ? std::max<int64_t>(size + characters_max, 0) : characters_max;
    return encode(letters.substr(0, static_cast<std::size_t>(kept))) + "...";
}

std::optional<std::string> link_of(const std::string& word, const LinkStyle& style) {
    if (is_web_address(word)) {
        const bool has_scheme = starts_with(word, "https://") || starts_with(word, "http://");
        return link((has_scheme ? "" : "https://") + word, shortened(word, style.shown_max),
                    style.attributes);
    }
    if (starts_with(word, "mailto:") && is_mail_address(word.substr(7)))
        return link(word, word.substr(7), "");
    if (!starts_with(word, "www.") && !starts_with(word, "@") && word.find(':') == std::string::npos &&
        is_mail_address(word))
        return link("mailto:" + word, word, "");
    std::optional<std::string> result;
    for (const std::string& scheme : style.schemes) {
        const std::string& text = result ? *result : word;
        if (text != scheme && starts_with(text, scheme))
            result = link(text, text, style.attributes);
    }
    return result;
}

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size()))
        ++found;
    return found;
}

/// Returns the end of the opening brackets before an address.
std::size_t head_end(std::string_view word) {
    std::size_t end = 0;
    while (end < word.size()) {
        const bool is_reference = starts_with(word.substr(end), "&lt;");
        if (!is_reference && word[end] != '(' && word[end] != '<')
            break;
        end += is_reference ? 4 : 1;
    }
    return end;
}

/// Returns the start of the closing brackets and punctuation after an address.
std::size_t tail_begin(std::string_view word) {
    std::size_t begin = word.size();
    while (begin > 0) {
        const bool is_reference = ends_with(word.substr(0, begin), "&gt;");
        if (!is_reference && std::string_view(")>.,").find(word[begin - 1]) == std::string_view::npos)
            break;
        begin -= is_reference ? 4 : 1;
    }
    return begin;
}

} // namespace

std::string linked(const std::string& word, const LinkStyle& style) {
    const std::size_t begin = head_end(word);
    std::string middle = word.substr(begin);
    const std::size_t end = tail_begin(middle);
    std::string tail = middle.substr(end);
    middle.resize(end);
    constexpr std::pair<std::string_view, std::string_view> brackets[] = {
        {"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}};
    for (const auto& [open, close] : brackets) { // brackets opened in the address also close in it
        const std::size_t opened = count_of(middle, open);
        if (opened <= count_of(middle, close))
            continue;
        for (std::size_t left = std::min(opened, count_of(tail, close)); left > 0; --left) {
            const std::size_t taken = tail.find(close) + close.size();
            middle += tail.substr(0, taken);
            tail.erase(0, taken);
        }
    }
    return word.substr(0, begin) + link_of(middle, style).value_or(middle) + tail;
}

} // namespace etna::jinja
