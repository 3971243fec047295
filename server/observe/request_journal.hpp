#pragma once

#include "server/observe/log_line.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace etna::server {

/// A finished request that generated, embedded or ranked.
struct JournalEntry {
    std::string id;          ///< its x-request-id; clients choose them, and may repeat them
    int64_t arrived_ms = 0;  ///< since 1970
    std::string method = {}; ///< "POST"
    std::string path = {};
    int status = 200; ///< the final one, see AnswerLog::final_status
    double elapsed_ms = 0;
    AnswerLog answer = {}; ///< with JournalNote
};

/// The last requests that generated, embedded or ranked. Thread-safe.
class RequestJournal {
public:
    static constexpr std::size_t entries_max = 100;
    /// Of a rendered prompt; the rest is dropped.
    static constexpr std::size_t prompt_bytes_max = std::size_t{256} * 1024;

    using Entries = std::vector<std::shared_ptr<const JournalEntry>>;

    /// Adds the request if it has a JournalNote; drops the oldest entry beyond entries_max.
    /// `arrived_unix_ns`: since 1970.
    void add(const RequestSummary& request, uint64_t arrived_unix_ns);

    /// All entries, newest first.
    [[nodiscard]] Entries entries() const;

private:
    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<const JournalEntry>> entries_; ///< newest first
};

} // namespace etna::server
