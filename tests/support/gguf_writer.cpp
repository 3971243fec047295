#include "tests/support/gguf_writer.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace etna::test {
namespace {

constexpr uint32_t alignment_without_key = 32;

void pad(Bytes& bytes, uint64_t alignment) {
    while (bytes.size() % alignment != 0)
        bytes.push_back(std::byte{0});
}

} // namespace

void append(Bytes& bytes, const std::string& text) {
    append(bytes, static_cast<uint64_t>(text.size()));
    for (const char c : text)
        bytes.push_back(static_cast<std::byte>(c));
}

void GgufWriter::add_raw(std::string key, uint32_t type, Bytes value) {
    entries_.push_back({std::move(key), type, std::move(value)});
}

Bytes GgufWriter::bytes() const {
    std::vector<Entry> entries = entries_;
    if (options_.alignment) {
        Bytes value;
        append(value, *options_.alignment);
        entries.push_back({"general.alignment", static_cast<uint32_t>(ValueNumber::uint32), value});
    }
    Bytes file;
    for (const char c : options_.magic)
        file.push_back(static_cast<std::byte>(c));
    append(file, options_.version);
    append(file, options_.claimed_tensors.value_or(tensors_.size()));
    append(file, options_.claimed_entries.value_or(entries.size()));
    for (const Entry& entry : entries) {
        append(file, entry.key);
        append(file, entry.type);
        file.insert(file.end(), entry.value.begin(), entry.value.end());
    }
    const uint64_t alignment = options_.alignment.value_or(alignment_without_key);
    Bytes data;
    for (const WrittenTensor& tensor : tensors_) {
        append(file, tensor.name);
        append(file, static_cast<uint32_t>(tensor.shape.size()));
        for (const uint64_t dimension : tensor.shape)
            append(file, dimension);
        append(file, tensor.type);
        append(file, tensor.offset.value_or(data.size()));
        data.insert(data.end(), tensor.bytes.begin(), tensor.bytes.end());
        pad(data, alignment);
    }
    if (tensors_.empty())
        return file;
    pad(file, alignment);
    file.insert(file.end(), data.begin(), data.end());
    return file;
}

std::vector<Bytes> GgufWriter::split(uint32_t parts) const {
    std::vector<Bytes> files;
    for (uint32_t part = 0; part < parts; ++part) {
        GgufWriter writer(options_);
        if (part == 0)
            writer.entries_ = entries_;
        writer.add("split.no", static_cast<uint16_t>(part));
        writer.add("split.count", static_cast<uint16_t>(parts));
        writer.add("split.tensors.count", static_cast<int32_t>(tensors_.size()));
        const std::size_t begin = tensors_.size() * part / parts;
        const std::size_t end = tensors_.size() * (part + 1) / parts;
        for (std::size_t i = begin; i < end; ++i)
            writer.add_tensor(tensors_[i]);
        files.push_back(writer.bytes());
    }
    return files;
}

void write_file(const std::filesystem::path& path, ByteView bytes) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!stream)
        throw std::runtime_error("cannot write " + path.string());
}

std::vector<std::filesystem::path> write_split(const std::filesystem::path& folder, std::string_view name,
                                               const std::vector<Bytes>& parts) {
    std::vector<std::filesystem::path> paths;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        paths.push_back(folder / fmt::format("{}-{:05}-of-{:05}.gguf", name, i + 1, parts.size()));
        write_file(paths.back(), parts[i]);
    }
    return paths;
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "etna-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make a folder like " + pattern);
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

} // namespace etna::test
