#include "server/faces/ollama/keep_alive.hpp"

#include "core/base/duration.hpp"

#include <algorithm>

namespace etna::server::ollama {
namespace {

using std::chrono::milliseconds;

/// Converts seconds, at most duration_max; all negative values give the same negative time.
milliseconds time_of_seconds(double seconds) {
    constexpr auto longest = static_cast<double>(milliseconds(duration_max).count());
    return seconds < 0 ? milliseconds(-1)
                       : milliseconds(static_cast<int64_t>(std::min(seconds * ms_per_second, longest)));
}

} // namespace

std::optional<KeepAlive> read_keep_alive(Fields& fields) {
    const Json* const given = fields.any("keep_alive");
    if (given == nullptr)
        return std::nullopt;
    std::optional<milliseconds> time;
    if (given->is_number()) {
        time = time_of_seconds(given->get<double>());
    } else if (given->is_string()) {
        time = parse_duration(given->get_ref<const std::string&>());
    }
    if (!time) {
        fields.refuse("keep_alive", R"(must be a number of seconds, or a duration such as "5m")");
        return std::nullopt;
    }
    return *time < milliseconds(0) ? KeepAlive() : KeepAlive{time};
}

void apply(const std::optional<KeepAlive>& keep_alive, AnswerServices& services, uint64_t client,
           const std::string& model) {
    if (!keep_alive)
        return;
    const auto listing = services.models.find(model);
    if (listing && listing->is_pinned)
        return;
    auto time = keep_alive->time;
    if (keep_alive->is_zero()) {
        const auto unloading = services.models.unload(model, client);
        if (unloading || unloading.error().retry_in == milliseconds(0)) // such as one that is being reloaded
            return;
        time = unloading.error().retry_in;
    }
    (void)services.models.set_idle_max(model, time, client); // unless it has left the list
}

} // namespace etna::server::ollama
