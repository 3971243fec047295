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

/// Maximum lines of an input; the ids of all lines are in memory.
constexpr uint64_t lines_max = 10'000'000;

/// A non-blank line.
struct InputLine {
    uint64_t number = 0;      ///< from 1; blank lines count
    std::string text = {};    ///< without its line end; empty if it is too long
    bool is_too_long = false; ///< exceeds the reader's line_bytes_max
};

/// Reads the lines of a file in order. Blank lines are skipped. Not thread-safe.
class LineReader {
public:
    /// Lines over `line_bytes_max` are skipped in constant memory. Errors: those of FileReader::open().
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
    std::size_t used_ = 0;    ///< bytes of the buffer already returned
    uint64_t read_bytes_ = 0; ///< bytes of the file already read
    uint64_t number_ = 0;     ///< number of the last line
};

/// The identity of an input, and its number of lines.
struct InputSummary {
    uint64_t bytes = 0;
    std::string sha256 = {};
    uint64_t lines = 0;          ///< non-blank lines
    uint64_t lines_of_shard = 0; ///< those of them that belong to the shard
};

/// Reads the entire file. Blocks. Errors: those of FileReader; invalid_argument (more than lines_max lines).
Result<InputSummary> summarize_input(const std::filesystem::path& file, const Shard& shard);

} // namespace etna::server::batch
