#include "server/batch/input.hpp"

#include "core/store/sha256.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

constexpr std::size_t input_block_bytes = 1024 * 1024;
constexpr std::string_view blanks_of_line = " \t\r";

bool is_blank(std::string_view text) {
    return text.find_first_not_of(blanks_of_line) == std::string_view::npos;
}

} // namespace

Result<LineReader> LineReader::open(const std::filesystem::path& file, std::size_t line_bytes_max) {
    ETNA_TRY(auto reader, FileReader::open(file));
    return LineReader(std::move(reader), line_bytes_max);
}

/// Appends the next bytes of the file to the buffer.
Status LineReader::fill() {
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t old_bytes = buffer_.size();
    const auto bytes =
        static_cast<std::size_t>(std::min<uint64_t>(input_block_bytes, file_.bytes() - read_bytes_));
    buffer_.resize(old_bytes + bytes);
    ETNA_CHECK(file_.read(read_bytes_, std::as_writable_bytes(std::span(buffer_.data() + old_bytes, bytes))));
    read_bytes_ += bytes;
    return {};
}

Result<std::optional<InputLine>> LineReader::next() {
    InputLine line = {.number = number_ + 1};
    std::size_t searched = used_;
    for (;;) {
        const std::size_t end = buffer_.find('\n', searched);
        const bool is_last = end == std::string::npos && read_bytes_ == file_.bytes();
        if (end == std::string::npos && !is_last) {
            if (buffer_.size() - used_ > line_bytes_max_) { // too long: only its line end matters
                line.is_too_long = true;
                used_ = buffer_.size();
            }
            const std::size_t known = buffer_.size() - used_;
            ETNA_CHECK(fill());
            searched = known;
            continue;
        }
        const std::size_t text_end = is_last ? buffer_.size() : end;
        line.text = buffer_.substr(used_, text_end - used_);
        used_ = std::min(text_end + 1, buffer_.size());
        searched = used_;
        const bool is_at_end = is_last && used_ == buffer_.size();
        line.is_too_long = line.is_too_long || line.text.size() > line_bytes_max_;
        number_ = line.number;
        if (line.is_too_long) {
            line.text.clear();
            return std::optional(std::move(line));
        }
        if (!is_blank(line.text))
            return std::optional(std::move(line));
        if (is_at_end)
            return std::optional<InputLine>();
        line = {.number = number_ + 1};
    }
}

Result<InputSummary> summarize_input(const std::filesystem::path& file, const Shard& shard) {
    ETNA_TRY(const auto reader, FileReader::open(file));
    store::Sha256 hash;
    InputSummary summary = {.bytes = reader.bytes()};
    uint64_t number = 1;
    bool has_text = false;
    const auto end_line = [&] {
        summary.lines += has_text ? 1 : 0;
        summary.lines_of_shard += has_text && shard.has(number) ? 1 : 0;
        ++number;
        has_text = false;
    };
    std::string block(input_block_bytes, '\0');
    for (uint64_t at = 0; at < reader.bytes();) {
        block.resize(static_cast<std::size_t>(std::min<uint64_t>(input_block_bytes, reader.bytes() - at)));
        ETNA_CHECK(reader.read(at, std::as_writable_bytes(std::span(block))));
        hash.add(std::as_bytes(std::span(block)));
        at += block.size();
        for (std::size_t begin = 0; begin < block.size();) {
            const std::size_t end = std::min(block.find('\n', begin), block.size());
            has_text = has_text || !is_blank(std::string_view(block).substr(begin, end - begin));
            if (end < block.size())
                end_line();
            begin = end + 1;
        }
    }
    end_line();
    ETNA_CHECK(reader.check_unchanged());
    if (summary.lines > lines_max) {
        return invalid_argument(
            fmt::format("{} has {} lines; at most {} are accepted", file.string(), summary.lines, lines_max),
            "split it into several files");
    }
    summary.sha256 = hash.hex();
    return summary;
}

} // namespace etna::server::batch
