#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// Whether a format is one that says nothing about the characters of a string: of numbers, or how bytes or
/// forms are to be shown, as OpenAPI has them.
bool is_annotation(std::string_view format);

} // namespace etna::grammar
