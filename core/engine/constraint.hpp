#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace etna::engine {

/// Which tokens may come next in one sequence, after those that have come. Belongs to one request, and to the
/// engine's thread once that was submitted.
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

    /// What may come next. Asked while the device computes the logits, and again when they are there. Errors:
    /// as the constraint has them; the request ends with them.
    virtual Result<Allowed> allowed() = 0;

    /// Goes on with a token, which is no end token.
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
