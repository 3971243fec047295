#include "core/sampling/sampler.hpp"

#include "core/sampling/candidates.hpp"
#include "core/sampling/filters.hpp"
#include "core/sampling/logit_processors.hpp"
#include "core/sampling/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

bool is_bad(float logit) {
    return std::isnan(logit) || logit == std::numeric_limits<float>::infinity();
}

Error bad_logit(TokenId token, float logit) {
    return {ErrorKind::internal, fmt::format("the logit of token {} is {}", token, logit)};
}

Error no_finite_logit() {
    return {ErrorKind::internal, "no token has a finite logit"};
}

/// Checks that every logit is a number below +infinity, and that at least one is finite.
Status check(std::span<const float> logits) {
    const auto bad = std::find_if(logits.begin(), logits.end(), is_bad);
    if (bad != logits.end())
        return bad_logit(static_cast<TokenId>(bad - logits.begin()), *bad);
    if (std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isinf(logit); }))
        return no_finite_logit();
    return {};
}

/// The maximum number of candidates left by top-n-sigma and top-k; both retain a head.
std::size_t count_head(const Parameters& parameters, std::span<const float> logits) {
    if (parameters.temperature == 0)
        return 1;
    const std::size_t within = count_within_sigmas(logits, parameters.top_n_sigma, parameters.min_keep);
    if (parameters.top_k == 0)
        return within;
    return std::min<std::size_t>(within, std::max(parameters.top_k, parameters.min_keep));
}

} // namespace

Result<SampledToken> Sampler::sample(const Parameters& parameters, std::span<const float> logits,
                                     uint32_t position, const Context& context) {
    ETNA_CHECK(check(logits));
    const std::span<const float> processed = process(parameters, logits, context);
    find_top(processed, 1, candidates_);
    if (candidates_.empty() && !context.allowed.empty()) {
        return invalid_argument("no token that matches the grammar is possible here",
                                "relax the options that ban tokens, such as logit_bias and min_tokens");
    }
    if (candidates_.empty()) {
        return invalid_argument("logit_bias bans every token that is possible here",
                                "leave at least one token without -infinity");
    }
    if (const std::size_t count = count_head(parameters, processed); count > 1)
        find_top(processed, count, candidates_);
    const TokenId token = sample_candidates(parameters, position).token;
    return SampledToken{token, logits[token]};
}

Result<SampledToken> Sampler::sample(const Parameters& parameters, std::span<const Candidate> candidates,
                                     uint32_t position) {
    for (const Candidate& candidate : candidates) {
        if (is_bad(candidate.logit))
            return bad_logit(candidate.token, candidate.logit);
    }
    if (!std::is_sorted(candidates.begin(), candidates.end(), comes_before))
        return Error{ErrorKind::internal, "the candidates are not sorted"};
    candidates_.assign(candidates.begin(), candidates.end());
    std::erase_if(candidates_, [](const Candidate& candidate) { return std::isinf(candidate.logit); });
    if (candidates_.empty())
        return no_finite_logit();
    processed_.clear();
    for (const Candidate& candidate : candidates_)
        processed_.push_back(candidate.logit);
    candidates_.resize(std::min(candidates_.size(), count_head(parameters, processed_)));
    const Candidate sampled = sample_candidates(parameters, position);
    return SampledToken{sampled.token, sampled.logit};
}

