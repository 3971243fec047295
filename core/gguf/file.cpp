#include "core/gguf/file.hpp"

#include "core/base/file_reader.hpp"
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

struct File::Impl {
    std::string name;
    std::vector<FileReader> files;                ///< one per part; none for others than files
    std::vector<RangeSource> sources;             ///< one per part; none for others than sources
    std::vector<std::vector<std::byte>> prefixes; ///< of the files; `metadata` borrows from the first
    ByteView in_memory;                           ///< the bytes given to parse(), instead of files
    Metadata metadata;                            ///< of the first part
    std::vector<Tensor> tensors;
    NameIndex tensor_index; ///< borrows the names from `tensors`
    uint64_t tensor_bytes = 0;

    /// Takes ownership of the contents of `parts`, at least one.
    Status adopt(std::vector<Part> parts);
};

namespace {

/// Large enough for most models' directories, except those with the largest vocabularies.
constexpr uint64_t first_read_bytes = 4 * mebibyte;

/// Runs `read`, converting a failed allocation into an error.
template <class Reader>
Result<File> without_exceptions(std::string_view name, Reader read) {
    try {
        return read();
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::out_of_memory, fmt::format("{}: no memory left to read its directory", name)};
    }
}

struct OpenParts {
    std::vector<FileReader> files;
    std::vector<std::vector<std::byte>> prefixes;
    std::vector<Part> parts;

    Status add(FileReader file, const std::filesystem::path& path);
    Status add(const RangeSource& source);
};

/// Reads as much of the next part as its directory needs. The size is not known in advance: retries with a
/// larger prefix until the directory parses.
Status OpenParts::add(const RangeSource& source) {
    const uint64_t bytes_max = std::min(source.bytes, max_directory_bytes);
    const auto number = static_cast<uint32_t>(parts.size());
    std::vector<std::byte> prefix;
    for (uint64_t bytes = std::min(first_read_bytes, bytes_max);; bytes = std::min(4 * bytes, bytes_max)) {
        const std::size_t before = prefix.size();
        prefix.resize(bytes);
        ETNA_CHECK(source.read(before, MutableByteView(prefix).subspan(before)));
        auto part = read_part({.bytes = prefix, .file_bytes = source.bytes}, source.name, number);
        if (!part && bytes < bytes_max && part.error().kind == ErrorKind::corrupt)
            continue;
        if (!part)
            return part.error();
        prefixes.push_back(std::move(prefix));
        parts.push_back(std::move(*part));
        return {};
    }
}

Status OpenParts::add(FileReader file, const std::filesystem::path& path) {
    const auto read = [&](uint64_t offset, MutableByteView into) { return file.read(offset, into); };
    ETNA_CHECK(add({.name = path.string(), .bytes = file.bytes(), .read = read}));
    files.push_back(std::move(file));
    return {};
}

Result<OpenParts> read_single(const std::filesystem::path& path) {
    OpenParts result;
    ETNA_TRY(auto file, FileReader::open(path));
    ETNA_CHECK(result.add(std::move(file), path));
    ETNA_CHECK(check_not_split(result.parts.front().metadata, path.string()));
    return result;
}

/// Opens part `index`, from 0.
Result<FileReader> open_part(std::span<const std::filesystem::path> paths, std::size_t index) {
    auto file = FileReader::open(paths[index]);
    if (!file && file.error().kind == ErrorKind::not_found) {
        return Error{
            ErrorKind::not_found,
            fmt::format("{}: part {} of {} is missing", paths[index].string(), index + 1, paths.size()),
            "all parts of a split model must lie in one folder"};
    }
    return file;
}

Result<OpenParts> read_parts(std::span<const std::filesystem::path> paths) {
    std::vector<FileReader> files; // all are opened before the first is read
    for (std::size_t i = 0; i < paths.size(); ++i) {
        ETNA_TRY(auto file, open_part(paths, i));
        files.push_back(std::move(file));
    }
    OpenParts result;
    for (std::size_t i = 0; i < paths.size(); ++i)
        ETNA_CHECK(result.add(std::move(files[i]), paths[i]));
    ETNA_CHECK(check_parts_agree(paths, result.parts));
    return result;
}

/// Returns the paths of all parts. Errors: unsupported (too many).
Result<std::vector<std::filesystem::path>> paths_of(const SplitName& name) {
    std::vector<std::filesystem::path> paths;
    if (name.count > max_parts) {
        return unsupported(fmt::format("{}: has {} parts; at most {} can be read",
                                       name.path(name.number).string(), name.count, max_parts));
    }
    for (uint32_t number = 1; number <= name.count; ++number)
        paths.push_back(name.path(number));
    return paths;
}

} // namespace

