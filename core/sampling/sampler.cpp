#include "core/sampling/sampler.hpp"

#include "core/sampling/dry.hpp"
#include "core/sampling/filters.hpp"
#include "core/sampling/penalties.hpp"
#include "core/sampling/top.hpp"

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

Error nothing_to_choose() {
    return {ErrorKind::internal, "no token has a finite logit"};
}

/// Checks that every logit is a number below +infinity, and that at least one is finite.
Status check(std::span<const float> logits) {
    const auto bad = std::find_if(logits.begin(), logits.end(), is_bad);
    if (bad != logits.end())
        return bad_logit(static_cast<TokenId>(bad - logits.begin()), *bad);
    if (std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isinf(logit); }))
        return nothing_to_choose();
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

Result<Choice> Sampler::choose(const Parameters& parameters, std::span<const float> logits, uint32_t position,
                               const Context& context) {
    ETNA_CHECK(check(logits));
    const std::span<const float> final = changed(parameters, logits, context);
    find_top(final, 1, candidates_);
    if (candidates_.empty() && !context.allowed.empty()) {
        return Error{ErrorKind::invalid_argument, "no token that fits the grammar is possible here",
                     "take away what bans tokens, such as logit_bias and min_tokens"};
    }
    if (candidates_.empty()) {
        return Error{ErrorKind::invalid_argument, "logit_bias bans every token that is possible here",
                     "leave at least one token without -infinity"};
    }
    if (const std::size_t count = count_head(parameters, final); count > 1)
        find_top(final, count, candidates_);
    const TokenId token = choose_from_candidates(parameters, position).token;
    return Choice{token, logits[token]};
}

Result<Choice> Sampler::choose(const Parameters& parameters, std::span<const Candidate> candidates,
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
        return nothing_to_choose();
    changed_.clear();
    for (const Candidate& candidate : candidates_)
        changed_.push_back(candidate.logit);
    candidates_.resize(std::min(candidates_.size(), count_head(parameters, changed_)));
    const Candidate chosen = choose_from_candidates(parameters, position);
    return Choice{chosen.token, chosen.logit};
}

Result<std::span<const Candidate>> Sampler::rank(const Parameters& parameters, std::span<const float> logits,
                                                 uint32_t count, const Context& context,
                                                 std::span<const TokenId> apart) {
    ETNA_CHECK(check(logits));
    const std::span<const float> all = changed(parameters, logits, context);
    find_top(all, count, candidates_);
    const auto is_apart = [&](const Candidate& candidate) {
        return std::binary_search(apart.begin(), apart.end(), candidate.token);
    };
    if (std::none_of(candidates_.begin(), candidates_.end(), is_apart))
        return std::span<const Candidate>(candidates_);
    apart_.clear();
    std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(apart_), is_apart);
    if (all.data() != changed_.data())
        changed_.assign(all.begin(), all.end());
    for (const TokenId token : apart)
        changed_[token] = -std::numeric_limits<float>::infinity();
    find_top(changed_, count, candidates_);
    const auto others = static_cast<std::ptrdiff_t>(candidates_.size());
    candidates_.insert(candidates_.end(), apart_.begin(), apart_.end());
    std::inplace_merge(candidates_.begin(), candidates_.begin() + others, candidates_.end(), comes_before);
    return std::span<const Candidate>(candidates_);
}

/// The logits after step 1.
std::span<const float> Sampler::changed(const Parameters& parameters, std::span<const float> logits,
                                        const Context& context) {
    if (context.logit_bias.empty() && context.allowed.empty() && !changes_logits(parameters))
        return logits;
    changed_.assign(logits.begin(), logits.end());
    change(parameters, context);
    return changed_;
}

/// Step 1, on `changed_`.
void Sampler::change(const Parameters& parameters, const Context& context) {
    static const SequenceBreakers no_breakers;
    per_token_.resize(changed_.size());
    if (!context.allowed.empty())
        forbid_others(context);
    add_logit_bias(changed_, context.logit_bias);
    apply_repetition_penalty(changed_, parameters, context.history, per_token_);
    apply_frequency_penalty(changed_, parameters, context.history, per_token_);
    apply_presence_penalty(changed_, parameters, context.history, per_token_);
    apply_dry(changed_, parameters, context.dry_breakers != nullptr ? *context.dry_breakers : no_breakers,
              context.history, per_token_, lengths_);
}

/// Works on words of 32 tokens: most of a vocabulary does not match a grammar.
void Sampler::forbid_others(const Context& context) {
    constexpr float impossible = -std::numeric_limits<float>::infinity();
    kept_.clear();
    for (const TokenId token : context.allowed_extra)
        kept_.emplace_back(token, changed_[token]);
    for (std::size_t first = 0; first < changed_.size(); first += 32) {
        const uint32_t word = context.allowed[first / 32];
        const std::size_t end = std::min(first + 32, changed_.size());
        for (std::size_t token = first; token < end; ++token)
            changed_[token] = ((word >> (token - first)) & 1) != 0 ? changed_[token] : impossible;
    }
    for (const auto& [token, logit] : kept_)
        changed_[token] = logit;
}

/// Steps 2 and 3, on `candidates_`, after top-n-sigma and top-k.
Candidate Sampler::choose_from_candidates(const Parameters& parameters, uint32_t position) {
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

} // namespace etna::sampling
