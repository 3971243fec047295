#include "server/memory_tidy.hpp"

#include <algorithm>

#include <malloc.h>

namespace etna::server {
namespace {

constexpr std::size_t much_bytes = 32 * 1024 * 1024;
constexpr std::chrono::seconds interval{1};   ///< minimum time between trims
constexpr std::chrono::seconds quiet_time{1}; ///< without requests, before the server counts as idle

void give_back_memory() {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

} // namespace

void MemoryTidy::tidy(std::size_t freed, bool is_busy) {
    const auto now = Clock::now();
    freed_ += freed;
    if (is_busy)
        busy_ = now;
    const bool is_idle = now - busy_ >= quiet_time && (freed_ > 0 || has_answered_);
    if (now - tidied_ < interval || (!is_idle && freed_ < much_bytes))
        return;
    freed_ = 0;
    has_answered_ = false;
    give_back_memory();
    tidied_ = Clock::now();
}

} // namespace etna::server
