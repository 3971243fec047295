#pragma once

#include "cli/options/option_values.hpp"
#include "core/engine/request.hpp"
#include "core/generate/speculation.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace etna::cli {

/// Options that select the best of several answers.
std::span<const Option> search_options();

/// Whether other sources override the two mutually exclusive options of speculative decoding: on a server, a
/// request and the model's generation_config.json do.
enum class DraftsBy : uint8_t { command_line, server };

/// Options of speculative decoding.
std::span<const Option> speculation_options(DraftsBy by);

/// How the best of several answers is selected; empty: a single answer.
struct SearchOptions {
    std::optional<uint32_t> best_of;
    std::optional<engine::BeamOptions> beams;

    /// Concurrent sequences per request.
    [[nodiscard]] uint32_t width() const { return beams ? beams->width : best_of.value_or(1); }
};

/// Precondition: the command has these options. Errors: invalid_argument.
Result<SearchOptions> read_search(const OptionValues& values);

/// Speculative decoding options.
struct DraftOptions {
    std::string model; ///< empty: none
    generate::SpeculationOverrides overrides;
};

/// Precondition: the command has these options. Errors: invalid_argument.
Result<DraftOptions> read_drafts(const OptionValues& values);

} // namespace etna::cli