Result<std::span<const Candidate>> Sampler::rank(const Parameters& parameters, std::span<const float> logits,
                                                 uint32_t count, const Context& context,
                                                 std::span<const TokenId> uncounted) {
    ETNA_CHECK(check(logits));
    const std::span<const float> processed = process(parameters, logits, context);
    find_top(processed, count, candidates_);
    const auto is_uncounted = [&](const Candidate& candidate) {
        return std::binary_search(uncounted.begin(), uncounted.end(), candidate.token);
    };
    if (std::none_of(candidates_.begin(), candidates_.end(), is_uncounted))
        return std::span<const Candidate>(candidates_);
    uncounted_.clear();
    std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(uncounted_), is_uncounted);
    if (processed.data() != processed_.data())
        processed_.assign(processed.begin(), processed.end());
    for (const TokenId token : uncounted)
        processed_[token] = -std::numeric_limits<float>::infinity();
    find_top(processed_, count, candidates_);
    const auto others = static_cast<std::ptrdiff_t>(candidates_.size());
    candidates_.insert(candidates_.end(), uncounted_.begin(), uncounted_.end());
    std::inplace_merge(candidates_.begin(), candidates_.begin() + others, candidates_.end(), comes_before);
    return std::span<const Candidate>(candidates_);
}

/// Returns the logits after step 1: `logits` itself if nothing changes them.
std::span<const float> Sampler::process(const Parameters& parameters, std::span<const float> logits,
                                        const Context& context) {
    if (context.logit_bias.empty() && context.allowed.empty() && !changes_logits(parameters))
        return logits;
    processed_.assign(logits.begin(), logits.end());
    apply_processors(parameters, context);
    return processed_;
}

/// Runs step 1 on `processed_`.
void Sampler::apply_processors(const Parameters& parameters, const Context& context) {
    static const SequenceBreakers no_breakers;
    per_token_.resize(processed_.size());
    if (!context.allowed.empty())
        mask_disallowed(context);
    add_logit_bias(processed_, context.logit_bias);
    apply_repetition_penalty(processed_, parameters, context.history, per_token_);
    apply_frequency_penalty(processed_, parameters, context.history, per_token_);
    apply_presence_penalty(processed_, parameters, context.history, per_token_);
    apply_dry(processed_, parameters, context.dry_breakers != nullptr ? *context.dry_breakers : no_breakers,
              context.history, per_token_, lengths_);
}

/// Works on words of 32 tokens, because most of a vocabulary does not match a grammar.
void Sampler::mask_disallowed(const Context& context) {
    constexpr float impossible = -std::numeric_limits<float>::infinity();
    extra_logits_.clear();
    for (const TokenId token : context.allowed_extra)
        extra_logits_.emplace_back(token, processed_[token]);
    for (std::size_t first = 0; first < processed_.size(); first += 32) {
        const uint32_t word = context.allowed[first / 32];
        const std::size_t end = std::min(first + 32, processed_.size());
        for (std::size_t token = first; token < end; ++token)
            processed_[token] = ((word >> (token - first)) & 1) != 0 ? processed_[token] : impossible;
    }
    for (const auto& [token, logit] : extra_logits_)
        processed_[token] = logit;
}

/// Runs steps 2 and 3 on `candidates_`, after top-n-sigma and top-k.
Candidate Sampler::sample_candidates(const Parameters& parameters, uint32_t position) {
    if (parameters.temperature == 0)
        return candidates_.front();
    const std::size_t min_keep = parameters.min_keep;
    keep_typical(candidates_, parameters.typical_p, min_keep, deviations_);
    candidates_.resize(count_within_top_p(candidates_, parameters.top_p, min_keep));
    candidates_.resize(count_within_min_p(candidates_, parameters.min_p, min_keep));
    std::span<const Candidate> left = candidates_;
    if (xtc_uniform(parameters.seed, position) < parameters.xtc_probability)
        left = left.subspan(count_top_choices(left, parameters.xtc_threshold, min_keep));
    return left[draw(left, parameters.temperature, uniform(parameters.seed, position))];
}

Result<SampledToken> sample(const Parameters& parameters, std::span<const float> logits, uint32_t position) {
    return Sampler().sample(parameters, logits, position);
}

Result<SampledToken> sample(const Parameters& parameters, std::span<const Candidate> candidates,
                            uint32_t position) {
    return Sampler().sample(parameters, candidates, position);
}

} // namespace etna::sampling
