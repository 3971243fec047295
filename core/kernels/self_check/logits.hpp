#pragma once

#include "core/vk/range.hpp"

#include <cstdint>
#include <vector>

namespace etna::kernels {

/// Of random_logits().
constexpr uint32_t vocabulary = 2501;
constexpr uint32_t sample_rows = 2;

/// Logits with many ties, [sample_rows][vocabulary]; the second row has one NaN.
std::vector<float> random_logits();

/// The bits of a number.
uint32_t word_of(float number);

/// Words of a part of a range.
vk::Range words_at(vk::Range range, uint64_t first, uint64_t count);

} // namespace etna::kernels