Status File::Impl::adopt(std::vector<Part> parts) {
    metadata = std::move(parts.front().metadata);
    for (Part& part : parts) {
        tensors.insert(tensors.end(), std::make_move_iterator(part.tensors.begin()),
                       std::make_move_iterator(part.tensors.end()));
    }
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        names.push_back(tensor.name);
        tensor_bytes += tensor.bytes;
    }
    tensor_index = NameIndex(names);
    if (const auto twice = tensor_index.duplicate()) {
        return Error{ErrorKind::corrupt, fmt::format("{}: tensor {} appears twice", name, backquoted(*twice)),
                     std::string(damaged_hint)};
    }
    return {};
}

Result<File> File::open(const std::filesystem::path& path) {
    const auto split = find_split_name(path);
    if (!split || split->count <= 1)
        return open(std::span(&path, 1));
    ETNA_TRY(const auto paths, paths_of(*split));
    return open(paths);
}

Result<File> File::open(std::span<const std::filesystem::path> parts) {
    if (parts.empty() || parts.size() > max_parts)
        return invalid_argument(
            fmt::format("a model of {} files; 1 to {} can be read", parts.size(), max_parts));
    return without_exceptions(parts.front().string(), [&]() -> Result<File> {
        ETNA_TRY(auto read, parts.size() > 1 ? read_parts(parts) : read_single(parts.front()));
        auto impl = std::make_unique<Impl>();
        impl->name = parts.front().string();
        impl->files = std::move(read.files);
        impl->prefixes = std::move(read.prefixes);
        ETNA_CHECK(impl->adopt(std::move(read.parts)));
        return File(std::move(impl));
    });
}

Result<File> File::open(std::vector<RangeSource> sources) {
    if (sources.empty() || sources.size() > max_parts)
        return invalid_argument(
            fmt::format("a model of {} files; 1 to {} can be read", sources.size(), max_parts));
    return without_exceptions(sources.front().name, [&]() -> Result<File> {
        OpenParts read;
        std::vector<std::filesystem::path> names;
        for (const RangeSource& source : sources) {
            ETNA_CHECK(read.add(source));
            names.emplace_back(source.name);
        }
        ETNA_CHECK(names.size() > 1 ? check_parts_agree(names, read.parts)
                                    : check_not_split(read.parts.front().metadata, sources.front().name));
        auto impl = std::make_unique<Impl>();
        impl->name = sources.front().name;
        impl->prefixes = std::move(read.prefixes);
        impl->sources = std::move(sources);
        ETNA_CHECK(impl->adopt(std::move(read.parts)));
        return File(std::move(impl));
    });
}

Result<File> File::parse(ByteView bytes, std::string name) {
    return without_exceptions(name, [&]() -> Result<File> {
        ETNA_TRY(auto part, read_part({.bytes = bytes, .file_bytes = bytes.size()}, name, 0));
        ETNA_CHECK(check_not_split(part.metadata, name));
        std::vector<Part> parts;
        parts.push_back(std::move(part));
        auto impl = std::make_unique<Impl>();
        impl->name = name;
        impl->in_memory = bytes;
        ETNA_CHECK(impl->adopt(std::move(parts)));
        return File(std::move(impl));
    });
}

File::File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
File::File(File&&) noexcept = default;
File& File::operator=(File&&) noexcept = default;
File::~File() = default;

const std::string& File::name() const {
    return impl_->name;
}

const Value* File::find(std::string_view key) const {
    return impl_->metadata.find(key);
}
std::span<const KeyValue> File::metadata() const {
    return impl_->metadata.entries();
}

std::optional<uint64_t> File::unsigned_integer(std::string_view key) const {
    return impl_->metadata.unsigned_integer(key);
}
std::optional<double> File::number(std::string_view key) const {
    return impl_->metadata.number(key);
}
std::optional<bool> File::boolean(std::string_view key) const {
    return impl_->metadata.boolean(key);
}
std::optional<std::string_view> File::text(std::string_view key) const {
    return impl_->metadata.text(key);
}

std::span<const Tensor> File::tensors() const {
    return impl_->tensors;
}

const Tensor* File::find_tensor(std::string_view name) const {
    const auto position = impl_->tensor_index.find(name);
    return position ? &impl_->tensors[*position] : nullptr;
}

uint64_t File::tensor_bytes() const {
    return impl_->tensor_bytes;
}

Status File::read(const Tensor& tensor, uint64_t offset, MutableByteView into) const {
    if (offset > tensor.bytes || into.size() > tensor.bytes - offset) {
        return invalid_argument(
            fmt::format("{}: read beyond tensor {}", impl_->name, backquoted(tensor.name)));
    }
    if (!impl_->files.empty())
        return impl_->files[tensor.part].read(tensor.offset + offset, into);
    if (!impl_->sources.empty())
        return impl_->sources[tensor.part].read(tensor.offset + offset, into);
    const ByteView source = impl_->in_memory.subspan(tensor.offset + offset, into.size());
    std::copy(source.begin(), source.end(), into.begin());
    return {};
}

Status File::check_unchanged() const {
    for (const FileReader& file : impl_->files)
        ETNA_CHECK(file.check_unchanged());
    return {};
}

} // namespace etna::gguf
