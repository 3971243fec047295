#include "core/model/rotary.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// The (fractional) pair that turns `rotations` times over the original context: solve
/// context x base^(-2i / dims) = 2 pi rotations for i.
double pair_with_rotations(const RotaryConfig& config, double rotations) {
    const double turns = config.original_context / (rotations * 2 * std::numbers::pi);
    return config.dims * std::log(turns) / (2 * std::log(config.base));
}

/// The fraction of a pair's unscaled frequency in YaRN's blend, 1 for fast pairs and 0 for slow ones, by pair
/// index.
class KeepRamp {
public:
    explicit KeepRamp(const RotaryConfig& config)
        : first_(std::max(0.0, std::floor(pair_with_rotations(config, config.beta_fast)))),
          last_(std::min(config.dims - 1.0, std::ceil(pair_with_rotations(config, config.beta_slow)))) {}

    [[nodiscard]] double at(uint32_t pair) const {
        constexpr double least_length = 0.001; // both ends may meet; the ramp is then a step
        return 1 - std::clamp((pair - first_) / std::max(least_length, last_ - first_), 0.0, 1.0);
    }

private:
    double first_;
    double last_;
};

double scaled(const RotaryConfig& config, const KeepRamp& ramp, uint32_t pair, double frequency) {
    switch (config.scaling) {
    case RotaryScaling::none:
    case RotaryScaling::longrope:
        return frequency;
    case RotaryScaling::linear:
        return frequency / config.factor;
    case RotaryScaling::yarn: {
        const double keep = ramp.at(pair) * config.extrapolation;
        return frequency * ((1 - keep) / config.factor + keep);
    }
    }
    return frequency;
}

} // namespace

Rotary::Rotary(const RotaryConfig& config, uint32_t context_tokens) : magnitude_(config.attention_factor) {
    const uint32_t pairs = config.dims / 2;
    const bool is_long =
        config.scaling == RotaryScaling::longrope && context_tokens > config.original_context;
    const std::vector<float>& divisors = is_long ? config.long_divisors : config.divisors;
    assert(divisors.empty() || divisors.size() == pairs);
    const KeepRamp ramp(config);
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        double frequency = std::pow(config.base, -2.0 * pair / config.dims);
        if (!divisors.empty())
            frequency /= divisors[pair];
        frequencies_.push_back(scaled(config, ramp, pair, frequency));
    }
    if (config.scaling == RotaryScaling::yarn && config.extrapolation > 0 && config.factor > 1) {
        const double logarithm = 0.1 * std::log(config.factor);
        magnitude_ *= (1 + logarithm) / (1 + config.log_multiplier * logarithm);
    }
}

void Rotary::angles(uint32_t position, std::span<float> out) const {
    assert(out.size() == 2 * frequencies_.size());
    for (std::size_t pair = 0; pair < frequencies_.size(); ++pair) {
        const double angle = position * frequencies_[pair];
        out[2 * pair] = static_cast<float>(std::cos(angle) * magnitude_);
        out[2 * pair + 1] = static_cast<float>(std::sin(angle) * magnitude_);
    }
}

Result<std::vector<float>> read_divisors(const gguf::File& file, const gguf::Tensor& tensor, uint32_t pairs) {
    const auto error = [&](ErrorKind kind, std::string_view why) {
        return Error{.kind = kind,
                     .message = fmt::format("{}: tensor {}: {}", file.name(), tensor.name, why),
                     .hint =
                         "the file is damaged or was not converted right; fetch or convert the model again"};
    };
    if (tensor.type != gguf::TensorType::f32)
        return error(ErrorKind::unsupported, "must be of type F32");
    std::vector<float> divisors(pairs);
    if (tensor.bytes != pairs * sizeof(float))
        return error(ErrorKind::corrupt, fmt::format("must have {} elements", pairs));
    ETNA_CHECK(file.read(tensor, 0, std::as_writable_bytes(std::span(divisors))));
    const auto good = [](float value) { return std::isfinite(value) && value > 0; };
    if (!std::all_of(divisors.begin(), divisors.end(), good))
        return error(ErrorKind::corrupt, "every element must be a positive number");
    return divisors;
}

} // namespace etna::model
