#pragma once

#include "cli/environment.hpp"
#include "cli/server_client.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// A server and one of its models.
struct ServedModel {
    RunningServer server;
    std::string api_key = {}; ///< empty: none
    std::string name;
    uint64_t context_tokens = 0; ///< 0: unknown

    /// Tokens that a program lets one answer have: a quarter of the context, at most 32,000.
    [[nodiscard]] uint64_t output_tokens() const;
    /// Tokens at which a program compacts its conversation, so that an answer still fits.
    [[nodiscard]] uint64_t prompt_tokens() const { return context_tokens - output_tokens(); }
};

/// A file for a program, in a folder of etna's.
struct SettingsFile {
    std::string name;
    std::string content;
};

/// Arguments that precede the user's, environment variables, and files. These programs treat an empty
/// variable as unset.
struct ProgramSettings {
    std::vector<std::string> arguments = {};
    Variables variables = {};
    std::vector<SettingsFile> files = {}; ///< of an editor: the one that is printed
};

/// A program that `etna launch` knows.
struct Program {
    std::string_view name;
    std::string_view executable; ///< empty: an editor, whose settings are printed
    std::string_view title;
    std::string_view hint; ///< how to install it; of an editor: where the settings belong
    /// `folder` will hold the files. Limits of an unknown context are left out.
    ProgramSettings (*settings)(const ServedModel& model, const std::filesystem::path& folder);
    /// Names a file of certificates to trust in addition to the system's. Some have only a variable that
    /// replaces the system's.
    std::string_view certificate_variable;
    uint64_t context_tokens_min; ///< context that its first prompt needs, as measured; 0: not measured

    [[nodiscard]] bool is_editor() const { return executable.empty(); }
};

/// Sorted by name, but for those that are used most.
std::span<const Program> launch_programs();

} // namespace etna::cli
