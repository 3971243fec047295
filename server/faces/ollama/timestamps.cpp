#include "server/faces/ollama/timestamps.hpp"

#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace etna::server::ollama {

std::string timestamp(std::chrono::system_clock::time_point time) {
    constexpr int64_t microseconds_per_second = 1'000'000;
    const auto since = std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count();
    int64_t seconds = since / microseconds_per_second;
    int64_t rest = since % microseconds_per_second;
    if (rest < 0) { // before 1970
        --seconds;
        rest += microseconds_per_second;
    }
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(seconds)), rest);
}

int64_t nanoseconds(double seconds) {
    constexpr double per_second = 1e9;
    return std::llround(seconds * per_second);
}

std::chrono::system_clock::time_point never() {
    constexpr std::chrono::hours day(24);
    constexpr int64_t days = 365 * 100;
    return std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now()) + days * day;
}

} // namespace etna::server::ollama
