#include "server/batch/result_log.hpp"

#include "server/batch/durable_file.hpp"
#include "server/batch/line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

constexpr mode_t output_permissions = 0666;
constexpr std::size_t read_bytes = 1024 * 1024;
constexpr std::array outputs = {Output::results, Output::errors};

Error output_error(std::string_view verb, const std::filesystem::path& path, int number) {
    std::string hint;
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        hint = "free space and run the same command again; nothing that was answered is lost";
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(number)),
            std::move(hint)};
}

/// Appends all bytes to the file. Returns errno, 0 on success.
int append_bytes(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

/// Returns the first unused name FILE.damaged-N.
std::filesystem::path damaged_name(const std::filesystem::path& file) {
    for (int number = 1;; ++number) {
        std::filesystem::path name = fmt::format("{}.damaged-{}", file.string(), number);
        struct stat info{};
        if (::lstat(name.c_str(), &info) != 0)
            return name;
    }
}

/// The result of scanning a file's records.
struct Reading {
    std::string intact = {};      ///< the intact records after the first damaged one
    uint64_t intact_bytes = 0;    ///< bytes before the first damaged record
    uint64_t damaged_records = 0; ///< damaged records with a line end
    uint64_t torn_bytes = 0;      ///< bytes after the last line end
};

/// Calls `take` for each intact record of an open file. Error: io.
Status read_records(int descriptor, const std::filesystem::path& path, Reading& reading,
                    const std::function<void(const RecordSummary&)>& take) {
    std::string buffer;
    std::size_t used = 0;
    uint64_t at = 0;
    for (;;) {
        buffer.erase(0, used);
        const std::size_t known = buffer.size();
        buffer.resize(known + read_bytes);
        ssize_t count = ::pread(descriptor, buffer.data() + known, read_bytes, static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) {
            count = 0;
        } else if (count <= 0) {
            reading.torn_bytes = known;
            return count < 0 ? Status(output_error("read", path, errno)) : Status();
        }
        at += static_cast<uint64_t>(count);
        buffer.resize(known + static_cast<std::size_t>(count));
        used = 0;
        for (std::size_t end = buffer.find('\n', known); end != std::string::npos;
             end = buffer.find('\n', used)) {
            const std::string_view record = std::string_view(buffer).substr(used, end - used);
            used = end + 1;
            const auto summary = read_record(record);
            if (!summary) {
                ++reading.damaged_records;
                continue;
            }
            take(*summary);
            if (reading.damaged_records == 0) {
                reading.intact_bytes += record.size() + 1;
            } else {
                reading.intact += std::string(record) + '\n';
            }
        }
    }
}

/// Renames a damaged file, and writes its intact records to a new file under the old name. Replaces the
/// descriptor. Returns the damaged file's new name. A kill at any point leaves one of the two under the old
/// name.
Result<std::filesystem::path> replace_damaged(const std::filesystem::path& path, int& descriptor,
                                              std::string_view intact) {
    const std::filesystem::path repaired = path.string() + ".repaired";
    const int file =
        ::open(repaired.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, output_permissions);
    if (file < 0)
        return output_error("create", repaired, errno);
    ::close(std::exchange(descriptor, file));
    if (const int number = append_bytes(file, intact); number != 0)
        return output_error("write", repaired, number);
    if (::fsync(file) != 0)
        return output_error("write", repaired, errno);
    std::filesystem::path damaged = damaged_name(path);
    if (::link(path.c_str(), damaged.c_str()) != 0 && ::rename(path.c_str(), damaged.c_str()) != 0)
        return output_error("rename", path, errno);
    if (::rename(repaired.c_str(), path.c_str()) != 0)
        return output_error("rename", repaired, errno);
    return damaged;
}

constexpr int open_flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;

} // namespace

std::filesystem::path output_path(const std::filesystem::path& folder, Output output, const Shard& shard) {
    return folder /
           fmt::format("{}-{}.jsonl", output == Output::results ? "results" : "errors", shard.name());
}

Result<std::unique_ptr<ResultLog>> ResultLog::open(const std::filesystem::path& folder, const Shard& shard,
                                                   std::vector<std::string>& warnings,
                                                   std::chrono::milliseconds sync_delay) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot make {}: {}", folder.string(), failure.message())};
    std::unique_ptr<ResultLog> log(new ResultLog(sync_delay));
    ETNA_TRY(log->lock_, storage::FileLock::take(output_path(folder, Output::results, shard)));
    for (const Output output : outputs) {
        log->file(output).path = output_path(folder, output, shard);
        ETNA_CHECK(log->read(output, warnings));
    }
    sync_folder(folder);
    log->syncer_ = std::thread([self = log.get()] { self->sync_periodically(); });
    return log;
}

