#pragma once

#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace etna::text {

/// What may be spent on a text's tokens. Asks whether they are still wanted, but not at every step: the
/// question may cost as much as thousands of them. And asks for memory, but for a little. Not thread-safe.
class Patience {
public:
    using StopRequested = std::function<bool()>;
    using ClaimMemory = std::function<bool(std::size_t bytes)>;

    /// Borrows the questions; null and empty ones end nothing.
    explicit Patience(const StopRequested* stop_requested, const ClaimMemory* claim_memory = nullptr)
        : stop_requested_(stop_requested != nullptr && *stop_requested ? stop_requested : nullptr),
          claim_memory_(claim_memory != nullptr && *claim_memory ? claim_memory : nullptr) {}

    /// To be called at every step. Once true it stays so.
    bool is_over() {
        if (stop_requested_ != nullptr && !is_over_ && ++steps_ % steps_between == 0)
            is_over_ = (*stop_requested_)();
        return is_over_;
    }

    /// Whether so many bytes may be taken for as long as the work on one word takes; what was granted for a
    /// word stays for the next ones.
    bool may_work_in(std::size_t bytes) {
        if (claim_memory_ == nullptr || bytes <= granted_)
            return true;
        if (!(*claim_memory_)(bytes - granted_))
            return false;
        granted_ = bytes;
        return true;
    }

    /// Where a claim is not granted.
    static Error no_memory() {
        return {ErrorKind::out_of_memory, "there is no memory to cut the text into tokens"};
    }

    /// What a caller gets whose patience is over.
    static Error error() { return {ErrorKind::cancelled, "the text's tokens are not wanted any more"}; }

private:
    static constexpr uint64_t steps_between = 4096; ///< well below a millisecond of merging or searching

    static constexpr std::size_t unasked_bytes = 256 * 1024;

    const StopRequested* stop_requested_;
    const ClaimMemory* claim_memory_;
    std::size_t granted_ = unasked_bytes;
    uint64_t steps_ = 0;
    bool is_over_ = false;
};

} // namespace etna::text
