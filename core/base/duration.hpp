#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace etna {

/// Parses a duration as Go's time.ParseDuration does: numbers with the unit ns, us, ms, s, m or h, such as
/// "1h30m" or
/// "-1.5s"; or a number of seconds alone. Parts of a millisecond are dropped.
/// Empty: anything else, or more than duration_max.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

inline constexpr std::chrono::hours duration_max{24 * 365 * 100};

inline constexpr double ms_per_second = 1000;

} // namespace etna
