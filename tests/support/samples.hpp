#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace etna::test {

/// True with ETNA_TEST_LONG=1, which `scripts/test --long kernels model` sets: tests run every combination
/// of their factors. Otherwise they run a sample in which each value of each factor occurs.
inline bool runs_whole_products() {
    const char* value = std::getenv("ETNA_TEST_LONG");
    return value != nullptr && std::string_view(value) == "1";
}

/// True with ETNA_TEST_QUICK=1, which `scripts/test` without --all sets: each kernel and each model runs
/// once, with the plans of this device.
inline bool runs_once() {
    const char* value = std::getenv("ETNA_TEST_QUICK");
    return value != nullptr && std::string_view(value) == "1";
}

/// Values of one factor for combination number `index` of the others: all of them in a full product, one of
/// them, round-robin, in a sample.
template <class Values>
auto in_turn(const Values& values, std::size_t index) {
    std::vector<typename Values::value_type> chosen(values.begin(), values.end());
    if (!runs_whole_products())
        chosen = {chosen[index % chosen.size()]};
    return chosen;
}

} // namespace etna::test
