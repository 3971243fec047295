#pragma once

#include "core/grammar/masks.hpp"

#include <chrono>
#include <cstdint>
#include <functional>

/// The cost of work on grammars, measured in a child process.
namespace etna::grammar {

constexpr double seconds_max = 1;
constexpr int64_t kib_max = 200'000'000 / 1024;

/// Sanitizers retain freed memory and shadow the rest, and are several times as slow.
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
    int exit_status = -1; ///< result of the work; -1: a signal ended it
    double seconds = 0;   ///< of processor time, on an idle machine
    int64_t kib = 0;      ///< resident at most, beyond what there was before
};

constexpr int took_too_long = 5; ///< result of work that measures a part of itself, if that exceeds its bound

/// Runs the work in a child process, so that its memory is counted alone. Work that takes longer than
/// `seconds_max` is run at most three times, and the last run counts, because other load on the machine only
/// adds to the time. The second and third run stand between runs of a fixed reference work, and their time is
/// divided by how many times as long that takes as on an idle machine: the bounds are of such a machine.
Cost cost_of(const std::function<int()>& work);

/// Of this thread: a busy machine adds little.
std::chrono::nanoseconds processor_time();

/// All bytes, and words of letters, blanks and digits.
Vocabulary some_words();

} // namespace etna::grammar