ResultLog::~ResultLog() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    if (syncer_.joinable())
        syncer_.join();
    (void)sync();
    for (const File& file : files_) {
        if (file.descriptor >= 0)
            ::close(file.descriptor);
    }
}

/// Opens a file, repairs it, and indexes its records.
Status ResultLog::read(Output output, std::vector<std::string>& warnings) {
    File& file = this->file(output);
    file.descriptor = ::open(file.path.c_str(), open_flags, output_permissions);
    if (file.descriptor < 0)
        return output_error("open", file.path, errno);
    Reading reading;
    ETNA_CHECK(read_records(file.descriptor, file.path, reading,
                            [&](const RecordSummary& record) { add(output, record); }));
    file.bytes = reading.intact_bytes;
    if (reading.damaged_records == 0 && reading.torn_bytes == 0)
        return {};
    if (reading.damaged_records == 0) {
        warnings.push_back(
            fmt::format("{}: its last record was incomplete, and is answered again", file.path.string()));
        return ::ftruncate(file.descriptor, static_cast<off_t>(file.bytes)) == 0
                   ? Status()
                   : output_error("shorten", file.path, errno);
    }
    std::string intact(reading.intact_bytes, '\0');
    for (std::size_t done = 0; done < intact.size();) {
        const ssize_t count =
            ::pread(file.descriptor, intact.data() + done, intact.size() - done, static_cast<off_t>(done));
        if (count <= 0 && errno != EINTR)
            return output_error("read", file.path, errno);
        done += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    intact += reading.intact;
    ETNA_TRY(const auto damaged, replace_damaged(file.path, file.descriptor, intact));
    file.bytes = intact.size();
    warnings.push_back(fmt::format("{}: {} damaged records are answered again; the damaged file is now {}",
                                   file.path.string(), reading.damaged_records, damaged.string()));
    return {};
}

/// Indexes a record read from the file.
void ResultLog::add(Output output, const RecordSummary& record) {
    ++file(output).records;
    count(record);
    if (output == Output::results && record.custom_id)
        results_.insert(*record.custom_id);
    if (output == Output::errors && record.line)
        errors_.insert(*record.line);
}

/// Adds a record to the totals.
void ResultLog::count(const RecordSummary& record) {
    totals_.usage += record.usage;
    if (record.model.empty())
        return;
    if (totals_.model.empty())
        totals_.model = record.model;
    totals_.has_several_models = totals_.has_several_models || record.model != totals_.model;
}

Status ResultLog::append(Output output, std::string_view record) {
    const auto summary = read_record(record.substr(0, record.find('\n'))); // outside the mutex
    ETNA_CHECK(quota_(output, record.size()));
    const std::scoped_lock lock(mutex_);
    if (failure_)
        return *failure_;
    File& file = this->file(output);
    if (const int number = append_bytes(file.descriptor, record); number != 0) {
        failure_ = output_error("write", file.path, number);
        (void)::ftruncate(file.descriptor, static_cast<off_t>(file.bytes)); // else the next open() does it
        return *failure_;
    }
    file.bytes += record.size();
    ++file.records;
    if (summary)
        count(*summary);
    if (!std::exchange(file.is_dirty, true))
        changed_.notify_all();
    return {};
}

Status ResultLog::sync() {
    const std::scoped_lock one(sync_mutex_);
    for (const Output output : outputs) {
        {
            const std::scoped_lock lock(mutex_);
            if (failure_)
                return *failure_;
            if (!std::exchange(file(output).is_dirty, false))
                continue;
        }
        // Without the mutex, so that appends continue during the sync.
        if (::fdatasync(file(output).descriptor) != 0) {
            const std::scoped_lock lock(mutex_);
            failure_ = output_error("write", file(output).path, errno);
            return *failure_;
        }
    }
    return {};
}

void ResultLog::sync_periodically() {
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
        changed_.wait(
            lock, [&] { return is_ending_ || (!failure_ && std::ranges::any_of(files_, &File::is_dirty)); });
        changed_.wait_for(lock, sync_delay_, [&] { return is_ending_; });
        lock.unlock();
        (void)sync(); // append() reports its failure
        lock.lock();
    }
}

uint64_t ResultLog::records(Output output) const {
    const std::scoped_lock lock(mutex_);
    return files_[static_cast<std::size_t>(output)].records;
}

RecordTotals ResultLog::totals() const {
    const std::scoped_lock lock(mutex_);
    return totals_;
}

} // namespace etna::server::batch
