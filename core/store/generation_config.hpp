#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

namespace etna::store {

/// What the publisher of a model recommends to sample with; numbers as they stand in the file. Source:
/// Hugging Face Transformers, GenerationConfig.
struct GenerationConfig {
    std::optional<double> temperature = {};
    std::optional<double> top_k = {};
    std::optional<double> top_p = {};
    std::optional<double> min_p = {};
    std::optional<double> repetition_penalty = {};
    std::optional<double> num_assistant_tokens = {};
    std::optional<double> assistant_confidence_threshold = {};
};

constexpr std::string_view generation_config_name = "generation_config.json";

/// The text of such a file. Errors: corrupt (no JSON object, or a member that is no number).
Result<GenerationConfig> parse_generation_config(std::string_view text);

/// The file `generation_config.json` beside a model's; nothing is recommended where there is none. Errors: io
/// (it cannot be read, or is larger than a mebibyte), corrupt.
Result<GenerationConfig> generation_config_beside(const std::filesystem::path& model);

} // namespace etna::store
