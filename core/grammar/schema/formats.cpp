#include "core/grammar/schema/formats.hpp"

#include "core/grammar/regex.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace etna::grammar {
namespace {

std::string any_of(std::initializer_list<std::string_view> alternatives) {
    return fmt::format("(?:{})", fmt::join(alternatives, "|"));
}

std::string optional(std::string_view item) {
    return fmt::format("(?:{})?", item);
}

std::string date() {
    return any_of({"[0-9]{4}-(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
                   "[0-9]{4}-(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)", "[0-9]{4}-02-(?:0[1-9]|1[0-9]|2[0-8])",
                   "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"});
}

constexpr std::string_view second_fraction = "(?:\\.[0-9]+)?";
constexpr int minutes_a_day = 24 * 60;

std::string hour_and_minute(int minutes) {
    return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

/// A leap second occurs only at 23:59 UTC: for each local time, one offset of either sign gives that.
std::string leap_second_at(int local_minutes) {
    constexpr int last_minute = minutes_a_day - 1;
    return fmt::format(
        ":60{}(?:\\+{}|-{}{})", second_fraction, hour_and_minute((local_minutes + 1) % minutes_a_day),
        hour_and_minute(last_minute - local_minutes), local_minutes == last_minute ? "|[Zz]" : "");
}

/// Digit by digit, so that few alternatives are open at once.
template <class Suffix>
std::string each_number(int count, const Suffix& suffix) {
    std::vector<std::string> tens;
    for (int first = 0; first < count; first += 10) {
        std::vector<std::string> ones;
        for (int number = first; number < std::min(first + 10, count); ++number)
            ones.push_back(fmt::format("{}{}", number % 10, suffix(number)));
        tens.push_back(fmt::format("{}(?:{})", first / 10, fmt::join(ones, "|")));
    }
    return fmt::format("(?:{})", fmt::join(tens, "|"));
}

std::string leap_seconds() {
    return each_number(24, [](int hour) {
        return fmt::format(
            ":{}", each_number(60, [hour](int minute) { return leap_second_at(hour * 60 + minute); }));
    });
}

std::string time() {
    constexpr std::string_view hour = "(?:[01][0-9]|2[0-3])";
    const std::string plain =
        fmt::format("{0}:[0-5][0-9]:[0-5][0-9]{1}(?:[Zz]|[+-]{0}:[0-5][0-9])", hour, second_fraction);
    return any_of({plain, leap_seconds()});
}

std::string date_time() {
    return date() + "[Tt]" + time();
}

std::string duration() {
    const std::string time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
    const std::string date = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)";
    return fmt::format("P(?:{}{}|{}|[0-9]+W)", date, optional(time), time);
}

/// A label of at most `length_max` characters (5 or more), without `--` in its third and fourth position.
std::string label(int length_max, std::string_view letters = "A-Za-z0-9") {
    return fmt::format("[{0}](?:[{0}-]{{0,2}}[{0}]|[{0}-](?:[{0}][{0}-]|-[{0}])[{0}-]{{0,{1}}}[{0}])?",
                       letters, length_max - 5);
}

std::string labels(int length_max, int count_max, std::string_view letters = "A-Za-z0-9") {
    return fmt::format("{0}(?:\\.{0}){{0,{1}}}", label(length_max, letters), count_max - 1);
}

/// Both alternatives have at most 253 characters.
std::string hostname() {
    return any_of({labels(63, 3), labels(24, 10)});
}

std::string ipv4() {
    constexpr std::string_view octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
    return fmt::format("{0}(?:\\.{0}){{3}}", octet);
}

std::string ipv6() {
    constexpr std::string_view group = "[0-9A-Fa-f]{1,4}";
    const std::string last_two = fmt::format("(?:{0}:{0}|{1})", group, ipv4());
    std::string alternatives = fmt::format("(?:{}:){{6}}{}", group, last_two);
    const auto add = [&](int before_max, std::string_view suffix) { // maximum groups before `::`
        const std::string before =
            before_max == 0 ? "" : fmt::format("(?:{0}(?::{0}){{0,{1}}})?", group, before_max - 1);
        alternatives += fmt::format("|{}::{}", before, suffix);
    };
    for (int before_max = 0; before_max <= 5; ++before_max)
        add(before_max, fmt::format("(?:{}:){{{}}}{}", group, 5 - before_max, last_two));
    add(6, group);
    add(7, "");
    return fmt::format("(?:{})", alternatives);
}

std::string email(std::string_view more_letters) {
    const std::string atom = fmt::format("[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{}-]+", more_letters);
    const std::string quoted = fmt::format("\"(?:[ !#-\\[\\]-~{}]|\\\\[ -~])*\"", more_letters);
    const std::string literal = fmt::format("\\[(?:{}|IPv6:{})\\]", ipv4(), ipv6());
    const std::string letters = fmt::format("A-Za-z0-9{}", more_letters);
    return fmt::format("(?:{0}(?:\\.{0})*|{1})@(?:{2}|{3})", atom, quoted,
                       any_of({labels(63, 3, letters), labels(24, 10, letters)}), literal);
}

/// The characters of a URI; an IRI has more.
struct UriCharacters {
    std::string_view more = "";
    std::string_view more_in_query = "";
};

constexpr std::string_view iri_characters =
    "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF"
    "\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}"
    "\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}"
    "\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}"
    "\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}";
constexpr std::string_view private_characters = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}";
constexpr UriCharacters of_iri = {iri_characters, private_characters};

