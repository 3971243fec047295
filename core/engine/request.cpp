#include "core/engine/request.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

Error refused(std::string message, std::string hint = {}) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

} // namespace

Status check(const BeamOptions& beams) {
    if (beams.width == 0 || beams.width > beams_max)
        return refused(fmt::format("the beam width is {}, outside 1 to {}", beams.width, beams_max));
    if (beams.answers == 0 || beams.answers > beams.width) {
        return refused(fmt::format("{} answers of {} beams; the maximum is one for each beam", beams.answers,
                                   beams.width));
    }
    if (beams.groups == 0 || beams.width % beams.groups != 0) {
        return refused(fmt::format("{} beams cannot be divided into {} groups of equal size", beams.width,
                                   beams.groups));
    }
    if (!(std::abs(beams.length_penalty) <= length_penalty_max)) {
        return refused(fmt::format("length_penalty is {}, outside {} to {}", beams.length_penalty,
                                   -length_penalty_max, length_penalty_max));
    }
    if (!(beams.diversity_penalty >= 0 && beams.diversity_penalty <= diversity_penalty_max)) {
        return refused(fmt::format("diversity_penalty is {}, outside 0 to {}", beams.diversity_penalty,
                                   diversity_penalty_max));
    }
    return {};
}

Status check(const Speculation& speculation, uint32_t vocabulary) {
    if (speculation.tokens_max == 0 || speculation.tokens_max > drafts_max) {
        return refused(fmt::format("the number of drafts per step is {}, outside 1 to {}",
                                   speculation.tokens_max, drafts_max));
    }
    if (speculation.lookup_ngram_max > ngram_max) {
        return refused(fmt::format("the longest n-gram to look up has {} tokens; the maximum is {}",
                                   speculation.lookup_ngram_max, ngram_max));
    }
    if (const auto min = speculation.confidence_min; min && !(*min >= 0 && *min <= 1))
        return refused(fmt::format("the minimum draft confidence is {}, outside 0 to 1", *min));
    const auto foreign = std::find_if(speculation.prediction.begin(), speculation.prediction.end(),
                                      [&](TokenId token) { return token >= vocabulary; });
    if (foreign != speculation.prediction.end()) {
        return refused(
            fmt::format("the prediction has token {}, outside the vocabulary of {}", *foreign, vocabulary));
    }
    return {};
}

namespace {

Status check_prompt(const Request& request, const Limits& limits) {
    const std::size_t length = request.prompt.size();
    for (std::size_t i = 0; i < length; ++i) {
        if (request.prompt[i] >= limits.vocabulary && request.prompt[i] != no_token) {
            return refused(fmt::format("token {} of the prompt is {}, outside the vocabulary of {}", i,
                                       request.prompt[i], limits.vocabulary));
        }
    }
    ETNA_CHECK(check(request.embeddings, request.prompt, limits));
    if (!request.kinds.empty() && request.kinds.size() != length)
        return refused(fmt::format("{} row kinds for {} tokens", request.kinds.size(), length));
    const bool has_embeddings = !request.embeddings.empty();
    for (std::size_t i = 0; i < request.kinds.size() && has_embeddings; ++i) {
        if (request.kinds[i] == RowKind::decode && request.prompt[i] == no_token)
            return refused(fmt::format("position {} of the prompt has an embedding in a decode row", i));
    }
    if (has_embeddings && request.prompt_candidates)
        return refused("a prompt with embeddings has no log-probabilities");
    const std::vector<RopePosition>& rope = request.rope_positions;
    if (!rope.empty() && rope.size() != length)
        return refused(fmt::format("{} rotary positions for {} tokens", rope.size(), length));
    for (std::size_t i = 0; i < rope.size(); ++i) {
        if (*std::max_element(rope[i].begin(), rope[i].end()) >= limits.context_tokens) {
            return refused(fmt::format("the rotary position of position {} is beyond the context of {}", i,
                                       limits.context_tokens));
        }
    }
    const std::vector<uint32_t>& branches = request.branch_positions;
    if (branches.size() > branch_positions_max || !std::is_sorted(branches.begin(), branches.end())) {
        return refused(
            fmt::format("branch_positions is not ascending, or has more than {}", branch_positions_max));
    }
    return {};
}

Status check_hidden(const Request& request, const Limits& limits) {
    const bool is_whole = request.attention == AttentionSpan::segment;
    if (limits.is_encoder && (!request.hidden || !is_whole))
        return refused("the model encodes texts and generates none", "use `etna embed`");
    if (!request.hidden) {
        return is_whole ? refused("a prompt without causal attention has no continuation",
                                  "request its hidden states")
                        : Status();
    }
    if (request.beams || request.speculation || request.constraint != nullptr || request.prompt_candidates) {
        return refused("hidden states exclude beams, speculation, constraints and log-probabilities of the "
                       "prompt");
    }
    const uint32_t max = whole_segment_max(limits);
    uint32_t embeddings = 0;
    for (const EmbeddingSegment& one : request.embeddings)
        embeddings += one.count;
    if (!is_whole)
        return {};
    if (embeddings > limits.embeddings_max) {
        return refused(
            fmt::format("the prompt has {} embeddings that attend to each other, but at most {} fit "
                        "a step",
                        embeddings, limits.embeddings_max));
    }
    if (std::count(request.kinds.begin(), request.kinds.end(), RowKind::decode) > 0)
        return refused("a prompt without causal attention has prefill rows only");
    if (request.prompt.size() > max) {
        return refused(fmt::format("the prompt has {} tokens; at most {} can attend to each other",
                                   request.prompt.size(), max),
                       "shorten the prompt or load the model with larger batches");
    }
    return {};
}

} // namespace

Status check(const Request& request, const Limits& limits) {
    const std::size_t length = request.prompt.size();
    if (length == 0)
        return refused("the prompt is empty", "send at least one token");
    if (length > limits.context_tokens - (request.hidden ? 0 : 1)) {
        return refused(fmt::format("the prompt has {} tokens; prompt and answer together have at most {}",
                                   length, limits.context_tokens),
                       "shorten the prompt or enlarge the context");
    }
    ETNA_CHECK(check_prompt(request, limits));
    ETNA_CHECK(check_hidden(request, limits));
    if (request.max_tokens == 0U)
        return refused("max_tokens is 0", "request at least one token");
    for (const CacheGroup& group : limits.groups) {
        if (group.kind != CacheKind::full)
            continue; // holds any prompt
        const uint32_t pages = divide_up(static_cast<uint32_t>(length), limits.page_tokens);
        if (pages > group.page_count) {
            return refused(fmt::format("the prompt of {} tokens needs {} cache pages; the cache has {}",
                                       length, pages, group.page_count),
                           "shorten the prompt or give the cache more memory");
        }
    }
    const uint32_t candidates = std::max(request.top_candidates, request.prompt_candidates.value_or(0));
    if (candidates > limits.candidates_max) {
        return refused(
            fmt::format("{} top candidates; the maximum is {}", candidates, limits.candidates_max));
    }
    if (request.beams)
        ETNA_CHECK(check(*request.beams));
    if (request.speculation)
        ETNA_CHECK(check(*request.speculation, limits.vocabulary));
    ETNA_CHECK(sampling::check(request.logit_bias, limits.vocabulary));
    return sampling::check(request.sampling);
}

} // namespace etna::engine
