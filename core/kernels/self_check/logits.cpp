#include "core/kernels/self_check/logits.hpp"

#include "core/kernels/self_check/noise.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace etna::kernels {

std::vector<float> random_logits() {
    Noise noise(12);
    std::vector<float> logits(std::size_t{sample_rows} * vocabulary);
    for (float& logit : logits)
        logit = std::round(noise.number() * 32) / 4;
    logits[vocabulary + 1500] = std::numeric_limits<float>::quiet_NaN();
    return logits;
}

uint32_t word_of(float number) {
    return std::bit_cast<uint32_t>(number);
}

vk::Range words_at(vk::Range range, uint64_t first, uint64_t count) {
    return range.part(first * 4, count * 4);
}

} // namespace etna::kernels
