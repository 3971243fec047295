#include "core/sampling/logit_bias.hpp"

#include "core/sampling/change.hpp"

#include <cassert>
#include <cmath>

#include <fmt/format.h>

namespace etna::sampling {

Status check(std::span<const LogitBias> biases, uint32_t vocabulary) {
    for (const LogitBias& one : biases) {
        if (one.token >= vocabulary) {
            return Error{
                ErrorKind::invalid_argument,
                fmt::format("logit_bias names token {}, and the vocabulary has {}", one.token, vocabulary),
                fmt::format("name tokens from 0 to {}", vocabulary - 1)};
        }
        if (std::isnan(one.bias) || (std::isinf(one.bias) && one.bias > 0)) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("the logit_bias of token {} is {}", one.token, one.bias),
                         "give a number, or -infinity to ban the token"};
        }
    }
    return {};
}

void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases) {
    for (const LogitBias& one : biases) {
        assert(one.token < logits.size());
        float& logit = logits[one.token];
        logit = std::isinf(one.bias) ? one.bias : rounded_logit(logit, double{logit} + one.bias);
    }
}

} // namespace etna::sampling
