#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace etna::test {

/// A collector of traces on the loopback, with one connection at a time and one request a connection.
class StandInCollector {
public:
    enum class Manner {
        accepts,
        rejects_one,    ///< 200, and one span of the batch is rejected
        refuses,        ///< 400
        is_overloaded,  ///< 503
        is_silent,      ///< reads, and does not answer
        trickles,       ///< sends a byte of its head now and then, without an end
        talks_nonsense, ///< not HTTP
    };

    /// `address`: that of url() of an earlier one, to listen there again; empty: a free port.
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
