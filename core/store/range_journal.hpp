#pragma once

#include "core/base/result.hpp"
#include "core/store/http_client.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

/// The ranges of a file that are on disk, in a text file: a line for the version of the file, then a line
/// "BEGIN END" per range, appended on completion. A line without its newline is ignored. Not thread-safe.
class RangeJournal {
public:
    /// Reads the journal at `path`, or starts one if it is missing, damaged, or of another version. Errors:
    /// io.
    static Result<RangeJournal> open(std::filesystem::path path, std::string_view version, uint64_t bytes);

    RangeJournal(RangeJournal&& other) noexcept;
    RangeJournal& operator=(RangeJournal&& other) noexcept;
    RangeJournal(const RangeJournal&) = delete;
    RangeJournal& operator=(const RangeJournal&) = delete;
    ~RangeJournal();

    /// Adds a range whose bytes have been written. Errors: io.
    Status add(ByteRange range);

    /// Returns the ranges that are not done, ascending, each at most `piece_bytes` long.
    [[nodiscard]] std::vector<ByteRange> missing(uint64_t piece_bytes) const;

    [[nodiscard]] uint64_t done_bytes() const;

private:
    RangeJournal(std::filesystem::path path, uint64_t bytes, int descriptor)
        : path_(std::move(path)), bytes_(bytes), descriptor_(descriptor) {}
    void merge(ByteRange range);

    std::filesystem::path path_;
    uint64_t bytes_;
    int descriptor_;
    std::vector<ByteRange> done_; ///< ascending, not touching
};

/// Parses the text of a journal. Returns its ranges, in their order; empty if the version differs or a line
/// is damaged.
std::vector<ByteRange> parse_ranges(std::string_view text, std::string_view version, uint64_t bytes);

} // namespace etna::store
