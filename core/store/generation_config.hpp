#pragma once

#include "core/base/result.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

namespace etna::store {

/// The sampling settings that a model's publisher recommends; numbers as written in the file. Source: Hugging
/// Face Transformers, GenerationConfig.
struct GenerationConfig {
    std::optional<double> temperature = {};
    std::optional<double> top_k = {};
    std::optional<double> top_p = {};
    std::optional<double> min_p = {};
    std::optional<double> repetition_penalty = {};
    std::optional<double> num_assistant_tokens = {};
    std::optional<double> assistant_confidence_threshold = {};
};

struct GenerationConfigMember {
    std::string_view name; ///< in the file
    std::optional<double> GenerationConfig::* value;
};

inline constexpr std::array generation_config_members = {
    GenerationConfigMember{"temperature", &GenerationConfig::temperature},
    GenerationConfigMember{"top_k", &GenerationConfig::top_k},
    GenerationConfigMember{"top_p", &GenerationConfig::top_p},
    GenerationConfigMember{"min_p", &GenerationConfig::min_p},
    GenerationConfigMember{"repetition_penalty", &GenerationConfig::repetition_penalty},
    GenerationConfigMember{"num_assistant_tokens", &GenerationConfig::num_assistant_tokens},
    GenerationConfigMember{"assistant_confidence_threshold",
                           &GenerationConfig::assistant_confidence_threshold}};

constexpr std::string_view generation_config_name = "generation_config.json";

/// Parses the text of such a file. Errors: corrupt (not a JSON object, or a member that is not a number).
Result<GenerationConfig> parse_generation_config(std::string_view text);

/// Reads `generation_config.json` in the model file's folder; if the file is missing, all members are empty.
/// Errors: io (unreadable, or larger than a mebibyte), corrupt.
Result<GenerationConfig> generation_config_beside(const std::filesystem::path& model);

} // namespace etna::store
