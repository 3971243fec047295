#pragma once

#include <functional>
#include <string_view>

namespace etna {

enum class LogLevel { debug, info, warning };

/// Receives core's log messages. Core never prints: the application installs a sink (the CLI writes to
/// stderr). The default sink drops everything. The sink may be called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// Replaces the process-wide sink. Thread-safe; blocks while a message is being delivered.
void set_log_sink(LogSink sink);

/// Delivers one message, without a trailing newline. Thread-safe.
void log(LogLevel level, std::string_view message);

} // namespace etna
