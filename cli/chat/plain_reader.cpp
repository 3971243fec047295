#include "cli/chat/plain_reader.hpp"

#include "cli/prompt.hpp"
#include "core/base/utf8.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace etna::cli {

LineReader::Outcome PlainReader::read(std::string_view /*prompt*/, std::string& line) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    constexpr std::size_t block_bytes = 4096;
    constexpr int poll_ms = 100; // a signal delivered to another thread does not interrupt poll()
    std::size_t searched = 0;
    while (true) {
        const std::size_t newline = waiting_.find('\n', searched);
        if (newline != std::string::npos || has_ended_) {
            if (std::exchange(is_too_long_, false)) {
                waiting_.erase(0, newline == std::string::npos ? newline : newline + 1);
                return Outcome::too_long;
            }
            if (!std::exchange(has_begun_, true) && waiting_.starts_with(byte_order_mark)) {
                waiting_.erase(0, byte_order_mark.size());
                searched = 0;
                continue;
            }
            if (waiting_.empty())
                return Outcome::end;
            line = repaired_utf8(std::string_view(waiting_).substr(0, newline));
            waiting_.erase(0, newline == std::string::npos ? newline : newline + 1);
            if (line.ends_with('\r'))
                line.pop_back();
            return Outcome::line;
        }
        if (end_signal_() != 0)
            return Outcome::end;
        pollfd typed{descriptor_, POLLIN, 0};
        if (::poll(&typed, 1, poll_ms) <= 0)
            continue;
        if (waiting_.size() > input_bytes_max) {
            is_too_long_ = true;
            waiting_ = std::string();
        }
        searched = waiting_.size();
        std::array<char, block_bytes> block;
        const ssize_t count = ::read(descriptor_, block.data(), block.size());
        if (count > 0)
            waiting_.append(block.data(), static_cast<std::size_t>(count));
        has_ended_ = count == 0 || (count < 0 && errno != EINTR);
    }
}

} // namespace etna::cli
