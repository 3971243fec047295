#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace etna::gguf {

static_assert(std::endian::native == std::endian::little,
              "values are copied from little-endian files unchanged");

/// Returns `text` in backquotes for an error message: truncated to max_quoted_bytes, all but printable ASCII
/// escaped as \xNN, so that a file cannot send control sequences to the terminal.
std::string backquoted(std::string_view text);

/// Hint for errors about an inconsistent file.
inline constexpr std::string_view damaged_hint = "the file is damaged; fetch or convert it again";

/// Reads a file's directory front to back and never past the end. Errors name the file and the position. The
/// file's name and the views given to enter() are borrowed.
class Cursor {
public:
    /// Reads `bytes`, the prefix of a file of `file_bytes`, up to max_directory_bytes.
    Cursor(ByteView bytes, uint64_t file_bytes, std::string_view file_name);

    /// Sets the current section ("the metadata") and its entry (or empty) for error messages.
    void enter(std::string_view section, std::string_view entry = {});

    template <class T>
    Result<T> read() {
        static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
        if (remaining() < sizeof(T))
            return truncated();
        T value;
        std::memcpy(&value, bytes_.data() + position_, sizeof(T));
        position_ += sizeof(T);
        return value;
    }

    /// One byte that must be 0 or 1.
    Result<bool> read_bool();

    /// A 64-bit length and that many bytes, borrowed from the file.
    Result<std::string_view> read_string();

    /// A 64-bit count of `things`, each at least `minimum_bytes` long; checked against the rest of the file,
    /// so that memory for them can be reserved.
    Result<uint64_t> read_count(uint64_t minimum_bytes, std::string_view things);

    /// `count` contiguous values; `count` comes from read_count.
    template <class T>
    Result<std::vector<T>> read_many(uint64_t count) {
        if (count > remaining() / sizeof(T))
            return truncated();
        std::vector<T> values(count);
        if (count != 0)
            std::memcpy(values.data(), bytes_.data() + position_, count * sizeof(T));
        position_ += count * sizeof(T);
        return values;
    }

    /// "FILE: PROBLEM (at byte POSITION)", as ErrorKind::corrupt.
    [[nodiscard]] Error corrupt(std::string_view problem) const;

    /// Number of bytes read.
    [[nodiscard]] uint64_t position() const { return position_; }

private:
    [[nodiscard]] uint64_t remaining() const { return bytes_.size() - position_; }
    [[nodiscard]] Error truncated() const;

    ByteView bytes_;
    uint64_t file_bytes_;
    std::string_view file_name_;
    std::string_view section_ = "the header";
    std::string_view entry_;
    uint64_t position_ = 0;
};

} // namespace etna::gguf
