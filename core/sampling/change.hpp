#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace etna::sampling {

/// A changed logit rounded to float: a finite one stays finite, -infinity stays. `value` is not NaN.
inline float rounded_logit(float before, double value) {
    constexpr double most = std::numeric_limits<float>::max();
    return std::isinf(before) ? before : static_cast<float>(std::clamp(value, -most, most));
}

} // namespace etna::sampling
