#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace etna::engine {

/// Restricts which tokens may come next in one sequence, given its tokens so far. Belongs to one request;
/// once that is submitted to the engine, one thread at a time calls it, not always the same one.
///
/// Slow work runs in prepare(), in time slices and off the critical path, so that the getters return at once.
class Constraint {
public:
    Constraint() = default;
    Constraint& operator=(const Constraint&) = delete;
    virtual ~Constraint() = default;

    struct Allowed {
        /// One bit per token, see sampling::Context; valid until the next accept(). Empty: all.
        std::span<const uint32_t> tokens = {};
        bool may_end = false; ///< end tokens are allowed as well
    };

    /// The getters that prepare() computes results for.
    enum class Part : uint8_t {
        end,    ///< is_over()
        forced, ///< is_over() and forced()
        tokens, ///< is_over() and allowed()
    };
    /// The time slice of one call of prepare().
    struct TimeSlice {
        std::chrono::steady_clock::time_point until = {}; ///< deadline to return by, done or not
        /// prepare() returns early once this is true; null: it never does.
        const std::atomic<bool>* is_cancelled = nullptr;
        bool may_wait = false; ///< prepare() may wait for other threads; false: the engine is waiting for it
    };
    /// Computes the results of the getters of `part`. Returns true if they are known, or known to be
    /// impossible to compute; false if it must be called again before the getters, and then resumes. Returns
    /// true at once if nothing is slow.
    virtual bool prepare(Part /*part*/, const TimeSlice& /*slice*/) { return true; }

    /// Whether allowed() may leave out tokens; constant from one accept() to the next, and known without
    /// prepare(). If not, the next token is sampled without waiting for the constraint.
    [[nodiscard]] virtual bool restricts() const { return true; }

    /// Returns the tokens that may come next. Called when the logits are available. Errors: specific to the
    /// constraint; they end the request.
    virtual Result<Allowed> allowed() = 0;

    /// Appends a token, which is not an end token. Returns at once.
    virtual void accept(TokenId token) = 0;

    /// Returns the tokens that the constraint determines, whatever the model predicts: they are appended
    /// without reading its logits, with a probability of 1. Empty: none is determined. Valid until the next
    /// accept().
    virtual std::vector<TokenId> forced() { return {}; }

    /// Whether no token may follow, so that the sequence ends here. Errors: as allowed().
    virtual Result<bool> is_over() = 0;

    /// Returns a copy with the same past.
    [[nodiscard]] virtual std::shared_ptr<Constraint> fork() const = 0;

protected:
    Constraint(const Constraint&) = default;
};

} // namespace etna::engine
