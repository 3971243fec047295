#include "core/sampling/parameters.hpp"

#include "core/sampling/choose.hpp"

#include <cmath>

#include <fmt/format.h>

namespace etna::sampling {

Status check(const Parameters& parameters) {
    const auto refuse = [](const char* name, float value, const char* range) {
        return Error{ErrorKind::invalid_argument, fmt::format("{} is {}, outside {}", name, value, range),
                     fmt::format("choose {} from {}", name, range)};
    };
    // Written so that NaN fails each test.
    if (!(parameters.temperature >= 0) || std::isinf(parameters.temperature))
        return refuse("temperature", parameters.temperature, "[0, infinity)");
    if (!(parameters.top_p > 0 && parameters.top_p <= 1))
        return refuse("top_p", parameters.top_p, "(0, 1]");
    if (!(parameters.min_p >= 0 && parameters.min_p <= 1))
        return refuse("min_p", parameters.min_p, "[0, 1]");
    return {};
}

} // namespace etna::sampling
