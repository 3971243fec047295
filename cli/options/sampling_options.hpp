#pragma once

#include "cli/options/option_values.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/sampling/logit_processors.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etna::cli {

/// The validated options of the category `sampling`.
struct SamplingOptions {
    generate::SamplingOverrides overrides;
    std::vector<sampling::LogitBias> logit_bias;
    std::optional<std::vector<std::string>> dry_breakers; ///< empty: the defaults
    std::optional<int64_t> seed;                          ///< empty: random
};

/// The options of the category `sampling`.
std::span<const Option> sampling_options();

/// Precondition: the command has all of them. Errors: invalid_argument.
Result<SamplingOptions> read_sampling(const OptionValues& values);

} // namespace etna::cli
