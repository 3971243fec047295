#pragma once

#include "core/base/result.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/name_index.hpp"
#include "core/gguf/value.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace etna::gguf {

/// Bytes of the smallest possible entry: an empty key's length, the value's type, and a value of one byte.
constexpr uint64_t minimum_metadata_bytes = 8 + 4 + 1;

/// The key-value list of one file. Keys are unique; keys and texts are borrowed from the file's bytes.
class Metadata {
public:
    Metadata() = default;

    /// Reads `count` entries; `count` comes from Cursor::read_count.
    static Result<Metadata> read(Cursor& cursor, uint64_t count);

    [[nodiscard]] std::span<const KeyValue> entries() const { return entries_; }
    [[nodiscard]] const Value* find(std::string_view key) const;

    /// As in File: empty when absent or of another type.
    [[nodiscard]] std::optional<uint64_t> unsigned_integer(std::string_view key) const;
    [[nodiscard]] std::optional<double> number(std::string_view key) const;
    [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
    [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;

private:
    std::vector<KeyValue> entries_;
    NameIndex index_;
};

} // namespace etna::gguf
