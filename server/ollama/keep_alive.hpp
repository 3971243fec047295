#pragma once

#include "server/fields.hpp"
#include "server/service.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

// How long a model stays in memory after a request: the member `keep_alive`.
namespace etna::server::ollama {

/// The time after its request that a client asks for.
struct KeepAlive {
    std::optional<std::chrono::seconds> time = {}; ///< empty: forever

    [[nodiscard]] bool is_zero() const { return time == std::chrono::seconds(0); }
};

/// Parses a duration in Go's notation: "5m", "1h30m", "-1s"; parts of a second count as one. Empty for other
/// text.
std::optional<KeepAlive> parse_duration(std::string_view text);

/// Reads `keep_alive`: a number of seconds, or a duration; a negative one is forever. Empty if absent. Errors
/// are recorded in `fields`.
std::optional<KeepAlive> read_keep_alive(Fields& fields);

/// Applies the member of a request that has ended.
void apply(const std::optional<KeepAlive>& keep_alive, Service& service, const std::string& model);

} // namespace etna::server::ollama
