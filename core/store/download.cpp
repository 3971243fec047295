#include "core/store/download.hpp"

#include "core/store/hub.hpp"
#include "core/store/range_journal.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace etna::store {
namespace {

constexpr uint64_t journalled_bytes = mebibyte;     ///< a range is recorded at least this often
constexpr uint64_t progress_bytes = 256 * kibibyte; ///< a request that receives this many resets the failures
constexpr std::chrono::milliseconds poll_step{100};

constexpr std::string_view disk_hint =
    "free some space, or name a writable folder in ETNA_MODELS, and run the command again: it resumes";

Error disk_error(std::string_view what, const std::filesystem::path& path, int number) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(number)),
            std::string(disk_hint)};
}

Error stopped() {
    return {ErrorKind::cancelled, "the download was stopped", "run the command again: it resumes"};
}

Error lies(const std::string& url, std::string problem) {
    return {ErrorKind::corrupt, fmt::format("{}: {}", printable_url(url), problem),
            "the file may have changed since: run the command again; otherwise check --hub and the proxy"};
}

std::string gibibytes(uint64_t bytes) {
    return bytes < gibibyte
               ? fmt::format("{:.1f} MiB", static_cast<double>(bytes) / static_cast<double>(mebibyte))
               : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(gibibyte));
}

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
    return path += suffix;
}

bool path_exists(const std::filesystem::path& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0;
}

/// The unfinished file, locked for this process.
class PartFile {
public:
    /// Opens and locks the file. Returns empty if the destination exists after that. Blocks while another
    /// process has the lock, and calls `on_wait` during that time. Errors: io, cancelled.
    static Result<std::optional<PartFile>> lock(const std::filesystem::path& destination,
                                                const DownloadOptions& options);

