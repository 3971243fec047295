#pragma once

#include "core/base/result.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/candidates.hpp"
#include "core/sampling/history.hpp"
#include "core/sampling/logit_processors.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace etna::sampling {

/// A token, and the logit that the model gave it.
struct SampledToken {
    TokenId token = 0;
    float logit = 0; ///< before step 1 of parameters.hpp
};

/// Inputs of Sampler in addition to parameters and logits. Borrowed.
struct Context {
    History history = {};
    std::span<const LogitBias> logit_bias = {};
    const SequenceBreakers* dry_breakers = nullptr; ///< null: none
    /// Tokens that may be sampled, one bit each: token t at bit t % 32 of word t / 32. Empty: all.
    std::span<const uint32_t> allowed = {};
    std::span<const TokenId> allowed_extra = {}; ///< allowed in addition; no effect if all tokens are
};

/// Samples tokens as defined in parameters.hpp. Each result depends only on the arguments; the object holds
/// scratch memory, so that sampling allocates nothing once it has seen the largest vocabulary and history.
/// Belongs to one thread.
class Sampler {
public:
    /// Samples from all logits of a row, [vocabulary]; the draw is uniform(parameters.seed, position). Sums
    /// run in double, in the order of candidates. Preconditions: check(parameters), check(context.logit_bias,
    /// logits.size()). Errors: internal (no logits, NaN, +infinity, or all -infinity), invalid_argument (the
    /// logit bias bans every token that was possible, or allowed).
    Result<SampledToken> sample(const Parameters& parameters, std::span<const float> logits,
                                uint32_t position, const Context& context = {});

    /// Samples from candidates in order (comes_before), as if all other tokens had the logit -infinity, with
    /// an empty history. Equal to sampling from all logits if the candidates are the first max(top_k,
    /// min_keep), top_k >= 1, and top_n_sigma and everything that changes logits is neutral. Errors: internal
    /// (as above, or not in order).
    Result<SampledToken> sample(const Parameters& parameters, std::span<const Candidate> candidates,
                                uint32_t position);

    /// Returns the top `count` tokens of a row after step 1 of parameters.hpp, unfiltered; if some are in
    /// `uncounted`, `count` others in addition. Tokens at -infinity are left out. In order. Valid until the
    /// next call. Preconditions and errors: as sample(), but the result is empty if every token is
    /// impossible; `uncounted` is ascending and within the vocabulary.
    Result<std::span<const Candidate>> rank(const Parameters& parameters, std::span<const float> logits,
                                            uint32_t count, const Context& context,
                                            std::span<const TokenId> uncounted = {});

private:
    std::span<const float> process(const Parameters& parameters, std::span<const float> logits,
                                   const Context& context);
    void apply_processors(const Parameters& parameters, const Context& context);
    void mask_disallowed(const Context& context);
    Candidate sample_candidates(const Parameters& parameters, uint32_t position);

    std::vector<float> processed_;                        ///< logits after step 1, [vocabulary]
    std::vector<Candidate> candidates_;                   ///< in order, finite
    std::vector<Candidate> uncounted_;                    ///< in order, finite
    std::vector<std::pair<TokenId, float>> extra_logits_; ///< logits of Context::allowed_extra
    std::vector<uint32_t> per_token_;                     ///< [vocabulary], zero between uses
    std::vector<uint32_t> lengths_;                       ///< [history]
    std::vector<std::pair<double, uint32_t>> deviations_;
};

/// Sampler::sample() without history, for a single use.
Result<SampledToken> sample(const Parameters& parameters, std::span<const float> logits, uint32_t position);
Result<SampledToken> sample(const Parameters& parameters, std::span<const Candidate> candidates,
                            uint32_t position);

} // namespace etna::sampling
