#pragma once

#include "server/api/answer_services.hpp"
#include "server/base/fields.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

// How long a model stays in memory after a request: the member `keep_alive`.
namespace etna::server::ollama {

/// The requested time in memory after a request.
struct KeepAlive {
    std::optional<std::chrono::milliseconds> time = {}; ///< empty: forever

    [[nodiscard]] bool is_zero() const { return time == std::chrono::milliseconds(0); }
};

/// Reads `keep_alive`: a number of seconds, or a duration for parse_duration(); negative means forever. Empty
/// if absent. Errors are recorded in `fields`.
std::optional<KeepAlive> read_keep_alive(Fields& fields);

/// Applies the `keep_alive` of a client's request that has ended. While other clients use the model, it stays
/// for them.
void apply(const std::optional<KeepAlive>& keep_alive, AnswerServices& services, uint64_t client,
           const std::string& model);

} // namespace etna::server::ollama
