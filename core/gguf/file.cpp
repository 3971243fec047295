#include "core/gguf/file.hpp"

#include "core/base/mapped_file.hpp"
#include "core/gguf/limits.hpp"
#include "core/gguf/metadata.hpp"
#include "core/gguf/name_index.hpp"
#include "core/gguf/part.hpp"
#include "core/gguf/split.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace etna::gguf {

struct File::Content {
    std::string name;
    std::vector<MappedFile> mappings; ///< one per part; none for bytes in memory
    Metadata metadata;                ///< of the first part
    std::vector<Tensor> tensors;
    NameIndex tensor_index; ///< borrows the names from `tensors`
    uint64_t tensor_bytes = 0;

    /// Takes over what was read from `parts`, at least one.
    Status adopt(std::vector<Part> parts);
};

namespace {

/// Runs `read`, turning an allocation that failed into an error.
template <class Reader>
Result<File> without_exceptions(std::string_view name, Reader read) {
    try {
        return read();
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::out_of_memory, fmt::format("{}: no memory left to read its directory", name)};
    }
}

struct MappedParts {
    std::vector<MappedFile> mappings;
    std::vector<Part> parts;
};

Result<MappedParts> read_single(const std::filesystem::path& path) {
    MappedParts result;
    ETNA_TRY(auto mapping, MappedFile::open(path));
    ETNA_TRY(auto part, read_part(mapping.bytes(), path.string(), 0));
    ETNA_CHECK(check_not_split(part.metadata, path.string()));
    result.mappings.push_back(std::move(mapping));
    result.parts.push_back(std::move(part));
    return result;
}

Result<MappedFile> map_part(const SplitName& name, uint32_t number) {
    auto mapping = MappedFile::open(name.path(number));
    if (!mapping && mapping.error().kind == ErrorKind::not_found) {
        return Error{
            ErrorKind::not_found,
            fmt::format("{}: part {} of {} is missing", name.path(number).string(), number, name.count),
            "all parts of a split model must lie in one folder"};
    }
    return mapping;
}

Result<MappedParts> read_split(const SplitName& name) {
    if (name.count > max_parts) {
        return Error{ErrorKind::unsupported,
                     fmt::format("{}: has {} parts; at most {} can be read", name.path(name.number).string(),
                                 name.count, max_parts)};
    }
    MappedParts result;
    for (uint32_t number = 1; number <= name.count; ++number) {
        ETNA_TRY(auto mapping, map_part(name, number));
        result.mappings.push_back(std::move(mapping));
    }
    for (uint32_t number = 1; number <= name.count; ++number) {
        const ByteView bytes = result.mappings[number - 1].bytes();
        ETNA_TRY(auto part, read_part(bytes, name.path(number).string(), number - 1));
        result.parts.push_back(std::move(part));
    }
    ETNA_CHECK(check_parts_agree(name, result.parts));
    return result;
}

} // namespace

Status File::Content::adopt(std::vector<Part> parts) {
    metadata = std::move(parts.front().metadata);
    for (Part& part : parts) {
        tensors.insert(tensors.end(), std::make_move_iterator(part.tensors.begin()),
                       std::make_move_iterator(part.tensors.end()));
    }
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        names.push_back(tensor.name);
        tensor_bytes += tensor.bytes.size();
    }
    tensor_index = NameIndex(names);
    if (const auto twice = tensor_index.duplicate()) {
        return Error{ErrorKind::corrupt, fmt::format("{}: tensor {} appears twice", name, backquoted(*twice)),
                     std::string(damaged_hint)};
    }
    return {};
}

Result<File> File::open(const std::filesystem::path& path) {
    return without_exceptions(path.string(), [&]() -> Result<File> {
        const auto split = parse_split_name(path);
        const bool several = split && split->count > 1;
        ETNA_TRY(auto read, several ? read_split(*split) : read_single(path));
        auto content = std::make_unique<Content>();
        content->name = several ? split->path(1).string() : path.string();
        content->mappings = std::move(read.mappings);
        ETNA_CHECK(content->adopt(std::move(read.parts)));
        return File(std::move(content));
    });
}

Result<File> File::parse(ByteView bytes, std::string name) {
    return without_exceptions(name, [&]() -> Result<File> {
        ETNA_TRY(auto part, read_part(bytes, name, 0));
        ETNA_CHECK(check_not_split(part.metadata, name));
        std::vector<Part> parts;
        parts.push_back(std::move(part));
        auto content = std::make_unique<Content>();
        content->name = name;
        ETNA_CHECK(content->adopt(std::move(parts)));
        return File(std::move(content));
    });
}

File::File(std::unique_ptr<Content> content) : content_(std::move(content)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

const std::string& File::name() const {
    return content_->name;
}

const Value* File::find(std::string_view key) const {
    return content_->metadata.find(key);
}
std::span<const KeyValue> File::metadata() const {
    return content_->metadata.entries();
}

std::optional<uint64_t> File::unsigned_integer(std::string_view key) const {
    return content_->metadata.unsigned_integer(key);
}
std::optional<double> File::number(std::string_view key) const {
    return content_->metadata.number(key);
}
std::optional<bool> File::boolean(std::string_view key) const {
    return content_->metadata.boolean(key);
}
std::optional<std::string_view> File::text(std::string_view key) const {
    return content_->metadata.text(key);
}

std::span<const Tensor> File::tensors() const {
    return content_->tensors;
}

const Tensor* File::find_tensor(std::string_view name) const {
    const auto position = content_->tensor_index.find(name);
    return position ? &content_->tensors[*position] : nullptr;
}

uint64_t File::tensor_bytes() const {
    return content_->tensor_bytes;
}

void File::drop(const Tensor& tensor, uint64_t offset, uint64_t bytes) const {
    if (tensor.part >= content_->mappings.size() || offset >= tensor.bytes.size())
        return;
    const MappedFile& mapping = content_->mappings[tensor.part];
    const auto start = static_cast<uint64_t>(tensor.bytes.data() - mapping.bytes().data());
    mapping.drop(start + offset, std::min<uint64_t>(bytes, tensor.bytes.size() - offset));
}

} // namespace etna::gguf
