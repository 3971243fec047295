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

/// Which tokens may come next in one sequence, after those that have come. Belongs to one request, and once
/// that was submitted to the engine: one thread at a time calls it, not always the same.
///
/// What may take long is done in prepare(), in pieces and where it holds nobody up; what is asked for then is
/// there.
class Constraint {
public:
    Constraint() = default;
    Constraint& operator=(const Constraint&) = delete;
    virtual ~Constraint() = default;

    struct Allowed {
        /// A bit each, see sampling::Context; until the next accept(). Empty: all.
        std::span<const uint32_t> tokens = {};
        bool may_end = false; ///< end tokens may come as well
    };

    /// What is to be known before it is asked for.
    enum class Part : uint8_t {
        end,    ///< is_over()
        forced, ///< is_over() and forced()
        tokens, ///< is_over() and allowed()
    };
    /// What one call of prepare() may take.
    struct Piece {
        std::chrono::steady_clock::time_point until = {}; ///< then it shall come back, done or not
        const std::atomic<bool>* is_unwanted =
            nullptr;           ///< it shall come back where this is true; null: never
        bool may_wait = false; ///< for others; else the engine waits for it
    };
    /// Finds out what is asked for next. True: it is known, or that it cannot be. False: it is to be called
    /// again before it is asked, and goes on where it was. True at once where nothing takes long.
    virtual bool prepare(Part /*part*/, const Piece& /*piece*/) { return true; }

    /// What may come next. Asked when the logits are there. Errors: as the constraint has them; the request
    /// ends with them.
    virtual Result<Allowed> allowed() = 0;

    /// Goes on with a token, which is no end token. Takes no time.
    virtual void accept(TokenId token) = 0;

    /// The tokens that come next whatever the model says, as far as that is sure: they are taken without a
    /// look at its logits, and told with a probability of 1. Empty: it is not. Until the next accept().
    virtual std::vector<TokenId> forced() { return {}; }

    /// Whether nothing may follow: the sequence ends here. Errors: as allowed().
    virtual Result<bool> is_over() = 0;

    /// Another one of the same past.
    [[nodiscard]] virtual std::shared_ptr<Constraint> fork() const = 0;

protected:
    Constraint(const Constraint&) = default;
};

} // namespace etna::engine
