#include "tests/grammar/cost.hpp"

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace etna::grammar {
namespace {

int64_t resident_kib() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

Cost cost_of_one(const std::function<int()>& work) {
    ::malloc_trim(0);
    const pid_t child = ::fork();
    if (child == 0) {
        const int64_t before = resident_kib(); // of this process, which has touched little yet
        const int status = work();
        ::_exit(resident_kib() - before > kib_max && is_measured ? 100 : status);
    }
    int status = 0;
    rusage usage = {};
    ::wait4(child, &status, 0, &usage);
    return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
            .kib = usage.ru_maxrss};
}

/// Work of the kind that grammars do: small allocations, each touched and then found again in no order.
int reference_work() {
    constexpr uint32_t count = 1'000'000;
    std::vector<std::vector<uint32_t>> nodes(count);
    for (uint32_t i = 0; i < count; ++i)
        nodes[i].assign(4, i);
    std::mt19937 random(1);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i)
        sum += nodes[random() % count][i % 4];
    return sum == 0 ? 1 : 0;
}

/// How many times as long the reference work takes as on an idle machine of 2026: 1 or more.
double slowness() {
    constexpr double idle_seconds = 0.25;
    return std::max(1.0, cost_of_one(reference_work).seconds / idle_seconds);
}

} // namespace

Cost cost_of(const std::function<int()>& work) {
    constexpr int runs_max = 3;
    Cost cost;
    for (int run = 0; run < runs_max; ++run) {
        const double slowness_before = run == 0 ? 1 : slowness();
        cost = cost_of_one(work);
        cost.seconds /= run == 0 ? 1 : std::min(slowness_before, slowness());
        if (!is_measured || (cost.seconds < seconds_max && cost.exit_status != took_too_long))
            break;
    }
    return cost;
}

std::chrono::nanoseconds processor_time() {
    timespec time = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Vocabulary some_words() {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte)
        bytes.emplace_back(1, static_cast<char>(byte));
    std::mt19937 random(3);
    for (int word = 0; word < 5000; ++word) {
        std::string text;
        for (uint32_t length = 2 + random() % 12; length > 0; --length)
            text += static_cast<char>(random() % 8 == 0 ? ' ' : 'a' + random() % 26);
        bytes.push_back(text);
    }
    for (std::size_t blanks = 2; blanks <= 128; ++blanks)
        bytes.emplace_back(blanks, ' ');
    return Vocabulary(std::move(bytes));
}

} // namespace etna::grammar
