#include "tests/fuzz/gguf_walk.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace etna::fuzz {
namespace {

constexpr std::string_view file_name = "fuzzed.gguf";

void promise(bool kept, const char* what) {
    if (!kept)
        throw std::logic_error(what);
}

void add(GrammarMatcher& walk, uint64_t value) {
    walk.checksum = walk.checksum * 31 + value;
}

void look_at(GrammarMatcher& walk, const gguf::Array& array);

template <class T>
void look_at(GrammarMatcher& walk, const T& value) {
    ++walk.values;
    if constexpr (std::is_same_v<T, std::string_view>) {
        for (const char c : value)
            add(walk, static_cast<unsigned char>(c));
    } else if constexpr (std::is_integral_v<T>) {
        add(walk, static_cast<uint64_t>(value));
    } else {
        add(walk, value > 0 ? 1 : 0);
    }
}

void look_at(GrammarMatcher& walk, const gguf::Array& array) {
    ++walk.values;
    std::visit(
        [&](const auto& items) {
            for (const auto& item : items)
                look_at(walk, item);
        },
        array.items);
}

void look_at_metadata(GrammarMatcher& walk, const gguf::File& file) {
    for (const gguf::KeyValue& entry : file.metadata()) {
        promise(file.find(entry.key) == &entry.value, "a key is not found by its name");
        std::visit([&](const auto& value) { look_at(walk, value); }, entry.value);
        const bool integer = file.unsigned_integer(entry.key).has_value();
        promise(!integer || file.number(entry.key).has_value(), "an integer is not a number");
        promise(!(file.boolean(entry.key) && file.text(entry.key)), "a value has two types");
    }
}

uint64_t expected_bytes(const gguf::Tensor& tensor) {
    const auto info = gguf::describe(tensor.type);
    promise(info.has_value(), "a tensor's type is not known");
    promise(tensor.shape[0] % info->block_elements == 0, "a row is not a multiple of blocks");
    uint64_t bytes = tensor.shape[0] / info->block_elements * info->block_bytes;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i)
        bytes *= tensor.shape[i];
    return bytes;
}

void look_at_tensors(GrammarMatcher& walk, const gguf::File& file) {
    uint64_t sum = 0;
    for (const gguf::Tensor& tensor : file.tensors()) {
        promise(file.find_tensor(tensor.name) == &tensor, "a tensor is not found by its name");
        promise(tensor.bytes > 0 && tensor.bytes == expected_bytes(tensor), "a tensor has another size");
        for (const uint64_t offset : {uint64_t{0}, tensor.bytes - 1}) {
            std::byte value{};
            promise(file.read(tensor, offset, {&value, 1}).has_value(), "a tensor's byte cannot be read");
            add(walk, static_cast<uint64_t>(value));
        }
        std::byte none{};
        promise(!file.read(tensor, tensor.bytes, {&none, 1}), "a byte beyond a tensor was read");
        sum += tensor.bytes;
        ++walk.tensors;
    }
    promise(sum == file.tensor_bytes(), "the tensors' bytes do not add up");
}

} // namespace

GrammarMatcher walk_gguf(const gguf::File& file) {
    GrammarMatcher walk;
    look_at_metadata(walk, file);
    look_at_tensors(walk, file);
    return walk;
}

Result<GrammarMatcher> walk_gguf(ByteView bytes) {
    auto file = gguf::File::parse(bytes, std::string(file_name));
    if (!file) {
        const Error& error = file.error();
        promise(error.message.starts_with(file_name), "an error does not name the file");
        promise(std::all_of(error.message.begin(), error.message.end(),
                            [](char c) { return c >= ' ' && c <= '~'; }),
                "an error carries control characters");
        return std::move(file).error();
    }
    return walk_gguf(*file);
}

} // namespace etna::fuzz
