#pragma once

#include "core/base/error.hpp"
#include "server/models/model_users.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace etna::server {

/// Why a client may not unload a model.
enum class UnloadProblem : uint8_t {
    unknown_model,
    loading,
    pinned,
    in_use,    ///< another client uses the model, or did within UnloadRules::quiet_time()
    too_often, ///< the client has unloaded UnloadRules::unloads_max models within UnloadRules::window
};

/// An error of Models::unload().
struct UnloadRefusal : Error {
    UnloadProblem problem = UnloadProblem::unknown_model;
    std::chrono::milliseconds retry_in{0}; ///< time until the same call may succeed; 0: unknown
};

/// Returns the refusal for a problem of the model itself.
UnloadRefusal refusal_of(UnloadProblem problem, const std::string& name);

/// Decides which client may unload a model that is in memory: one that takes it from no other client, and not
/// too often, because each load delays the other models. Not thread-safe.
class UnloadRules {
public:
    /// Models that a client may unload within `window`.
    static constexpr std::size_t unloads_max = 10;
    static constexpr std::chrono::seconds window{60};

    explicit UnloadRules(std::chrono::milliseconds quiet_time) : quiet_time_(quiet_time) {}

    [[nodiscard]] std::chrono::milliseconds quiet_time() const { return quiet_time_; }

    /// Empty: the client may unload the model, and that is counted. An empty client is the server itself, and
    /// may.
    std::optional<UnloadRefusal> take(const std::string& name, const ModelUsers& users,
                                      std::optional<uint64_t> client);

private:
    using Clock = std::chrono::steady_clock;

    const std::chrono::milliseconds quiet_time_;
    std::map<uint64_t, std::deque<Clock::time_point>> unloads_; ///< by client, within the window
};

} // namespace etna::server
