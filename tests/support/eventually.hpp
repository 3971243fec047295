#pragma once

#include <chrono>
#include <thread>

namespace etna::test {

/// Whether `condition` holds within `limit`; polls every millisecond, on the caller's thread.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) { // not polled again once true: it may hold for a moment only
        if (std::chrono::steady_clock::now() >= end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace etna::test
