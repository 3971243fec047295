#pragma once

#include "cli/options/option_values.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/sampling/logit_bias.hpp"

#include <cstdint>
#include <optional>
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

/// Precondition: the command has all of them. Errors: invalid_argument.
Result<SamplingOptions> read_sampling(const OptionValues& values);

} // namespace etna::cli
