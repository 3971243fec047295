#include "server/models/unload_rules.hpp"

#include <fmt/format.h>

namespace etna::server {
namespace {

using std::chrono::milliseconds;

std::string text_of(UnloadProblem problem, const std::string& name) {
    switch (problem) {
    case UnloadProblem::unknown_model:
        return fmt::format("the model `{}` does not exist", name);
    case UnloadProblem::loading:
        return fmt::format("the model `{}` is being loaded", name);
    case UnloadProblem::pinned:
        return fmt::format("the model `{}` is pinned, and stays in memory", name);
    case UnloadProblem::in_use:
        return fmt::format("the model `{}` is in use by another client, or was a short time ago", name);
    case UnloadProblem::too_often:
        break;
    }
    return fmt::format("this client has unloaded {} models within {} s; the maximum is reached",
                       UnloadRules::unloads_max, UnloadRules::window.count());
}

} // namespace

UnloadRefusal refusal_of(UnloadProblem problem, const std::string& name) {
    const ErrorKind kind = problem == UnloadProblem::unknown_model ? ErrorKind::not_found : ErrorKind::busy;
    return {{kind, text_of(problem, name)}, problem};
}

std::optional<UnloadRefusal> UnloadRules::take(const std::string& name, const ModelUsers& users,
                                               std::optional<uint64_t> client) {
    if (!client)
        return std::nullopt;
    const auto now = Clock::now();
    for (auto& [one, times] : unloads_)
        std::erase_if(times, [&](Clock::time_point time) { return now - time >= window; });
    std::erase_if(unloads_, [](const auto& unloads) { return unloads.second.empty(); });
    UnloadRefusal refusal = refusal_of(UnloadProblem::in_use, name);
    refusal.retry_in = users.others_quiet_in(client, quiet_time_);
    if (refusal.retry_in > milliseconds(0))
        return refusal;
    std::deque<Clock::time_point>& own = unloads_[*client];
    if (own.size() < unloads_max) {
        own.push_back(now);
        return std::nullopt;
    }
    refusal = refusal_of(UnloadProblem::too_often, name);
    refusal.retry_in = std::chrono::ceil<milliseconds>(own.front() + window - now);
    return refusal;
}

} // namespace etna::server
