#include "server/models/model_users.hpp"

#include <algorithm>
#include <utility>

namespace etna::server {
namespace {

/// Users without a handle are forgotten after this time; no quiet time is longer.
constexpr std::chrono::minutes user_memory{10};

} // namespace

struct ModelUsers::Use {
    std::shared_ptr<ModelUsers> users; ///< null until the use is counted
    Handle model;
    uint64_t client = 0;

    Use() = default;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
        if (users != nullptr)
            users->end_use(client);
    }
};

void ModelUsers::begin_request(std::optional<uint64_t> client) {
    if (!client)
        return;
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    forget_old_users(now);
    users_[*client].last_used = now;
}

ModelUsers::Handle ModelUsers::hold(Handle model, std::optional<uint64_t> client) {
    if (!client)
        return model;
    const auto use = std::make_shared<Use>();
    use->model = std::move(model);
    use->client = *client;
    {
        const std::scoped_lock lock(mutex_);
        ++users_[*client].handles;
    }
    use->users = shared_from_this();
    return {use, use->model.get()};
}

void ModelUsers::end_use(uint64_t client) {
    const std::scoped_lock lock(mutex_);
    User& user = users_[client];
    --user.handles;
    user.last_used = Clock::now();
}

void ModelUsers::forget_old_users(Clock::time_point now) {
    std::erase_if(users_, [&](const auto& user) {
        return user.second.handles == 0 && now - user.second.last_used > user_memory;
    });
}

std::chrono::milliseconds ModelUsers::others_quiet_in(std::optional<uint64_t> client,
                                                      std::chrono::milliseconds quiet_time) const {
    if (!client)
        return std::chrono::milliseconds(0);
    const auto now = Clock::now();
    const std::scoped_lock lock(mutex_);
    std::chrono::milliseconds longest{0};
    for (const auto& [other, user] : users_) {
        if (other == *client)
            continue;
        if (user.handles > 0)
            return quiet_time;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(user.last_used + quiet_time - now);
        longest = std::max(longest, left);
    }
    return longest;
}

} // namespace etna::server
