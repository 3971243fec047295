#include "core/gguf/directory.hpp"

#include "core/gguf/limits.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

/// A directory entry before its bytes are known to exist. `offset` counts from the start of the tensor data.
struct Entry {
    Tensor tensor;
    uint64_t offset = 0;
};

/// Names of formats that the specification lists but etna does not read, for the error message.
std::string_view unsupported_type_name(uint32_t type) {
    constexpr std::pair<uint32_t, std::string_view> names[] = {
        {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
        {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
        {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},
    };
    for (const auto& [number, name] : names) {
        if (number == type)
            return name;
    }
    return {};
}

Error unsupported_type(std::string_view file_name, std::string_view tensor, uint32_t type) {
    const std::string_view name = unsupported_type_name(type);
    const std::string shown = name.empty() ? fmt::format("number {}", type) : std::string(name);
    return {ErrorKind::unsupported,
            fmt::format("{}: tensor {} has the element type {}, which cannot be read", file_name,
                        backquoted(tensor), shown),
            "choose another quantisation of the model, such as Q4_K_M or Q8_0"};
}

/// Bytes of a tensor whose first dimension is a multiple of the block length; empty on overflow.
std::optional<uint64_t> size_in_bytes(const TensorTypeInfo& info, const std::array<uint64_t, 4>& shape) {
    std::optional<uint64_t> bytes = checked_multiply(shape[0] / info.block_elements, info.block_bytes);
    for (std::size_t i = 1; bytes && i < shape.size(); ++i)
        bytes = checked_multiply(*bytes, shape[i]);
    return bytes;
}

Status read_shape(Cursor& cursor, Tensor& tensor) {
    ETNA_TRY(tensor.dimensions, cursor.read<uint32_t>());
    if (tensor.dimensions == 0 || tensor.dimensions > max_dimensions) {
        return cursor.corrupt(fmt::format("tensor {} has {} dimensions; 1 to {} are allowed",
                                          backquoted(tensor.name), tensor.dimensions, max_dimensions));
    }
    for (uint32_t i = 0; i < tensor.dimensions; ++i) {
        ETNA_TRY(tensor.shape[i], cursor.read<uint64_t>());
        if (tensor.shape[i] == 0) {
            return cursor.corrupt(
                fmt::format("dimension {} of tensor {} is zero", i, backquoted(tensor.name)));
        }
    }
    return {};
}

Result<Entry> read_entry(Cursor& cursor, const DirectoryLayout& layout) {
    cursor.enter("the tensor directory");
    ETNA_TRY(const auto name, cursor.read_string());
    if (name.empty() || name.size() > max_tensor_name_bytes) {
        return cursor.corrupt(fmt::format("tensor name {} is {} bytes long; 1 to {} are allowed",
                                          backquoted(name), name.size(), max_tensor_name_bytes));
    }
    cursor.enter("the tensor directory", name);
    Entry entry;
    entry.tensor.name = name;
    entry.tensor.part = layout.part;
    ETNA_CHECK(read_shape(cursor, entry.tensor));
    ETNA_TRY(const auto type, cursor.read<uint32_t>());
    ETNA_TRY(entry.offset, cursor.read<uint64_t>());

    entry.tensor.type = static_cast<TensorType>(type);
    const auto info = describe(entry.tensor.type);
    if (!info)
        return unsupported_type(layout.file_name, name, type);
    if (entry.tensor.shape[0] % info->block_elements != 0) {
        return cursor.corrupt(
            fmt::format("rows of tensor {} have {} elements, not a multiple of {}'s blocks of {}",
                        backquoted(name), entry.tensor.shape[0], info->name, info->block_elements));
    }
    const auto bytes = size_in_bytes(*info, entry.tensor.shape);
    if (!bytes)
        return cursor.corrupt(fmt::format("the size of tensor {} overflows", backquoted(name)));
    entry.tensor.bytes = *bytes;
    if (entry.offset % layout.alignment != 0) {
        return cursor.corrupt(fmt::format("tensor {} starts at offset {}, not a multiple of the alignment {}",
                                          backquoted(name), entry.offset, layout.alignment));
    }
    return entry;
}

Status locate(Entry& entry, uint64_t data_start, const DirectoryLayout& layout) {
    const auto begin = checked_add(data_start, entry.offset);
    const auto end = begin ? checked_add(*begin, entry.tensor.bytes) : std::nullopt;
    if (!end || *end > layout.file_bytes) {
        return Error{
            ErrorKind::corrupt,
            fmt::format(
                "{}: the {} bytes of tensor {} at offset {} run past the end of the file (at byte {})",
                layout.file_name, entry.tensor.bytes, backquoted(entry.tensor.name), entry.offset,
                layout.file_bytes),
            "the download may be incomplete"};
    }
    entry.tensor.offset = *begin;
    return {};
}

Status check_apart(const std::vector<Entry>& entries, std::string_view file_name) {
    std::vector<const Entry*> sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries)
        sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(),
              [](const Entry* a, const Entry* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        const Entry& before = *sorted[i - 1];
        if (sorted[i]->offset - before.offset < before.tensor.bytes) {
            return Error{ErrorKind::corrupt,
                         fmt::format("{}: tensors {} and {} overlap", file_name,
                                     backquoted(before.tensor.name), backquoted(sorted[i]->tensor.name)),
                         std::string(damaged_hint)};
        }
    }
    return {};
}

} // namespace

Result<std::vector<Tensor>> read_tensors(Cursor& cursor, const DirectoryLayout& layout) {
    std::vector<Entry> entries;
    for (uint64_t i = 0; i < layout.tensor_count; ++i) {
        ETNA_TRY(auto entry, read_entry(cursor, layout));
        entries.push_back(std::move(entry));
    }
    const uint64_t data_start = round_up(cursor.position(), layout.alignment);
    for (Entry& entry : entries)
        ETNA_CHECK(locate(entry, data_start, layout));
    ETNA_CHECK(check_apart(entries, layout.file_name));

    std::vector<Tensor> tensors;
    tensors.reserve(entries.size());
    for (Entry& entry : entries)
        tensors.push_back(std::move(entry.tensor));
    return tensors;
}

} // namespace etna::gguf
