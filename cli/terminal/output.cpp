#include "cli/terminal/output.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace etna::cli {

OutputState Output::write(std::string_view text) {
    while (state_ == OutputState::open && !text.empty()) {
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) { // the terminal was made non-blocking
            pollfd ready{descriptor_, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            error_number_ = errno;
            state_ = errno == EPIPE ? OutputState::closed : OutputState::failed;
        }
    }
    return state_;
}

Error Output::error() const {
    return {ErrorKind::io, fmt::format("cannot write to standard output: {}", std::strerror(error_number_))};
}

} // namespace etna::cli
