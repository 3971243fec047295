#pragma once

#include "core/base/result.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/candidate.hpp"
#include "core/sampling/history.hpp"
#include "core/sampling/logit_bias.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace etna::sampling {

struct Choice {
    TokenId token = 0;
    float logit = 0; ///< logit of `token`, from the model, unmodified
};

/// Inputs of a choice in addition to parameters and logits. Borrowed.
struct Context {
    History history = {};
    std::span<const LogitBias> logit_bias = {};
    const SequenceBreakers* dry_breakers = nullptr; ///< null: none
    /// Tokens that may be chosen, one bit each: token t at bit t % 32 of word t / 32. Empty: all.
    std::span<const uint32_t> allowed = {};
    std::span<const TokenId> allowed_extra = {}; ///< allowed in addition; no effect if all tokens are
};

/// Chooses tokens as defined in parameters.hpp. Each choice depends only on its arguments; the object holds
/// scratch memory, so that choosing allocates nothing once it has seen the largest vocabulary and history.
/// Belongs to one thread.
class Sampler {
public:
    /// Chooses from all logits of a row, [vocabulary]; the draw is uniform(parameters.seed, position). Sums
    /// run in double, in the order of candidates. Preconditions: check(parameters), check(context.logit_bias,
    /// logits.size()). Errors: internal (no logits, NaN, +infinity, or all -infinity), invalid_argument (the
    /// logit bias bans every token that was possible, or allowed).
    Result<Choice> choose(const Parameters& parameters, std::span<const float> logits, uint32_t position,
                          const Context& context = {});

    /// Chooses from candidates in order (comes_before), as if all other tokens had the logit -infinity, with
    /// an empty history. Equal to choosing from all logits if the candidates are the first max(top_k,
    /// min_keep), top_k >= 1, and top_n_sigma and all that changes logits is neutral. Errors: internal (as
    /// above, or not in order).
    Result<Choice> choose(const Parameters& parameters, std::span<const Candidate> candidates,
                          uint32_t position);

    /// Returns the top `count` tokens of a row after step 1 of parameters.hpp, unfiltered; if some are in
    /// `apart`, `count` others as well. Tokens at -infinity are left out. In order. Valid until the next
    /// call. Preconditions and errors: as choose(), but the result is empty if every token is impossible;
    /// `apart` is ascending and within the vocabulary.
    Result<std::span<const Candidate>> rank(const Parameters& parameters, std::span<const float> logits,
                                            uint32_t count, const Context& context,
                                            std::span<const TokenId> apart = {});

private:
    std::span<const float> changed(const Parameters& parameters, std::span<const float> logits,
                                   const Context& context);
    void change(const Parameters& parameters, const Context& context);
    void forbid_others(const Context& context);
    Candidate choose_from_candidates(const Parameters& parameters, uint32_t position);

    std::vector<float> changed_;                  ///< [vocabulary]
    std::vector<Candidate> candidates_;           ///< in order, finite
    std::vector<Candidate> apart_;                ///< in order, finite
    std::vector<std::pair<TokenId, float>> kept_; ///< logits of Context::allowed_extra
    std::vector<uint32_t> per_token_;             ///< [vocabulary], zero between uses
    std::vector<uint32_t> lengths_;               ///< [history]
    std::vector<std::pair<double, uint32_t>> deviations_;
};

} // namespace etna::sampling