    PartFile(PartFile&& other) noexcept
        : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
    PartFile& operator=(PartFile&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;
    ~PartFile() {
        if (descriptor_ >= 0)
            ::close(descriptor_);
    }

    [[nodiscard]] uint64_t bytes() const;
    /// Gives the file its size and its space on the disk. Errors: io (with the space that is needed and
    /// free).
    Status reserve(uint64_t bytes) const;
    /// Thread-safe.
    Status write(uint64_t offset, ByteView bytes) const;
    /// Flushes the file and gives it its name. Errors: io.
    Status rename_to(const std::filesystem::path& destination) const;
    void remove() const { ::unlink(path_.c_str()); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    PartFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    [[nodiscard]] bool is_current() const;

    std::filesystem::path path_;
    int descriptor_;
};

/// Whether the path still leads to the open file, and not to a later one.
bool PartFile::is_current() const {
    struct stat opened{};
    struct stat named{};
    return ::fstat(descriptor_, &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

Result<std::optional<PartFile>> PartFile::lock(const std::filesystem::path& destination,
                                               const DownloadOptions& options) {
    const auto path = with_suffix(destination, ".part");
    while (!path_exists(destination)) {
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (descriptor < 0)
            return disk_error("create", path, errno);
        PartFile file(path, descriptor);
        while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR)
                return disk_error("lock", path, errno);
            if (options.is_stopped && options.is_stopped())
                return stopped();
            if (options.on_progress)
                options.on_progress({DownloadPhase::waiting, 0, 0});
            std::this_thread::sleep_for(poll_step);
        }
        if (path_exists(destination)) {
            if (file.is_current())
                file.remove();
            break;
        }
        if (file.is_current())
            return std::optional(std::move(file));
    }
    return std::optional<PartFile>();
}

uint64_t PartFile::bytes() const {
    struct stat status{};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

Status PartFile::reserve(uint64_t bytes) const {
    constexpr uint64_t block_bytes = 512; // of st_blocks
    struct stat status{};
    struct statvfs disk{};
    if (::fstat(descriptor_, &status) != 0 || ::fstatvfs(descriptor_, &disk) != 0)
        return disk_error("read the size of", path_, errno);
    const uint64_t there = static_cast<uint64_t>(status.st_blocks) * block_bytes;
    const uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    if (bytes > there && bytes - there > free_bytes) {
        return Error{ErrorKind::io,
                     fmt::format("{} needs {}, and its disk has {} free", path_.string(),
                                 gibibytes(bytes - there), gibibytes(free_bytes)),
                     std::string(disk_hint)};
    }
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
        return disk_error("reserve the space of", path_, errno);
    const bool is_reserved = bytes == 0 || ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) == 0;
    if (!is_reserved && errno != EOPNOTSUPP && errno != ENOSYS)
        return disk_error("reserve the space of", path_, errno);
    return {};
}

Status PartFile::write(uint64_t offset, ByteView bytes) const {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return disk_error("write", path_, errno);
        offset += static_cast<uint64_t>(count);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Status PartFile::rename_to(const std::filesystem::path& destination) const {
    if (::fsync(descriptor_) != 0)
        return disk_error("write", path_, errno);
    if (::rename(path_.c_str(), destination.c_str()) != 0)
        return disk_error("name", destination, errno);
    const int folder = ::open(destination.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)::fsync(folder);
        ::close(folder);
    }
    return {};
}

/// The ranges of one file, fetched by several threads.
class RangeFetcher {
public:
    /// Borrows all.
    RangeFetcher(const DownloadRequest& request, const DownloadOptions& options, const PartFile& file,
                 RangeJournal& journal)
        : request_(&request), options_(&options), file_(&file), journal_(&journal),
          done_bytes_(journal.done_bytes()) {}

    /// Fetches the missing ranges. Blocks, and reports progress on this thread. Errors: see download().
    Status run();

private:
    /// A request in progress: the rest of its range, and the reason that ended it.
    struct Transfer {
        ByteRange left = {};
        uint64_t unrecorded_begin = 0;
        std::optional<Error> failure = {};
        bool is_checked = false;
    };

    void work();
    std::optional<ByteRange> take();
    Status fetch(HttpClient& client, Backoff& backoff, ByteRange range);
    Result<HttpResponse> transfer(HttpClient& client, Transfer& transfer);
    BodyDemand receive(Transfer& transfer, const HttpResponse& head, ByteView piece);
    [[nodiscard]] Status check_head(const Transfer& transfer, const HttpResponse& head) const;
    Status record(Transfer& transfer);
    void fail(const Error& error);
    [[nodiscard]] bool is_ended() const;
    [[nodiscard]] uint64_t range_bytes() const;

    const DownloadRequest* request_;
    const DownloadOptions* options_;
    const PartFile* file_;
    RangeJournal* journal_;
    std::atomic<uint64_t> done_bytes_;
    std::atomic<bool> has_failed_ = false;

    std::mutex mutex_; ///< guards the journal and the members below
    std::condition_variable changed_;
    std::deque<ByteRange> missing_;
    std::optional<Error> error_; ///< the first
    std::size_t workers_ = 0;
};

bool RangeFetcher::is_ended() const {
    return has_failed_ || (options_->is_stopped && options_->is_stopped());
}

void RangeFetcher::fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_)
        error_ = error;
    has_failed_ = true;
}

std::optional<ByteRange> RangeFetcher::take() {
    const std::scoped_lock lock(mutex_);
    if (missing_.empty() || has_failed_)
        return std::nullopt;
    const ByteRange range = missing_.front();
    missing_.pop_front();
    return range;
}

Status RangeFetcher::check_head(const Transfer& transfer, const HttpResponse& head) const {
    const std::string& url = request_->url;
    if (is_web_page(head))
        return web_page_error(
            fmt::format("{}: the server sends a web page instead of the file", printable_url(url)));
    if (!request_->has_ranges)
        return {};
    const std::string expected = fmt::format("bytes {}-", transfer.left.begin);
    const std::string total = fmt::format("/{}", request_->bytes);
    const std::string_view range = head.header("content-range");
    if (head.status != 206 || !range.starts_with(expected) || !range.ends_with(total)) {
        return lies(url, fmt::format("asked for the bytes {} to {} of {}, the server sends `{}`",
                                     transfer.left.begin, transfer.left.end - 1, request_->bytes, range));
    }
    const std::string_view entity = head.header("etag");
    if (request_->sha256.empty() && !request_->entity.empty() && entity != request_->entity)
        return lies(url, "the file changed during the download");
    return {};
}

