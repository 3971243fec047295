#pragma once

#include "cli/option_values.hpp"
#include "core/generate/defaults.hpp"
#include "core/sampling/logit_bias.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

/// The options of the category `sampling`, checked.
struct SamplingOptions {
    generate::SamplingWishes wishes;
    std::vector<sampling::LogitBias> logit_bias;
    std::optional<std::vector<std::string>> dry_breakers; ///< empty: the usual ones
    std::optional<int64_t> seed;                          ///< empty: a random one
};

/// Precondition: the command has all of them. Errors: invalid_argument.
Result<SamplingOptions> read_sampling(const OptionValues& values);

} // namespace etna::cli
