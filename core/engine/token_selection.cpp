#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

/// Whether the token is among the first max(top_k, min_keep) candidates of the unmodified distribution.
bool is_among_first(const Sequence& sequence, uint32_t position, const Limits& limits) {
    const sampling::Parameters& parameters = sequence.request->sampling;
    return sequence.bias_at(position).empty() && !sampling::changes_logits(parameters) &&
           parameters.top_n_sigma == 0 && parameters.top_k >= 1 &&
           std::max(parameters.top_k, parameters.min_keep) <= limits.candidates_max;
}

/// Returns the inputs of sampling the token after `position`.
Result<sampling::Context> context_of(const Sequence& sequence, uint32_t position, const Limits& limits) {
    const auto known = std::min<std::size_t>(position + 1, sequence.tokens.size());
    sampling::Context context = {.history = {.tokens = std::span(sequence.tokens).first(known),
                                             .prompt_tokens = sequence.prompt_tokens},
                                 .logit_bias = sequence.bias_at(position),
                                 .dry_breakers = &sequence.request->dry_breakers};
    if (sequence.is_restricted()) {
        ETNA_TRY(const Constraint::Allowed allowed, sequence.constraint->allowed());
        if (!allowed.tokens.empty() && allowed.tokens.size() < divide_up(limits.vocabulary, 32U))
            return Error{ErrorKind::internal, "a constraint belongs to another vocabulary"};
        context.allowed = allowed.tokens;
        if (allowed.may_end)
            context.allowed_extra = sequence.request->end_tokens;
    }
    return context;
}

Result<sampling::SampledToken> sample_row(const RowOutput& output, const Sequence& sequence,
                                          uint32_t position, OutputKind kind, const Limits& limits,
                                          sampling::Sampler& sampler) {
    if (kind == OutputKind::sampled)
        return sampling::SampledToken{output.token, output.logit};
    if (kind == OutputKind::candidates)
        return sampler.sample(sequence.request->sampling, std::span(output.candidates), position);
    ETNA_TRY(const sampling::Context context, context_of(sequence, position, limits));
    return sampler.sample(sequence.request->sampling, std::span(output.logits), position, context);
}

std::vector<Candidate> top_of(const RowOutput& output, uint32_t count) {
    const std::size_t known = std::min<std::size_t>(count, output.candidates.size());
    std::vector<Candidate> top;
    for (const Candidate& candidate : std::span(output.candidates).first(known)) {
        if (!std::isinf(candidate.logit))
            top.push_back(candidate);
    }
    return top;
}

/// Whether the continuations of a hypothesis follow from the unmodified distribution.
bool is_unchanged(const Sequence& sequence, uint32_t position) {
    return !sequence.is_restricted() && sequence.bias_at(position).empty() &&
           !sampling::changes_logits(sequence.request->sampling);
}

} // namespace

OutputSpec output_spec_for(const Sequence& sequence, uint32_t position, const Limits& limits) {
    const Request& request = *sequence.request;
    const sampling::Parameters& parameters = request.sampling;
    const uint32_t top = std::min(request.top_candidates, limits.vocabulary);
    if (request.hidden)
        return {.output_kind = OutputKind::hidden, .candidates = 0};
    if (sequence.continuations > 0) {
        // All end tokens may rank before the others.
        const auto ranked = sequence.continuations + static_cast<uint32_t>(request.end_tokens.size());
        const uint32_t first = std::max(std::min(ranked, limits.vocabulary), top);
        if (first <= limits.candidates_max && is_unchanged(sequence, position))
            return {.output_kind = OutputKind::candidates, .candidates = first};
        return {.output_kind = OutputKind::logits, .candidates = top};
    }
    if (sequence.is_restricted())
        return {.output_kind = OutputKind::logits, .candidates = top};
    const bool needs_no_top_k = parameters.temperature == 0;
    if (sequence.bias_at(position).empty() && sampling::is_plain(parameters) &&
        (needs_no_top_k || (parameters.top_k >= 1 && parameters.top_k <= limits.candidates_max)))
        return {.output_kind = OutputKind::sampled, .candidates = top};
    if (is_among_first(sequence, position, limits)) {
        const uint32_t first = std::min(std::max(parameters.top_k, parameters.min_keep), limits.vocabulary);
        return {.output_kind = OutputKind::candidates, .candidates = std::max(first, top)};
    }
    return {.output_kind = OutputKind::logits, .candidates = top};
}

Result<TokenEvent> read_token(const RowOutput& output, const Sequence& sequence, uint32_t position,
                              const Limits& limits, sampling::Sampler& sampler) {
    const OutputKind kind = output_spec_for(sequence, position, limits).output_kind;
    ETNA_TRY(const sampling::SampledToken sampled,
             sample_row(output, sequence, position, kind, limits, sampler));
    if (sampled.token >= limits.vocabulary) {
        return Error{ErrorKind::internal, fmt::format("token {} was sampled from a vocabulary of {}",
                                                      sampled.token, limits.vocabulary)};
    }
    return TokenEvent{.token = sampled.token,
                      .logit = sampled.logit,
                      .log_sum_exp = output.log_sum_exp,
                      .top = top_of(output, sequence.request->top_candidates)};
}

Result<Continuations> read_continuations(const RowOutput& output, const Sequence& sequence, uint32_t position,
                                         const Limits& limits, sampling::Sampler& sampler) {
    Continuations continuations = {.log_sum_exp = output.log_sum_exp,
                                   .top = top_of(output, sequence.request->top_candidates)};
    const auto add = [&](const Candidate& candidate, float logit) {
        continuations.tokens.push_back(
            {.token = candidate.token, .logit = logit, .processed_logit = candidate.logit});
    };
    if (output_spec_for(sequence, position, limits).output_kind == OutputKind::candidates) {
        for (const Candidate& candidate : output.candidates) {
            if (std::isnan(candidate.logit) || candidate.logit == std::numeric_limits<float>::infinity() ||
                candidate.token >= limits.vocabulary)
                return Error{ErrorKind::internal, "a candidate is NaN, infinite or outside the vocabulary"};
            if (!std::isinf(candidate.logit))
                add(candidate, candidate.logit);
        }
        return continuations;
    }
    ETNA_TRY(const sampling::Context context, context_of(sequence, position, limits));
    ETNA_TRY(const std::span<const Candidate> first,
             sampler.rank(sequence.request->sampling, output.logits, sequence.continuations, context,
                          sequence.request->end_tokens));
    for (const Candidate& candidate : first)
        add(candidate, output.logits[candidate.token]);
    return continuations;
}

TokenEvent read_prompt_logprob(const RowOutput& output, const Sequence& sequence, uint32_t position) {
    const TokenId next = sequence.tokens[position + 1];
    const float logit = output.logits[next];
    const auto as_likely = std::count_if(output.logits.begin(), output.logits.end(),
                                         [logit](float other) { return other >= logit; });
    return {.token = next,
            .logit = logit,
            .log_sum_exp = output.log_sum_exp,
            .top = top_of(output, sequence.request->prompt_candidates.value_or(0)),
            .origin = Origin::prompt,
            .rank = static_cast<uint32_t>(as_likely)};
}

} // namespace etna::engine