BodyDemand RangeFetcher::receive(Transfer& transfer, const HttpResponse& head, ByteView piece) {
    Status status;
    if (!transfer.is_checked)
        status = check_head(transfer, head);
    transfer.is_checked = true;
    if (status && piece.size() > transfer.left.end - transfer.left.begin)
        status = lies(request_->url, "the server sends more bytes than it announced");
    if (status)
        status = file_->write(transfer.left.begin, piece);
    if (status) {
        transfer.left.begin += piece.size();
        done_bytes_ += piece.size();
        if (transfer.left.begin - transfer.unrecorded_begin >= journalled_bytes)
            status = record(transfer);
    }
    if (status)
        return BodyDemand::more;
    transfer.failure = status.error();
    return BodyDemand::enough;
}

Status RangeFetcher::record(Transfer& transfer) {
    if (!request_->has_ranges || transfer.unrecorded_begin == transfer.left.begin)
        return {};
    const std::scoped_lock lock(mutex_);
    ETNA_CHECK(journal_->add({transfer.unrecorded_begin, transfer.left.begin}));
    transfer.unrecorded_begin = transfer.left.begin;
    return {};
}

Result<HttpResponse> RangeFetcher::transfer(HttpClient& client, Transfer& transfer) {
    HttpRequest request{.url = request_->url};
    if (request_->has_ranges)
        request.range = transfer.left;
    request.on_body = [&](const HttpResponse& head, ByteView piece) {
        return receive(transfer, head, piece);
    };
    auto response = client.get(request);
    ETNA_CHECK(record(transfer));
    return response;
}

Status RangeFetcher::fetch(HttpClient& client, Backoff& backoff, ByteRange range) {
    Transfer state{.left = range, .unrecorded_begin = range.begin};
    while (state.left.begin < state.left.end) {
        const uint64_t before = state.left.begin;
        state.is_checked = false;
        const auto response = transfer(client, state);
        if (state.failure)
            return *state.failure;
        if (state.left.begin == state.left.end || state.left.begin - before >= progress_bytes)
            backoff.reset();
        if (state.left.begin == state.left.end)
            break;
        if (!request_->has_ranges) {
            done_bytes_ -= state.left.begin;
            state.left.begin = state.unrecorded_begin = 0;
        }
        if (response && response->status >= 400) {
            ETNA_CHECK(backoff.wait_after(*response, status_error(*response, request_->url)));
            continue;
        }
        const Error broken{ErrorKind::io,
                           fmt::format("{}: the connection broke", printable_url(request_->url)),
                           "run the command again: it resumes"};
        Error failure = response ? broken : response.error();
        if (failure.kind == ErrorKind::unreachable)
            failure.kind = ErrorKind::io; // it answered a moment ago
        ETNA_CHECK(backoff.wait_after(failure));
    }
    return {};
}

void RangeFetcher::work() {
    const CancelPoll poll = [this] { return is_ended(); };
    HttpClient client(options_->http, poll);
    Backoff backoff(options_->retries, poll);
    while (const auto range = take()) {
        if (const auto status = fetch(client, backoff, *range); !status) {
            fail(status.error());
            break;
        }
    }
    const std::scoped_lock lock(mutex_);
    --workers_;
    changed_.notify_all();
}

/// Returns the length of a request's range: two for each connection, so that none is idle for long at the
/// end.
uint64_t RangeFetcher::range_bytes() const {
    if (!request_->has_ranges)
        return std::max<uint64_t>(request_->bytes, 1);
    const uint64_t share = (request_->bytes - done_bytes_) / (uint64_t{2} * options_->connections);
    return std::clamp(round_up(share, mebibyte), mebibyte, std::max(options_->range_bytes, mebibyte));
}

