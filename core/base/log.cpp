#include "core/base/log.hpp"

#include <mutex>
#include <utility>

namespace etna {
namespace {

struct Log {
    std::mutex mutex;
    LogSink sink;
};

Log& the_log() {
    static Log instance;
    return instance;
}

} // namespace

void set_log_sink(LogSink sink) {
    Log& current = the_log();
    const std::scoped_lock lock(current.mutex);
    current.sink = std::move(sink);
}

void log(LogLevel level, std::string_view message) {
    Log& current = the_log();
    const std::scoped_lock lock(current.mutex);
    if (current.sink)
        current.sink(level, message);
}

} // namespace etna
