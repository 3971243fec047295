#pragma once

#include "core/generate/model.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace etna::server {

/// The clients that use one model, and when each of them last did. An empty client is the server itself,
/// which is not recorded. Thread-safe.
class ModelUsers : public std::enable_shared_from_this<ModelUsers> {
public:
    using Handle = std::shared_ptr<const generate::Model>;

    /// Records that a request of the client begins.
    void begin_request(std::optional<uint64_t> client);

    /// Returns a handle of the model. The client uses the model as long as a copy of the handle lives.
    Handle hold(Handle model, std::optional<uint64_t> client);

    /// Returns the time until every client but `client` has been quiet for `quiet_time`: 0 if they have, or
    /// `client` is empty; all of `quiet_time` while one of them uses the model.
    [[nodiscard]] std::chrono::milliseconds others_quiet_in(std::optional<uint64_t> client,
                                                            std::chrono::milliseconds quiet_time) const;

private:
    using Clock = std::chrono::steady_clock;

    struct User {
        uint32_t handles = 0;
        Clock::time_point last_used = {};
    };
    /// One handle.
    struct Use;

    void end_use(uint64_t client);
    void forget_old_users(Clock::time_point now);

    mutable std::mutex mutex_;
    std::map<uint64_t, User> users_; ///< by client
};

} // namespace etna::server
