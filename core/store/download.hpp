#pragma once

#include "core/base/bytes.hpp"
#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/store/backoff.hpp"
#include "core/store/http_client.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace etna::store {

/// A file to fetch, and its destination.
struct DownloadRequest {
    std::string url;
    uint64_t bytes = 0;
    std::string sha256;     ///< hexadecimal; empty: unknown, and only the size is checked
    std::string entity;     ///< identifies the version if sha256 is empty: the ETag
    bool has_ranges = true; ///< whether the server sends parts of the file
    std::filesystem::path destination;
};

enum class DownloadPhase : uint8_t {
    waiting, ///< for another process that fetches the same file
    fetching,
    checking, ///< the sum of the complete file
};

struct DownloadProgress {
    DownloadPhase phase = DownloadPhase::fetching;
    uint64_t done_bytes = 0; ///< of the phase
    uint64_t total_bytes = 0;
};

struct DownloadOptions {
    HttpSettings http;
    RetryPolicy retries;
    uint32_t connections = 4;
    uint64_t range_bytes = 32 * mebibyte; ///< fetched by one request at most
    CancelPoll is_stopped;                ///< called often, from any thread of the download
    std::function<void(const DownloadProgress&)>
        on_progress; ///< called on the caller's thread; may be absent
};

struct DownloadReport {
    uint64_t resumed_bytes = 0; ///< there from an earlier try
    uint64_t fetched_bytes = 0;
    std::string sha256 = {}; ///< of the file
};

/// Fetches a file into `DESTINATION.part`, checks its size and sum, and gives it its name: `destination` is
/// always complete and checked. `DESTINATION.part.ranges` lists the ranges that are done, so that the next
/// call resumes after any end of the process. Returns at once if the destination exists. Two processes fetch
/// a file once: the second waits. Blocks; several threads fetch ranges. Errors: those of HttpClient and
/// status_error(); io (the disk is full or read-only), corrupt (the server sends another file: its parts are
/// removed), busy, cancelled.
Result<DownloadReport> download(const DownloadRequest& request, const DownloadOptions& options);

} // namespace etna::store
