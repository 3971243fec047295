#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/store/http_client.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace etna::store {

struct RetryPolicy {
    uint32_t retries_max = 5; ///< in a row
    std::chrono::milliseconds first_wait{500};
    std::chrono::seconds wait_max{60}; ///< a server that asks for more is an error
};

/// Waits between the tries of a request, twice as long each time, or as long as the server asks. Retries
/// broken connections, and the statuses 408, 429 and 500 to 599. For one thread.
class Backoff {
public:
    Backoff(RetryPolicy policy, CancelPoll is_stopped)
        : policy_(policy), is_stopped_(std::move(is_stopped)) {}

    /// Starts the count again, after progress.
    void reset() { retries_ = 0; }

    /// Waits if this failure may go away; otherwise, or if all retries are spent, returns the error. Errors:
    /// `failure`, cancelled.
    Status wait_after(const Error& failure);

    /// As above for a response; see is_temporary().
    Status wait_after(const HttpResponse& response, const Error& failure);

    static bool is_temporary(int status) { return status == 408 || status == 429 || status / 100 == 5; }

private:
    Status wait(std::chrono::milliseconds duration);

    RetryPolicy policy_;
    CancelPoll is_stopped_;
    uint32_t retries_ = 0;
};

} // namespace etna::store
