#include "core/grammar/until.hpp"

#include <string>

namespace etna::grammar {
namespace {

/// The Knuth-Morris-Pratt automaton of a mark: a state is the length of the prefix matched so far. No state
/// accepts yet, and the last one has no targets.
Automaton searching(std::string_view mark) {
    const auto size = static_cast<uint32_t>(mark.size());
    Automaton raw;
    for (int byte = 0; byte < 256; ++byte)
        raw.class_of[byte] = static_cast<uint8_t>(byte);
    raw.class_count = 256;
    raw.targets.assign(std::size_t{size + 1} * raw.class_count, Automaton::dead);
    raw.accepts.assign(size + 1, false);
    uint32_t fallback = 0; // state of the longest proper prefix of the mark that the input ends with
    for (uint32_t state = 0; state < size; ++state) {
        uint32_t* const row = &raw.targets[state * raw.class_count];
        for (uint32_t byte = 0; byte < control_byte; ++byte)
            row[byte] = state == 0 ? 0 : raw.targets[fallback * raw.class_count + byte];
        const auto expected = static_cast<uint8_t>(mark[state]);
        if (state > 0)
            fallback = raw.targets[fallback * raw.class_count + expected];
        row[expected] = state + 1;
    }
    return raw;
}

} // namespace

std::string control_text(TokenId token) {
    std::string text(1, static_cast<char>(control_byte));
    for (const int shift : {16, 8, 0})
        text += static_cast<char>((token >> shift) & 0xFF);
    return text;
}

Expression until(Language& language, std::string_view mark) {
    Automaton raw = searching(mark);
    raw.accepts.back() = true;
    return language.accepted(minimised(raw));
}

Result<Automaton> without(std::span<const std::string> marks) {
    Automaton all = searching({}); // any bytes
    all.accepts.flip();
    all.targets.assign(all.class_count, 0);
    all.targets[control_byte] = Automaton::dead;
    all = minimised(all);
    for (const std::string& mark : marks) {
        Automaton raw = searching(mark);
        raw.accepts.flip();
        raw.accepts.back() = false;
        ETNA_TRY(all, intersection(all, minimised(raw)));
    }
    return all;
}

} // namespace etna::grammar
