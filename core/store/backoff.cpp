#include "core/store/backoff.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace etna::store {

Status Backoff::wait(std::chrono::milliseconds duration) {
    constexpr std::chrono::milliseconds step{50};
    const auto end = std::chrono::steady_clock::now() + duration;
    for (;;) {
        if (is_stopped_ && is_stopped_())
            return Error{ErrorKind::cancelled, "the download was stopped", {}};
        const auto left = end - std::chrono::steady_clock::now();
        if (left <= left.zero())
            return {};
        std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, step));
    }
}

Status Backoff::wait_after(const Error& failure) {
    constexpr uint32_t doublings_max = 16;
    if (failure.kind != ErrorKind::io || retries_ >= policy_.retries_max)
        return failure;
    const auto duration = policy_.first_wait * (1U << std::min(retries_, doublings_max));
    ++retries_;
    return wait(std::min<std::chrono::milliseconds>(duration, policy_.wait_max));
}

Status Backoff::wait_after(const HttpResponse& response, const Error& failure) {
    if (!is_temporary(response.status) || retries_ >= policy_.retries_max)
        return failure;
    if (!response.retry_after) {
        Error temporary = failure;
        temporary.kind = ErrorKind::io;
        return wait_after(temporary);
    }
    if (*response.retry_after > policy_.wait_max) {
        Error error = failure;
        error.hint = fmt::format("the server asks to come back in {} s", response.retry_after->count());
        return error;
    }
    ++retries_;
    return wait(*response.retry_after);
}

} // namespace etna::store
