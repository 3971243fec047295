#pragma once

#include "core/grammar/language.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace etna::test {

/// Checks that every reachable state of a language can be continued or is accepting. Follows transitions
/// selected by the bytes of `choices`, for up to 200 bytes, and aborts if a state has neither.
inline void walk(grammar::Language& language, grammar::Expression state, const std::string& choices) {
    constexpr std::size_t walk_bytes = 200;
    for (std::size_t step = 0; step < walk_bytes && !language.is_full(); ++step) {
        const auto preferred = static_cast<uint8_t>(choices.empty() ? step : choices[step % choices.size()]);
        grammar::Expression next = grammar::nothing;
        for (unsigned i = 0; i < 256 && next == grammar::nothing; ++i)
            next = language.next(state, static_cast<uint8_t>(preferred + i));
        if (next == grammar::nothing && !language.is_nullable(state) && !language.is_full()) {
            (void)std::fprintf(stderr, "lost after %zu bytes\n", step);
            std::abort();
        }
        if (next == grammar::nothing)
            return;
        state = next;
    }
}

} // namespace etna::test
