#include "tests/support/fake_model.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace etna::test {
namespace {

constexpr float scripted_logit = 60; // all others are in [-8, 8)

/// Finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
uint64_t mix(uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

uint64_t hash(std::span<const FakeEntry> entries) {
    uint64_t state = entries.size();
    for (const FakeEntry& entry : entries) {
        state = mix(state ^ entry.token);
        state = mix(state ^ entry.position);
        state = mix(state ^ static_cast<uint64_t>(entry.kind) ^ (entry.written ? 2U : 0U));
    }
    return state;
}

bool is_prompt(const FakeEntry& entry) {
    return entry.kind == engine::RowKind::prefill;
}

/// Returns the number of runs of decode rows.
uint32_t count_answers(std::span<const FakeEntry> entries) {
    uint32_t answers = 0;
    for (std::size_t i = 1; i < entries.size(); ++i)
        answers += is_prompt(entries[i - 1]) && !is_prompt(entries[i]) ? 1 : 0;
    return answers;
}

std::optional<TokenId> scripted_token(const FakeScript& script, std::span<const FakeEntry> entries) {
    const auto last = std::find_if(entries.rbegin(), entries.rend(), is_prompt);
    const auto prompt = entries.first(static_cast<std::size_t>(entries.rend() - last));
    const auto same_token = [](const FakeEntry& entry, TokenId token) { return entry.token == token; };
    const bool is_prompt_meant =
        !script.prompt ||
        std::equal(prompt.begin(), prompt.end(), script.prompt->begin(), script.prompt->end(), same_token);
    const bool is_turn_meant = !script.answers_before || *script.answers_before == count_answers(prompt);
    if (script.continuation.empty() || !is_prompt_meant || !is_turn_meant)
        return std::nullopt;
    return script.continuation[std::min(entries.size() - prompt.size(), script.continuation.size() - 1)];
}

uint64_t hash_of(std::span<const std::vector<FakeEntry>> groups) {
    uint64_t state = groups.size();
    for (const auto& entries : groups)
        state = mix(state ^ hash(entries));
    return state;
}

} // namespace

TokenId fake_token(std::span<const float> embedding) {
    uint64_t state = embedding.size();
    for (const float value : embedding)
        state = mix(state ^ std::bit_cast<uint32_t>(value));
    return static_cast<TokenId>(state) | 0x80000000U;
}

std::vector<float> FakeModel::hidden(std::span<const std::vector<FakeEntry>> groups, uint32_t width) const {
    const uint64_t state = mix(hash_of(groups) ^ vocabulary);
    std::vector<float> result(width);
    for (uint32_t i = 0; i < width; ++i)
        result[i] = static_cast<float>(mix(state ^ mix(i)) >> 40) * 0x1p-20F - 8;
    return result;
}

std::vector<float> FakeModel::logits(std::span<const std::vector<FakeEntry>> groups) const {
    const uint64_t state = hash_of(groups);
    std::vector<float> result(vocabulary);
    for (uint32_t token = 0; token < vocabulary; ++token)
        result[token] = static_cast<float>(mix(state ^ mix(token)) >> 40) * 0x1p-20F - 8;
    for (const FakeScript& script : scripts) {
        if (const auto token = scripted_token(script, groups.front())) {
            result[*token % vocabulary] = scripted_logit;
            break;
        }
    }
    return result;
}

} // namespace etna::test