Status RangeFetcher::run() {
    const auto pieces = journal_->missing(range_bytes());
    missing_.assign(pieces.begin(), pieces.end());
    workers_ = std::min<std::size_t>(options_->connections, pieces.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0, count = workers_; i < count; ++i)
        threads.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (workers_ > 0) {
        changed_.wait_for(lock, poll_step);
        lock.unlock();
        if (options_->on_progress)
            options_->on_progress({DownloadPhase::fetching, done_bytes_, request_->bytes});
        lock.lock();
    }
    if (options_->is_stopped && options_->is_stopped())
        return stopped();
    return error_ ? Status(*error_) : Status();
}

/// Checks the complete file. Returns its sum. Errors: corrupt, io, cancelled.
Result<std::string> check_sum(const DownloadRequest& request, const DownloadOptions& options,
                              const std::filesystem::path& path) {
    const auto on_bytes = [&](uint64_t done_bytes) {
        if (options.on_progress)
            options.on_progress({DownloadPhase::checking, done_bytes, request.bytes});
        return !options.is_stopped || !options.is_stopped();
    };
    auto sum = sha256_of_file(path, on_bytes);
    if (!sum && sum.error().kind == ErrorKind::cancelled)
        return stopped();
    if (!sum)
        return std::move(sum).error();
    if (!request.sha256.empty() && *sum != request.sha256) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{}: the file's sha256 is {}, not {}", printable_url(request.url), *sum,
                                 request.sha256),
                     "it was damaged or changed on the way, and is removed; run the command again, or check "
                     "--hub and the proxy"};
    }
    return sum;
}

Result<DownloadReport> fetch_into(const PartFile& file, const DownloadRequest& request,
                                  const DownloadOptions& options) {
    const auto journal_path = with_suffix(request.destination, ".part.ranges");
    if (file.bytes() != request.bytes) { // new, or of another version: the journal is of another file
        std::error_code ignored;
        std::filesystem::remove(journal_path, ignored);
    }
    ETNA_CHECK(file.reserve(request.bytes));
    const std::string version = request.sha256.empty() ? "etag:" + request.entity : request.sha256;
    ETNA_TRY(auto journal, RangeJournal::open(journal_path, version, request.bytes));
    DownloadReport report{.resumed_bytes = journal.done_bytes()};
    report.fetched_bytes = request.bytes - report.resumed_bytes;
    ETNA_CHECK(RangeFetcher(request, options, file, journal).run());
    auto sum = check_sum(request, options, file.path());
    if (!sum && sum.error().kind == ErrorKind::corrupt) {
        file.remove();
        std::error_code ignored;
        std::filesystem::remove(journal_path, ignored);
    }
    ETNA_TRY(report.sha256, std::move(sum));
    ETNA_CHECK(file.rename_to(request.destination));
    std::error_code ignored;
    std::filesystem::remove(journal_path, ignored);
    return report;
}

} // namespace

Result<DownloadReport> download(const DownloadRequest& request, const DownloadOptions& options) {
    std::error_code failure;
    std::filesystem::create_directories(request.destination.parent_path(), failure);
    if (failure)
        return disk_error("make the folder", request.destination.parent_path(), failure.value());
    for (;;) {
        ETNA_TRY(const auto file, PartFile::lock(request.destination, options));
        if (!file) {
            ETNA_TRY(auto sum, request.sha256.empty() ? sha256_of_file(request.destination)
                                                      : Result<std::string>(request.sha256));
            return DownloadReport{.sha256 = std::move(sum)};
        }
        const uint64_t before = file->bytes();
        auto report = fetch_into(*file, request, options);
        // After a power failure, recorded ranges may not have reached the disk: downloads again from the
        // start.
        const bool may_be_old = before == request.bytes && request.bytes != 0;
        if (report || report.error().kind != ErrorKind::corrupt || !may_be_old || path_exists(file->path()))
            return report;
    }
}

} // namespace etna::store
