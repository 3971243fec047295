#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace etna::server::api {

/// How much the model is asked to think, by the names of OpenAI's API.
enum class ReasoningEffort : uint8_t { none, minimal, low, medium, high, xhigh, max };

/// In the order of ReasoningEffort.
constexpr std::array<std::string_view, 7> effort_names = {"none", "minimal", "low", "medium",
                                                          "high", "xhigh",   "max"};

/// Tokens of reasoning for each effort; empty: no limit.
using EffortBudgets = std::array<std::optional<uint32_t>, effort_names.size()>;

constexpr std::string_view name_of(ReasoningEffort effort) {
    return effort_names.at(static_cast<std::size_t>(effort));
}

} // namespace etna::server::api
