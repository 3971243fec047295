#pragma once

#include "cli/terminal/diagnostics.hpp"

#include <chrono>
#include <cstdint>

namespace etna::cli {

/// Progress of a model load on a terminal, for loads of more than a second. Removed by the destructor.
class LoadingBar {
public:
    /// Borrows `diagnostics`.
    explicit LoadingBar(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}
    LoadingBar(const LoadingBar&) = delete;
    LoadingBar& operator=(const LoadingBar&) = delete;
    ~LoadingBar() { diagnostics_->status({}); }

    void show(uint64_t done_bytes, uint64_t total_bytes);

private:
    using Clock = std::chrono::steady_clock;

    Diagnostics* diagnostics_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_;
};

} // namespace etna::cli
