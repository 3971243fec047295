#pragma once

#include "core/grammar/automaton.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::grammar {

/// A regular expression (of the whole string) for a `format` of JSON Schema; none for one that is not known.
///
/// Hosts are written without labels that have `--` in their third and fourth place: those are names in other
/// scripts, encoded, and not every such label decodes. Long hosts keep to 253 characters by having few labels
/// or short ones.
///
/// Sources: JSON Schema draft 2020-12 validation, 7.3; RFC 3339 (times), ISO 8601 as in its appendix A
/// (durations), RFC 5321 and 6531 (addresses), RFC 1123 (hosts), RFC 2673 and 4291 (IP addresses), RFC 3986
/// and 3987 (URIs, IRIs), RFC 6570 (templates), RFC 4122 (UUIDs), RFC 6901 and the draft on relative ones
/// (pointers).
std::optional<std::string> pattern_of_format(std::string_view name);

/// The same as UTF-8, of a format that takes long to be made: null for others, which do not. Each is made
/// once, when it is first asked for, and lives as long as the process. Thread-safe.
const Automaton* automaton_of_format(std::string_view name);

/// All characters that the texts of those formats are made of.
constexpr std::string_view characters_of_automata = "+-.0123456789:TZtz";

/// The least and the greatest of the integers that a format stands for, in digits; none for one of other
/// values. Of numbers it says that they are such integers, and nothing of other values. Source: the format
/// registry of OpenAPI (int32, int64, uint32, uint64).
std::optional<std::pair<std::string_view, std::string_view>> integers_of_format(std::string_view name);

/// Whether a format is an annotation, and says nothing that a value could be held to: whatever JSON Schema
/// does not define, such as OpenAPI's `password`, or a word of one's own.
bool is_annotation(std::string_view format);

} // namespace etna::grammar
