#include "cli/output.hpp"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace etna::cli {

OutputState Output::write(std::string_view text) {
    while (state_ == OutputState::open && !text.empty()) {
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) { // somebody made the terminal non-blocking
            pollfd ready{descriptor_, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            error_number_ = errno;
            state_ = errno == EPIPE ? OutputState::closed : OutputState::failed;
        }
    }
    return state_;
}

} // namespace etna::cli