/// One character that is valid in all parts or in `more`, or an escape.
std::string uri_character(const UriCharacters& characters, std::string_view more) {
    return fmt::format("(?:[A-Za-z0-9._~!$&'()*+,;={}{}-]|%[0-9A-Fa-f]{{2}})", more, characters.more);
}

std::string authority(const UriCharacters& characters) {
    const std::string address =
        fmt::format("\\[(?:{}|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]", ipv6());
    return fmt::format("(?:{}*@)?(?:{}|{}*)(?::[0-9]*)?", uri_character(characters, ":"), address,
                       uri_character(characters, ""));
}

/// The part after the scheme, or a reference without one.
std::string after_scheme(const UriCharacters& characters, bool has_scheme) {
    const std::string letter = uri_character(characters, ":@");
    const std::string first = uri_character(characters, has_scheme ? ":@" : "@");
    const std::string hierarchy = fmt::format("(?://{1}(?:/{0}*)*|/(?:{0}+(?:/{0}*)*)?|{2}+(?:/{0}*)*)?",
                                              letter, authority(characters), first);
    const std::string suffix = uri_character(characters, ":@/?");
    const UriCharacters in_query = {characters.more_in_query, ""};
    return fmt::format("{0}(?:\\?(?:{1}|{2})*)?(?:#{1}*)?", hierarchy, suffix,
                       characters.more_in_query.empty() ? suffix : uri_character(in_query, ""));
}

std::string uri(const UriCharacters& characters = {}) {
    return fmt::format("[A-Za-z][A-Za-z0-9+.-]*:{}", after_scheme(characters, true));
}

std::string uri_reference(const UriCharacters& characters = {}) {
    return any_of({uri(characters), after_scheme(characters, false)});
}

std::string uri_template() {
    const std::string literal = fmt::format("[!#$&'()*+,./0-;=?@A-Z\\[\\]_a-z~{}{}-]|%[0-9A-Fa-f]{{2}}",
                                            iri_characters, private_characters);
    constexpr std::string_view letter = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})";
    const std::string variable = fmt::format("{0}(?:\\.?{0})*(?::[1-9][0-9]{{0,3}}|\\*)?", letter);
    return fmt::format("(?:{0}|\\{{[+#./;?&=,!@|]?{1}(?:,{1})*\\}})*", literal, variable);
}

/// The automaton of a regular expression; empty if it cannot be built, which is not an error.
std::optional<Automaton> automaton_of(const std::string& pattern) {
    Language language;
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    const auto texts = regex(language, pattern, alphabet, MatchMode::full);
    if (!texts)
        return std::nullopt;
    auto made = language.automaton(*texts);
    return made ? std::optional(std::move(*made)) : std::nullopt;
}

constexpr std::string_view base64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";
constexpr std::string_view pointer = "(?:/(?:[^~/]|~[01])*)*";

using Pattern = std::string (*)();

/// Null if the format has no pattern.
Pattern pattern_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Pattern>, 18> patterns = {{
        {"date", date},
        {"time", time},
        {"date-time", date_time},
        {"duration", duration},
        {"email", [] { return email(""); }},
        {"idn-email", [] { return email("\\u0080-\\u{10FFFF}"); }},
        {"hostname", hostname},
        {"ipv4", ipv4},
        {"ipv6", ipv6},
        {"uri", [] { return uri(); }},
        {"uri-reference", [] { return uri_reference(); }},
        {"iri", [] { return uri(of_iri); }},
        {"iri-reference", [] { return uri_reference(of_iri); }},
        {"uri-template", uri_template},
        {"uuid", [] { return std::string("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"); }},
        {"byte", [] { return std::string(base64); }},
        {"json-pointer", [] { return std::string(pointer); }},
        {"relative-json-pointer", [] { return fmt::format("(?:0|[1-9][0-9]*)(?:#|{})", pointer); }},
    }};
    for (const auto& [known, pattern] : patterns) {
        if (known == name)
            return pattern;
    }
    return nullptr;
}

} // namespace

std::optional<std::string> pattern_of_format(std::string_view name) {
    const Pattern pattern = pattern_named(name);
    return pattern == nullptr ? std::nullopt : std::optional(pattern());
}

/// Each of a day's 1440 minutes has its own pattern for a leap second: parsing these takes longer than all
/// else in practical schemas.
const Automaton* automaton_of_format(std::string_view name) {
    if (name == "time") {
        static const std::optional<Automaton> times = automaton_of(time());
        return times ? &*times : nullptr;
    }
    if (name == "date-time") {
        static const std::optional<Automaton> date_times = automaton_of(date_time());
        return date_times ? &*date_times : nullptr;
    }
    return nullptr;
}

std::optional<std::pair<std::string_view, std::string_view>> integers_of_format(std::string_view name) {
    if (name == "int32")
        return std::pair("-2147483648", "2147483647");
    if (name == "int64")
        return std::pair("-9223372036854775808", "9223372036854775807");
    if (name == "uint32")
        return std::pair("0", "4294967295");
    if (name == "uint64")
        return std::pair("0", "18446744073709551615");
    return std::nullopt;
}

bool is_annotation(std::string_view format) {
    constexpr std::array<std::string_view, 2> unsupported_formats = {"idn-hostname", "regex"};
    return std::find(unsupported_formats.begin(), unsupported_formats.end(), format) ==
               unsupported_formats.end() &&
           !integers_of_format(format) && pattern_named(format) == nullptr;
}

} // namespace etna::grammar
