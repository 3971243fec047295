#include "core/store/range_journal.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace etna::store {
namespace {

constexpr uint64_t journal_bytes_max = 4 * mebibyte;

Error journal_error(std::string_view what, const std::filesystem::path& path) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)),
            "free some space, or make the folder writable, and run the command again: it resumes"};
}

std::string head_line(std::string_view version, uint64_t bytes) {
    return fmt::format("etna-ranges-1 {} {}\n", bytes, version);
}

bool read_count(std::string_view& text, uint64_t& value) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return failure == std::errc();
}

} // namespace

std::vector<ByteRange> parse_ranges(std::string_view text, std::string_view version, uint64_t bytes) {
    const std::string head = head_line(version, bytes);
    if (!text.starts_with(head))
        return {};
    std::vector<ByteRange> ranges;
    for (text.remove_prefix(head.size()); !text.empty();) {
        const std::size_t newline = text.find('\n');
        if (newline == std::string_view::npos)
            break; // the process ended while it wrote
        std::string_view line = text.substr(0, newline);
        text.remove_prefix(newline + 1);
        ByteRange range;
        if (!read_count(line, range.begin) || !line.starts_with(' '))
            return {};
        line.remove_prefix(1);
        if (!read_count(line, range.end) || !line.empty() || range.begin >= range.end || range.end > bytes)
            return {};
        ranges.push_back(range);
    }
    return ranges;
}

Result<RangeJournal> RangeJournal::open(std::filesystem::path path, std::string_view version,
                                        uint64_t bytes) {
    std::error_code failure;
    std::string text;
    if (const auto size = std::filesystem::file_size(path, failure); !failure && size <= journal_bytes_max) {
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
    }
    const auto ranges = parse_ranges(text, version, bytes);
    // Written again, with merged ranges: it stays short, and has no torn line.
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0)
        return journal_error("create", path);
    RangeJournal journal(std::move(path), bytes, descriptor);
    const std::string head = head_line(version, bytes);
    if (::write(descriptor, head.data(), head.size()) != static_cast<ssize_t>(head.size()))
        return journal_error("write", journal.path_);
    for (const ByteRange range : ranges)
        journal.merge(range);
    for (const ByteRange range : std::vector(journal.done_))
        ETNA_CHECK(journal.add(range));
    return journal;
}

RangeJournal::RangeJournal(RangeJournal&& other) noexcept
    : path_(std::move(other.path_)), bytes_(other.bytes_), descriptor_(std::exchange(other.descriptor_, -1)),
      done_(std::move(other.done_)) {}

RangeJournal& RangeJournal::operator=(RangeJournal&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(done_, other.done_);
    return *this;
}

RangeJournal::~RangeJournal() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Status RangeJournal::add(ByteRange range) {
    const std::string line = fmt::format("{} {}\n", range.begin, range.end);
    if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        return journal_error("write", path_);
    merge(range);
    return {};
}

void RangeJournal::merge(ByteRange range) {
    auto first = std::find_if(done_.begin(), done_.end(),
                              [&](const ByteRange& done) { return done.end >= range.begin; });
    auto last = first;
    for (; last != done_.end() && last->begin <= range.end; ++last) {
        range.begin = std::min(range.begin, last->begin);
        range.end = std::max(range.end, last->end);
    }
    done_.insert(done_.erase(first, last), range);
}

std::vector<ByteRange> RangeJournal::missing(uint64_t piece_bytes) const {
    std::vector<ByteRange> pieces;
    const auto add_gap = [&](uint64_t begin, uint64_t end) {
        for (; begin < end; begin += piece_bytes)
            pieces.push_back({begin, std::min(end, begin + piece_bytes)});
    };
    uint64_t begin = 0;
    for (const ByteRange& done : done_) {
        add_gap(begin, done.begin);
        begin = done.end;
    }
    add_gap(begin, bytes_);
    return pieces;
}

uint64_t RangeJournal::done_bytes() const {
    uint64_t sum = 0;
    for (const ByteRange& done : done_)
        sum += done.end - done.begin;
    return sum;
}

} // namespace etna::store
