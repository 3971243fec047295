#pragma once

#include "cli/diagnostics.hpp"
#include "cli/run_options.hpp"
#include "core/base/log.hpp"

#include <string_view>

namespace etna::cli {

/// Core's messages go to the diagnostics while this lives; those that are no warnings only when verbose.
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
