#pragma once

#include "server/fields.hpp"
#include "server/service.hpp"

#include <chrono>
#include <optional>
#include <string>

// How long a model stays in memory after a request: the member `keep_alive`.
namespace etna::server::ollama {

/// The time after its request that a client asks for.
struct KeepAlive {
    std::optional<std::chrono::milliseconds> time = {}; ///< empty: forever

    [[nodiscard]] bool is_zero() const { return time == std::chrono::milliseconds(0); }
};

/// Reads `keep_alive`: a number of seconds, or a duration as parse_duration() reads it; a negative one is
/// forever. Empty if absent. Errors are recorded in `fields`.
std::optional<KeepAlive> read_keep_alive(Fields& fields);

/// Applies the member of a request that has ended.
void apply(const std::optional<KeepAlive>& keep_alive, Service& service, const std::string& model);

} // namespace etna::server::ollama
