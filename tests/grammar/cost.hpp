#pragma once

#include "core/grammar/masks.hpp"

#include <chrono>
#include <cstdint>
#include <functional>

/// What work on grammars takes, in a process of its own.
namespace etna::grammar {

constexpr double seconds_max = 1;
constexpr int64_t kib_max = 200'000'000 / 1024;

/// Sanitizers keep what is freed and shadow what is not, and take several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_measured = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool is_measured = false;
#else
constexpr bool is_measured = true;
#endif
#else
constexpr bool is_measured = true;
#endif

struct Cost {
    int exit_status = -1; ///< what the work returned; -1: a signal ended it
    double seconds = 0;   ///< of processor time
    int64_t kib = 0;      ///< resident at most, beyond what there was before
};

constexpr int took_too_long = 5; ///< what work returns that has a bound of its own on a part of it

/// Does the work in a process of its own, so that its memory is its alone. Work that takes longer than
/// `seconds_max` is done again, three times at most, and the last one counts: who else is at work on the
/// machine adds to the time, and nothing takes from it.
Cost cost_of(const std::function<int()>& work);

/// Of this thread: a busy machine adds little.
std::chrono::nanoseconds processor_time();

/// All bytes, and words of letters, blanks and digits.
Vocabulary some_words();

} // namespace etna::grammar
