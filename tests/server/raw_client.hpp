#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace etna::test {

/// A TCP client that sends exact bytes, for requests that no library would send.
class RawClient {
public:
    /// `from`: the local address, of the loopback network; empty: any.
    explicit RawClient(int port, const std::string& from = {});
    RawClient(RawClient&& other) noexcept;
    RawClient& operator=(RawClient&&) = delete;
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;
    ~RawClient();

    /// Returns false if the connection is broken.
    bool send(std::string_view bytes);

    /// Closes the sending half.
    void finish();

    /// Closes with a reset.
    void reset();

    /// Reads up to 64 KiB. Empty if the peer closes, or nothing arrives within `limit`.
    std::string read_some(std::chrono::milliseconds limit);

    /// Reads until `text` has arrived, the peer closes, or `limit` has passed.
    std::string read_until(std::string_view text, std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Reads until the peer closes.
    std::string read_all(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Whether the peer closes within `limit`.
    bool is_closed(std::chrono::milliseconds limit);

private:
    int descriptor_ = -1;
};

} // namespace etna::test
