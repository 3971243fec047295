#pragma once

#include "cli/options/run_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/base/log.hpp"

#include <string_view>

namespace etna::cli {

/// Sends core's log messages to the diagnostics during its lifetime; those below warning level only if
/// verbose.
class LogToDiagnostics {
public:
    /// Borrows `diagnostics`.
    LogToDiagnostics(Diagnostics& diagnostics, Verbosity verbosity) {
        set_log_sink([&diagnostics, verbosity](LogLevel level, std::string_view message) {
            if (level == LogLevel::warning) {
                diagnostics.warning(message);
            } else if (verbosity == Verbosity::verbose) {
                diagnostics.line(message);
            }
        });
    }
    LogToDiagnostics(const LogToDiagnostics&) = delete;
    LogToDiagnostics& operator=(const LogToDiagnostics&) = delete;
    ~LogToDiagnostics() { set_log_sink({}); }
};

} // namespace etna::cli
