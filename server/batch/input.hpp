#pragma once

#include "core/base/file_reader.hpp"
#include "core/base/result.hpp"
#include "server/batch/shard.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

// The input of a batch: a file of lines in OpenAI's Batch format.
namespace etna::server::batch {

/// Maximum lines of an input: the ids of all of them are in memory.
constexpr uint64_t lines_max = 10'000'000;

/// A line that is not blank.
struct InputLine {
    uint64_t number = 0;      ///< from 1; blank lines count
    std::string text = {};    ///< without its line end; empty if it is too long
    bool is_too_long = false; ///< over the reader's bound
};

/// Reads the lines of a file in order. Blank lines are skipped. Not thread-safe.
class LineReader {
public:
    /// Longer lines than `line_bytes_max` are skipped in constant memory. Errors: those of
    /// FileReader::open().
    static Result<LineReader> open(const std::filesystem::path& file, std::size_t line_bytes_max);

    /// Returns the next line; empty at the end. Blocks. Errors: io.
    Result<std::optional<InputLine>> next();

private:
    LineReader(FileReader file, std::size_t line_bytes_max)
        : file_(std::move(file)), line_bytes_max_(line_bytes_max) {}
    Status fill();

    FileReader file_;
    std::size_t line_bytes_max_;
    std::string buffer_;
    std::size_t used_ = 0;    ///< bytes of the buffer that were returned
    uint64_t read_bytes_ = 0; ///< of the file
    uint64_t number_ = 0;     ///< of the last line
};

/// What identifies an input, and how many lines it has.
struct InputSummary {
    uint64_t bytes = 0;
    std::string sha256 = {};
    uint64_t lines = 0;          ///< that are not blank
    uint64_t lines_of_shard = 0; ///< of these
};

/// Reads the file to its end. Blocks. Errors: those of FileReader; invalid_argument (more than lines_max).
Result<InputSummary> summarize_input(const std::filesystem::path& file, const Shard& shard);

} // namespace etna::server::batch
