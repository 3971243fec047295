#include "core/base/keyed_hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <sys/random.h>

namespace etna {
namespace {

/// Returns two random numbers, the same ones during the life of the process.
const std::array<uint64_t, 2>& keys() {
    static const std::array<uint64_t, 2> made = [] {
        std::array<uint64_t, 2> numbers = {0x9E3779B97F4A7C15, 0xD1B54A32D192ED03};
        if (::getrandom(numbers.data(), sizeof numbers, GRND_NONBLOCK) != sizeof numbers)
            numbers[0] ^= reinterpret_cast<uintptr_t>(&keys); // early at boot: the address is random
        numbers[1] |= 1;
        return numbers;
    }();
    return made;
}

/// Folds the 128 bits of a product into 64.
uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 Wide; // NOLINT(modernize-use-using): no extension of a `using`
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

} // namespace

std::size_t KeyedHash::operator()(std::string_view text) const {
    const auto& [start, factor] = keys();
    uint64_t hash = start ^ text.size();
    while (!text.empty()) {
        uint64_t word = 0;
        const std::size_t bytes = std::min(text.size(), sizeof word);
        std::memcpy(&word, text.data(), bytes);
        text.remove_prefix(bytes);
        hash = fold(hash ^ word, factor) + start;
    }
    return fold(hash, factor ^ start);
}

std::size_t KeyedHash::operator()(uint64_t number) const {
    const auto& [start, factor] = keys();
    return fold(number ^ start, factor);
}

} // namespace etna
