#pragma once

#include "core/base/error.hpp"

#include <cstdint>
#include <functional>

namespace etna::text {

/// Asks whether a text's tokens are still wanted, but not at every step: the question may cost as much as
/// thousands of them. Not thread-safe.
class Patience {
public:
    /// Borrows the question; null and empty ones end nothing.
    explicit Patience(const std::function<bool()>* stop_requested)
        : stop_requested_(stop_requested != nullptr && *stop_requested ? stop_requested : nullptr) {}

    /// To be called at every step. Once true it stays so.
    bool is_over() {
        if (stop_requested_ != nullptr && !is_over_ && ++steps_ % steps_between == 0)
            is_over_ = (*stop_requested_)();
        return is_over_;
    }

    /// What a caller gets whose patience is over.
    static Error error() { return {ErrorKind::cancelled, "the text's tokens are not wanted any more"}; }

private:
    static constexpr uint64_t steps_between = 4096; ///< well below a millisecond of merging or searching

    const std::function<bool()>* stop_requested_;
    uint64_t steps_ = 0;
    bool is_over_ = false;
};

} // namespace etna::text
