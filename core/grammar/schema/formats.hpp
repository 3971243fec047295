#pragma once

#include "core/grammar/automaton.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::grammar {

/// A regular expression (of the complete string) for a `format` of JSON Schema; empty for an unknown one.
///
/// Host names never contain labels with `--` in their third and fourth position: those are encoded names in
/// other scripts, and not every such label decodes. Long host names stay within 253 characters by having few
/// labels or short ones.
///
/// Sources: JSON Schema draft 2020-12 validation, 7.3; RFC 3339 (times), ISO 8601 as in its appendix A
/// (durations), RFC 5321 and 6531 (addresses), RFC 1123 (hosts), RFC 2673 and 4291 (IP addresses), RFC 3986
/// and 3987 (URIs, IRIs), RFC 6570 (templates), RFC 4122 (UUIDs), RFC 6901 and the draft on relative ones
/// (pointers).
std::optional<std::string> pattern_of_format(std::string_view name);

/// The same as an automaton over UTF-8, for formats that are slow to compile; null for all others. Each is
/// compiled on first use and lives as long as the process. Thread-safe.
const Automaton* automaton_of_format(std::string_view name);

/// All characters that occur in texts of those formats.
constexpr std::string_view characters_of_automata = "+-.0123456789:TZtz";

/// The smallest and the largest integer of an integer format, in digits; empty for other formats. Such a
/// format requires numbers to be integers in this range, and does not constrain values of other kinds.
/// Source: the format registry of OpenAPI (int32, int64, uint32, uint64).
std::optional<std::pair<std::string_view, std::string_view>> integers_of_format(std::string_view name);

/// Whether a format is an annotation that does not constrain values: any that JSON Schema does not define,
/// such as OpenAPI's `password`, or a custom one.
bool is_annotation(std::string_view format);

} // namespace etna::grammar
