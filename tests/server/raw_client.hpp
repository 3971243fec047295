#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace etna::test {

/// A TCP client that sends exactly what it is told: for requests that no library would make.
class RawClient {
public:
    /// From that address, one of the loopback; empty: from any.
    explicit RawClient(int port, const std::string& from = {});
    RawClient(RawClient&& other) noexcept;
    RawClient& operator=(RawClient&&) = delete;
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;
    ~RawClient();

    /// False when the connection is broken.
    bool send(std::string_view bytes);

    /// Closes the sending half.
    void finish();

    /// Closes so that the other side sees a reset.
    void reset();

    /// What comes next, at most 64 KiB. Empty when the other side closes, or nothing comes within `limit`.
    std::string read_some(std::chrono::milliseconds limit);

    /// What comes until `wanted` has come, the other side closes, or `limit` has passed.
    std::string read_until(std::string_view wanted,
                           std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// What comes until the other side closes.
    std::string read_all(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Whether the other side has closed, within `limit`.
    bool is_closed(std::chrono::milliseconds limit);

private:
    int descriptor_ = -1;
};

} // namespace etna::test
