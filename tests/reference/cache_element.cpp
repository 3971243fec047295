#include "tests/reference/cache_element.hpp"

#include "tests/reference/decode.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

namespace etna::reference {
namespace {

constexpr std::size_t block_elements = 32;
constexpr double code_max = 127;

void round_block(std::span<double> block) {
    double largest = 0;
    for (const double value : block)
        largest = std::max(largest, std::fabs(value));
    const double scale = round_to_half(largest / code_max);
    for (double& value : block)
        value = scale > 0 ? scale * std::clamp(std::nearbyint(value / scale), -code_max, code_max) : 0;
}

} // namespace

Vector stored(View heads, CacheElement element, std::size_t head_length) {
    assert(heads.size() % head_length == 0);
    Vector result(heads.begin(), heads.end());
    switch (element) {
    case CacheElement::exact:
        break;
    case CacheElement::f32:
        std::transform(result.begin(), result.end(), result.begin(), round_to_float);
        break;
    case CacheElement::f16:
        std::transform(result.begin(), result.end(), result.begin(), round_to_half);
        break;
    case CacheElement::q8_0:
        for (std::size_t head = 0; head < result.size(); head += head_length) {
            for (std::size_t at = 0; at < head_length; at += block_elements) {
                const std::size_t count = std::min(block_elements, head_length - at);
                round_block(std::span(result).subspan(head + at, count));
            }
        }
        break;
    }
    return result;
}

} // namespace etna::reference
