#include "tests/engine/simulation.hpp"

#include "core/sampling/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace etna::test {
namespace {

/// Returns the maximum length of a sequence: the context, or all pages of the smallest full group and one
/// token that is not stored.
uint32_t length_limit(const engine::Limits& limits) {
    uint32_t length = limits.context_tokens;
    for (const engine::CacheGroup& group : limits.groups) {
        if (group.kind == engine::CacheKind::full)
            length = std::min(length, group.page_count * limits.page_tokens + 1);
    }
    return length;
}

void store(std::vector<FakeEntry>& entries, TokenId token, engine::RowKind kind) {
    entries.push_back(
        {.token = token, .position = static_cast<uint32_t>(entries.size()), .kind = kind, .written = true});
}

std::vector<FakeEntry> prompt_entries(const engine::Request& request) {
    std::vector<FakeEntry> entries;
    for (uint32_t i = 0; i < request.prompt.size(); ++i) {
        const engine::EmbeddingSegment* const segment = engine::segment_at(request.embeddings, i);
        store(entries, segment == nullptr ? request.prompt[i] : fake_token(segment->row(i)),
              request.kinds.empty() ? engine::RowKind::prefill : request.kinds[i]);
    }
    return entries;
}

/// Returns the entries that the row at `position` sees in each group if it attends to [0, end).
std::vector<std::vector<FakeEntry>> visible_at(const engine::Limits& limits,
                                               const std::vector<FakeEntry>& entries, std::size_t position,
                                               std::size_t end) {
    std::vector<std::vector<FakeEntry>> visible;
    for (const engine::CacheGroup& group : limits.groups) {
        const std::size_t hidden =
            group.kind == engine::CacheKind::sliding_window
                ? std::max<std::size_t>(position + 1, group.window_tokens) - group.window_tokens
                : 0;
        visible.emplace_back(entries.begin() + static_cast<std::ptrdiff_t>(hidden),
                             entries.begin() + static_cast<std::ptrdiff_t>(end));
    }
    if (limits.state_slots > 0)
        visible.emplace_back(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(position) + 1);
    return visible;
}

std::vector<float> logits_after(const FakeOptions& options, const std::vector<FakeEntry>& entries) {
    const FakeModel model{options.limits.vocabulary, options.scripts};
    return model.logits(visible_at(options.limits, entries, entries.size() - 1, entries.size()));
}

/// Returns the log-probability of a prompt token with `logits`, by the definition of the softmax.
engine::TokenEvent score(std::vector<float> logits, TokenId token, uint32_t top) {
    engine::TokenEvent event{.token = token, .logit = logits[token], .origin = engine::Origin::prompt};
    for (const float logit : logits)
        event.rank += logit >= logits[token] ? 1 : 0;
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(double{logit});
    event.log_sum_exp = static_cast<float>(std::log(sum));
    for (std::size_t i = 0; i < std::min<std::size_t>(top, logits.size()); ++i) {
        const auto largest = std::max_element(logits.begin(), logits.end());
        event.top.push_back({static_cast<TokenId>(largest - logits.begin()), *largest});
        *largest = -std::numeric_limits<float>::infinity();
    }
    return event;
}

} // namespace

std::vector<float> hidden_states(const FakeOptions& options, const engine::Request& request) {
    const FakeModel model{options.limits.vocabulary, options.scripts};
    const std::vector<FakeEntry> entries = prompt_entries(request);
    std::vector<float> states;
    const bool is_whole = request.attention == engine::AttentionSpan::segment;
    const bool is_last = request.hidden == engine::HiddenRows::last;
    for (std::size_t i = is_last ? entries.size() - 1 : 0; i < entries.size(); ++i) {
        const auto* const segment = engine::segment_at(request.embeddings, static_cast<uint32_t>(i));
        const bool is_in_whole = segment != nullptr && segment->attention == engine::AttentionSpan::segment;
        std::size_t end = is_in_whole ? segment->end() : i + 1;
        end = is_whole ? entries.size() : end;
        const std::vector<float> row =
            model.hidden(visible_at(options.limits, entries, i, end), options.limits.width);
        states.insert(states.end(), row.begin(), row.end());
    }
    const std::size_t width = options.limits.width;
    if (request.hidden == engine::HiddenRows::first)
        states.resize(width);
    if (request.hidden == engine::HiddenRows::mean) {
        for (std::size_t k = 0; k < width; ++k) {
            double sum = 0;
            for (std::size_t i = 0; i < entries.size(); ++i)
                sum += double{states[i * width + k]};
            states[k] = static_cast<float>(sum / static_cast<double>(entries.size()));
        }
        states.resize(width);
    }
    return states;
}

std::vector<float> logits_after(const FakeOptions& options, const engine::Request& request,
                                std::span<const TokenId> generated) {
    std::vector<FakeEntry> entries = prompt_entries(request);
    for (const TokenId token : generated)
        store(entries, token, engine::RowKind::decode);
    return logits_after(options, entries);
}

Expected simulate(const FakeOptions& options, const engine::Request& request) {
    const std::vector<FakeEntry> prompt = prompt_entries(request);
    std::vector<FakeEntry> entries;
    Expected expected;
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        entries.push_back(prompt[i]);
        if (request.prompt_candidates && i + 1 < request.prompt.size()) {
            expected.scores.push_back(
                score(logits_after(options, entries), request.prompt[i + 1], *request.prompt_candidates));
        }
    }
    while (true) {
        const std::vector<float> logits = logits_after(options, entries);
        const auto position = static_cast<uint32_t>(entries.size() - 1);
        std::vector<TokenId> tokens = request.prompt;
        tokens.insert(tokens.end(), expected.tokens.begin(), expected.tokens.end());
        std::vector<sampling::LogitBias> bias = request.logit_bias;
        if (expected.tokens.size() < request.min_tokens) {
            for (const TokenId end : request.end_tokens)
                bias.push_back({end, -std::numeric_limits<float>::infinity()});
        }
        const sampling::Context context{.history = {.tokens = tokens, .prompt_tokens = request.prompt.size()},
                                        .logit_bias = bias,
                                        .dry_breakers = &request.dry_breakers};
        const TokenId token =
            sampling::Sampler().sample(request.sampling, logits, position, context).value().token;
        if (std::count(request.end_tokens.begin(), request.end_tokens.end(), token) > 0) {
            expected.reason = engine::FinishReason::stop;
            return expected;
        }
        expected.tokens.push_back(token);
        if (expected.tokens.size() == request.max_tokens ||
            entries.size() + 1 == length_limit(options.limits))
            return expected;
        store(entries, token, engine::RowKind::decode);
    }
}

uint32_t pick(Random& random, uint32_t min, uint32_t max) {
    return min + static_cast<uint32_t>(random() % (max - min + 1));
}

void add_random_state(Random& random, engine::Limits& limits) {
    if (pick(random, 0, 1) == 0) {
        limits.state_slots = limits.sequences_max + pick(random, 1, 3);
        limits.pending_rows_max = pick(random, 1, 9);
    }
    const uint32_t share = pick(random, 0, 2);
    if (share == 0)
        return;
    const uint32_t window = pick(random, 1, 9);
    const uint32_t needed = engine::window_pages(window, limits.batch_rows_max, limits.page_tokens);
    limits.groups.push_back({engine::CacheKind::sliding_window, window, needed + pick(random, 0, 8)});
    if (share == 1)
        limits.groups.erase(limits.groups.begin());
}

} // namespace etna::test
