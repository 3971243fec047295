#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace etna {

/// JSON with members in insertion order; finding a member takes linear time.
using Json = nlohmann::ordered_json;

// The functions below are the only users of the library's parser and serializer: each unit that instantiates
// them compiles for seconds.

/// Parses `text`. Returns a discarded value (Json::is_discarded) if it is not JSON.
Json parse_json(std::string_view text);

/// As parse_json(text); the result is also discarded if a value is inside more than `depth_max` lists and
/// objects. The library copies and serializes by recursion.
Json parse_json(std::string_view text, int depth_max);

/// Parses `text` without building a value: sends its events to `handler` until a handler function returns
/// false. Returns whether `text` is JSON and was read to its end.
bool scan_json(std::string_view text, Json::json_sax_t& handler);

/// Serializes to one line; invalid UTF-8 becomes U+FFFD.
std::string dump_json(const Json& json);

/// As dump_json(), on several lines, indented by two spaces.
std::string dump_json_indented(const Json& json);

/// How often the functions above ran in this process, on any thread. Tests bound the cost of a request by it.
struct JsonCounts {
    uint64_t parsed = 0;  ///< by parse_json()
    uint64_t scanned = 0; ///< by scan_json()
    uint64_t dumped = 0;  ///< by dump_json() and dump_json_indented()
};
JsonCounts json_counts();

} // namespace etna
