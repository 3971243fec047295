#include "core/generate/context_shift.hpp"

#include <algorithm>

namespace etna::generate {
namespace {

std::vector<TokenId> without(std::span<const TokenId> tokens, std::size_t begin, std::size_t count) {
    std::vector<TokenId> rest(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(begin));
    const auto after = tokens.subspan(begin + count);
    rest.insert(rest.end(), after.begin(), after.end());
    return rest;
}

} // namespace

std::size_t kept_tokens(const ContextShift& shift, std::size_t prompt_tokens, std::size_t begin_tokens,
                        uint32_t context_tokens) {
    constexpr std::size_t dropped_min = 4;
    const std::size_t wanted =
        shift.keep_tokens ? std::size_t{*shift.keep_tokens} + begin_tokens : prompt_tokens;
    const std::size_t max = context_tokens > dropped_min ? context_tokens - dropped_min : 0;
    return std::min({wanted, prompt_tokens, max});
}

std::vector<TokenId> shifted(std::span<const TokenId> tokens, std::size_t keep, const ContextShift& shift) {
    constexpr std::size_t dropped_parts = 16; // of which one is dropped at least
    const std::size_t after = tokens.size() - keep;
    const std::size_t wanted = shift.discard_tokens > 0 ? shift.discard_tokens : after / 2;
    return without(tokens, keep, std::min(std::max(wanted, after / dropped_parts), after));
}

std::vector<TokenId> shortened(std::span<const TokenId> prompt, std::size_t keep, uint32_t context_tokens) {
    if (prompt.size() < context_tokens)
        return {prompt.begin(), prompt.end()};
    const std::size_t block = (context_tokens - keep) / 2;
    const std::size_t blocks = (prompt.size() - keep - block) / block;
    return without(prompt, keep, blocks * block);
}

} // namespace etna::generate
