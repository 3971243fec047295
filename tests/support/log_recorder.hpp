#pragma once

#include "core/base/log.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace etna::test {

/// Log lines, in their order. Thread-safe.
class LineRecorder {
public:
    /// A function that records lines. The recorder must outlive it.
    [[nodiscard]] std::function<void(std::string_view)> sink() {
        return [this](std::string_view line) { add(line); };
    }

    void add(std::string_view line) {
        const std::scoped_lock lock(mutex_);
        lines_.emplace_back(line);
    }

    [[nodiscard]] std::vector<std::string> all() const {
        const std::scoped_lock lock(mutex_);
        return lines_;
    }

    /// Returns how many lines contain `part`.
    [[nodiscard]] int count(std::string_view part) const {
        const std::scoped_lock lock(mutex_);
        return static_cast<int>(std::ranges::count_if(
            lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; }));
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

/// Records core's log messages while it lives. At most one at a time, because the sink is the process's.
class LogRecorder {
public:
    LogRecorder() {
        set_log_sink([this](LogLevel level, std::string_view message) {
            messages_.add(message);
            if (level == LogLevel::warning)
                warnings_.add(message);
        });
    }
    LogRecorder(const LogRecorder&) = delete;
    LogRecorder& operator=(const LogRecorder&) = delete;
    ~LogRecorder() { set_log_sink({}); }

    [[nodiscard]] std::vector<std::string> all() const { return messages_.all(); }
    [[nodiscard]] std::vector<std::string> warnings() const { return warnings_.all(); }
    /// Returns how many messages contain `part`.
    [[nodiscard]] int count(std::string_view part) const { return messages_.count(part); }

private:
    LineRecorder messages_;
    LineRecorder warnings_;
};

} // namespace etna::test
