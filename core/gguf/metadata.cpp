#include "core/gguf/metadata.hpp"

#include "core/gguf/limits.hpp"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

/// gguf_metadata_value_type: also the position of the type in Value and in Array::Items.
constexpr uint32_t array_type = 9;
static_assert(std::is_same_v<std::variant_alternative_t<array_type, Value>, Array>);

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Minimum bytes of one array element. A string has its length; an array has its element type and count.
template <class T>
constexpr uint64_t minimum_bytes() {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return sizeof(uint64_t);
    } else if constexpr (std::is_same_v<T, Array>) {
        return sizeof(uint32_t) + sizeof(uint64_t);
    } else {
        return sizeof(T);
    }
}

/// Calls `read.operator()<T>()` with the C++ type for a type number of the file.
template <class Returned, class Reader>
Result<Returned> read_as(uint32_t type, const Cursor& cursor, Reader read) {
    switch (type) {
    case 0:
        return read.template operator()<uint8_t>();
    case 1:
        return read.template operator()<int8_t>();
    case 2:
        return read.template operator()<uint16_t>();
    case 3:
        return read.template operator()<int16_t>();
    case 4:
        return read.template operator()<uint32_t>();
    case 5:
        return read.template operator()<int32_t>();
    case 6:
        return read.template operator()<float>();
    case 7:
        return read.template operator()<bool>();
    case 8:
        return read.template operator()<std::string_view>();
    case array_type:
        return read.template operator()<Array>();
    case 10:
        return read.template operator()<uint64_t>();
    case 11:
        return read.template operator()<int64_t>();
    case 12:
        return read.template operator()<double>();
    default:
        return cursor.corrupt(fmt::format("metadata value type {} does not exist", type));
    }
}

Result<Array> read_array(Cursor& cursor, uint32_t depth);

template <class T>
Result<T> read_one(Cursor& cursor, uint32_t depth) {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return cursor.read_string();
    } else if constexpr (std::is_same_v<T, bool>) {
        return cursor.read_bool();
    } else if constexpr (std::is_same_v<T, Array>) {
        return read_array(cursor, depth + 1);
    } else {
        return cursor.read<T>();
    }
}

template <class T>
Result<Array> read_items(Cursor& cursor, uint32_t depth) {
    ETNA_TRY(const auto count, cursor.read_count(minimum_bytes<T>(), "elements"));
    if constexpr (is_integer<T> || std::is_floating_point_v<T>) {
        ETNA_TRY(auto values, cursor.read_many<T>(count));
        return Array{std::move(values)};
    } else {
        std::vector<T> values;
        if constexpr (!std::is_same_v<T, Array>) // arrays are large objects, and may be fewer than claimed
            values.reserve(count);
        for (uint64_t i = 0; i < count; ++i) {
            ETNA_TRY(auto value, read_one<T>(cursor, depth));
            values.push_back(std::move(value));
        }
        return Array{std::move(values)};
    }
}

/// `depth` counts this array: 1 for the value of a key.
Result<Array> read_array(Cursor& cursor, uint32_t depth) {
    if (depth > max_array_depth)
        return cursor.corrupt(fmt::format("arrays are nested more than {} deep", max_array_depth));
    ETNA_TRY(const auto type, cursor.read<uint32_t>());
    return read_as<Array>(type, cursor,
                          [&]<class T>() -> Result<Array> { return read_items<T>(cursor, depth); });
}

Result<KeyValue> read_entry(Cursor& cursor) {
    cursor.enter("the metadata");
    ETNA_TRY(const auto key, cursor.read_string());
    if (key.empty() || key.size() > max_key_bytes) {
        return cursor.corrupt(fmt::format("metadata key {} is {} bytes long; 1 to {} are allowed",
                                          backquoted(key), key.size(), max_key_bytes));
    }
    cursor.enter("the metadata", key);
    ETNA_TRY(const auto type, cursor.read<uint32_t>());
    ETNA_TRY(auto value, read_as<Value>(type, cursor, [&]<class T>() -> Result<Value> {
                 ETNA_TRY(auto one, read_one<T>(cursor, 0));
                 return Value(std::move(one));
             }));
    return KeyValue{key, std::move(value)};
}

} // namespace

Result<Metadata> Metadata::read(Cursor& cursor, uint64_t count) {
    Metadata metadata;
    std::vector<std::string_view> keys;
    for (uint64_t i = 0; i < count; ++i) {
        ETNA_TRY(auto entry, read_entry(cursor));
        keys.push_back(entry.key);
        metadata.entries_.push_back(std::move(entry));
    }
    metadata.index_ = NameIndex(keys);
    if (const auto key = metadata.index_.duplicate())
        return cursor.corrupt(fmt::format("metadata key {} appears twice", backquoted(*key)));
    return metadata;
}

const Value* Metadata::find(std::string_view key) const {
    const auto position = index_.find(key);
    return position ? &entries_[*position].value : nullptr;
}

std::optional<uint64_t> Metadata::unsigned_integer(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    return std::visit(
        []<class T>(const T& held) -> std::optional<uint64_t> {
            if constexpr (is_integer<T>) {
                if (std::in_range<uint64_t>(held))
                    return static_cast<uint64_t>(held);
            }
            return std::nullopt;
        },
        *value);
}

std::optional<double> Metadata::number(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr)
        return std::nullopt;
    return std::visit(
        []<class T>(const T& held) -> std::optional<double> {
            if constexpr (is_integer<T> || std::is_floating_point_v<T>)
                return static_cast<double>(held);
            return std::nullopt;
        },
        *value);
}

std::optional<bool> Metadata::boolean(std::string_view key) const {
    const Value* value = find(key);
    const bool* held = value != nullptr ? std::get_if<bool>(value) : nullptr;
    return held != nullptr ? std::optional(*held) : std::nullopt;
}

std::optional<std::string_view> Metadata::text(std::string_view key) const {
    const Value* value = find(key);
    const std::string_view* held = value != nullptr ? std::get_if<std::string_view>(value) : nullptr;
    return held != nullptr ? std::optional(*held) : std::nullopt;
}

} // namespace etna::gguf
