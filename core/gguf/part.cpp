#include "core/gguf/part.hpp"

#include "core/gguf/directory.hpp"
#include "core/gguf/foreign.hpp"
#include "core/gguf/limits.hpp"

#include <bit>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

constexpr uint32_t magic = 0x46554747; ///< the bytes "GGUF"

Status check_version(uint32_t version, std::string_view file_name) {
    if (version >= minimum_version && version <= maximum_version)
        return {};
    // The version is the first number after the magic: byte-swapped, it has nothing in its lower half.
    if (version != 0 && (version & 0xffff) == 0) {
        return unsupported(fmt::format("{}: is a big-endian GGUF file", file_name),
                           "download or convert a little-endian version of the model");
    }
    return unsupported(fmt::format("{}: has GGUF version {}; versions {} to {} can be read", file_name,
                                   version, minimum_version, maximum_version),
                       version < minimum_version ? "convert the model again with a current tool"
                                                 : "a newer release of etna may read it");
}

Result<uint64_t> read_alignment(const Metadata& metadata, std::string_view file_name) {
    constexpr std::string_view key = "general.alignment";
    if (metadata.find(key) == nullptr)
        return default_alignment;
    const auto alignment = metadata.unsigned_integer(key);
    if (!alignment || !std::has_single_bit(*alignment) || *alignment < minimum_alignment ||
        *alignment > max_alignment) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{}: `{}` is {}, not a power of two from {} to {}", file_name, key,
                                 alignment ? fmt::to_string(*alignment) : "not an integer", minimum_alignment,
                                 max_alignment),
                     std::string(damaged_hint)};
    }
    return *alignment;
}

} // namespace

Result<Part> read_part(const FilePrefix& prefix, std::string_view file_name, uint32_t number) {
    if (auto error = recognise_foreign(prefix.bytes, file_name))
        return std::move(*error);
    Cursor cursor(prefix.bytes, prefix.file_bytes, file_name);
    ETNA_TRY(const auto found_magic, cursor.read<uint32_t>());
    if (found_magic != magic) {
        return unsupported(fmt::format("{}: is not a GGUF file", file_name),
                           "give a model in GGUF, or convert this one");
    }
    ETNA_TRY(const auto version, cursor.read<uint32_t>());
    ETNA_CHECK(check_version(version, file_name));
    ETNA_TRY(const auto tensor_count, cursor.read_count(minimum_tensor_bytes, "tensors"));
    ETNA_TRY(const auto metadata_count, cursor.read_count(minimum_metadata_bytes, "metadata entries"));

    Part part;
    ETNA_TRY(part.metadata, Metadata::read(cursor, metadata_count));
    ETNA_TRY(const auto alignment, read_alignment(part.metadata, file_name));
    ETNA_TRY(part.tensors, read_tensors(cursor, {.file_name = file_name,
                                                 .file_bytes = prefix.file_bytes,
                                                 .tensor_count = tensor_count,
                                                 .alignment = alignment,
                                                 .part = number}));
    return part;
}

} // namespace etna::gguf
