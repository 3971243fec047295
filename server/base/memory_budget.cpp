#include "server/base/memory_budget.hpp"

#include <malloc.h>

namespace etna::server {
namespace {

constexpr std::size_t trim_bytes = 32 * 1024 * 1024; ///< freed bytes that cause a trim while requests run
constexpr std::chrono::seconds trim_interval{1};     ///< minimum time between trims
constexpr std::chrono::seconds quiet_time{1};        ///< without requests, before the server counts as idle

} // namespace

void HeapTrimmer::trim_if_due(std::size_t freed_bytes, bool is_busy) {
    const auto now = Clock::now();
    freed_bytes_ += freed_bytes;
    if (is_busy)
        last_busy_ = now;
    const bool is_idle = now - last_busy_ >= quiet_time && (freed_bytes_ > 0 || has_ended_);
    if (now - last_trim_ < trim_interval || (!is_idle && freed_bytes_ < trim_bytes))
        return;
    freed_bytes_ = 0;
    has_ended_ = false;
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
    last_trim_ = Clock::now();
}

} // namespace etna::server
