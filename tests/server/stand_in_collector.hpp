#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace etna::test {

/// A trace collector on the loopback: one connection at a time, one request per connection.
class StandInCollector {
public:
    enum class Manner {
        accepts,
        rejects_one,    ///< 200, and one span of the batch is rejected
        refuses,        ///< 400
        is_overloaded,  ///< 503
        is_silent,      ///< reads, but never answers
        trickles,       ///< sends a response head byte by byte, without end
        talks_nonsense, ///< does not speak HTTP
    };

    /// `address`: the address in an earlier collector's url(), to listen on it again; empty: a free port.
    explicit StandInCollector(const std::string& address = {}, Manner manner = Manner::accepts);
    StandInCollector(const StandInCollector&) = delete;
    StandInCollector& operator=(const StandInCollector&) = delete;
    ~StandInCollector();

    [[nodiscard]] std::string url(const std::string& path) const;
    void become(Manner manner) { manner_ = manner; }

    /// Heads and bodies of the requests that were accepted.
    [[nodiscard]] std::vector<std::string> requests() const;

private:
    void serve();
    void answer(int connection);
    [[nodiscard]] bool is_silent() const;

    int listener_;
    int port_ = 0;
    std::atomic<Manner> manner_;
    std::atomic<bool> is_ending_{false};
    mutable std::mutex mutex_;
    std::vector<std::string> requests_;
    std::thread thread_;
};

} // namespace etna::test
