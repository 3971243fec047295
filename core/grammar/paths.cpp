#include "core/grammar/paths.hpp"

#include <algorithm>
#include <bit>

namespace etna::grammar {

Paths Paths::staying(std::size_t states) {
    Paths result(states);
    for (std::size_t state = 0; state < states; ++state)
        result.to_[state].set(state);
    return result;
}

Paths Paths::of_bytes(const Automaton& automaton, const ByteSet& set) {
    std::vector<bool> is_there(automaton.class_count);
    for (std::size_t byte = 0; byte < automaton.class_of.size(); ++byte) {
        if (set.contains(static_cast<uint8_t>(byte)))
            is_there[automaton.class_of[byte]] = true;
    }
    Paths result(automaton.state_count());
    for (uint32_t state = 0; state < automaton.state_count(); ++state) {
        for (uint32_t c = 0; c < automaton.class_count; ++c) {
            const uint32_t target = automaton.targets[state * automaton.class_count + c];
            if (is_there[c] && target != Automaton::dead)
                result.to_[state].set(target);
        }
    }
    return result;
}

void Paths::add(const Paths& others) {
    for (std::size_t state = 0; state < to_.size(); ++state)
        to_[state] |= others.to_[state];
}

Paths Paths::then(const Paths& others) const {
    constexpr std::size_t word_bits = 64;
    const States low = ~uint64_t{0};
    Paths result(to_.size());
    for (std::size_t state = 0; state < to_.size(); ++state) {
        for (std::size_t word = 0; word < to_.size(); word += word_bits) {
            uint64_t middles = ((to_[state] >> word) & low).to_ullong(); // few of many states
            for (; middles != 0; middles &= middles - 1)
                result.to_[state] |= others.to_[word + static_cast<std::size_t>(std::countr_zero(middles))];
        }
    }
    return result;
}

Paths Paths::power(uint32_t exponent) const {
    Paths result = staying(to_.size());
    Paths square = *this;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 != 0)
            result = result.then(square);
        if (exponent > 1)
            square = square.then(square);
    }
    return result;
}

Paths Paths::repeated(uint32_t min, uint32_t max) const {
    Paths at_most_once = staying(to_.size());
    at_most_once.add(*this);
    // Every reachable state is reached in fewer steps than there are states.
    const uint32_t more = max == unbounded ? max : max - min;
    return power(min).then(at_most_once.power(std::min(more, static_cast<uint32_t>(to_.size()))));
}

} // namespace etna::grammar
