#pragma once

#include "core/grammar/language.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace etna::test {

/// What every language promises: who follows it can always go on or end. Takes ways by the bytes of
/// `choices`, up to 200 bytes far, and aborts where there is none.
inline void walk(grammar::Language& language, grammar::Expression state, const std::string& choices) {
    constexpr std::size_t walk_bytes = 200;
    for (std::size_t step = 0; step < walk_bytes && !language.is_full(); ++step) {
        const auto wanted = static_cast<uint8_t>(choices.empty() ? step : choices[step % choices.size()]);
        grammar::Expression next = grammar::nothing;
        for (unsigned i = 0; i < 256 && next == grammar::nothing; ++i)
            next = language.next(state, static_cast<uint8_t>(wanted + i));
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
