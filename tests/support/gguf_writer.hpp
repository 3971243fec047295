#pragma once

#include "core/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Writes GGUF files for tests, sound ones and damaged ones. Deliberately independent of core/gguf: type
/// numbers and layout are repeated here from the GGUF specification.
namespace etna::test {

using Bytes = std::vector<std::byte>;

/// gguf_metadata_value_type.
enum class ValueNumber : uint32_t {
    uint8 = 0,
    int8 = 1,
    uint16 = 2,
    int16 = 3,
    uint32 = 4,
    int32 = 5,
    float32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    uint64 = 10,
    int64 = 11,
    float64 = 12,
};

/// The number of a C++ type; defined for the types that GGUF has.
template <class T>
constexpr ValueNumber value_number();
// clang-format off
template <> constexpr ValueNumber value_number<uint8_t>() { return ValueNumber::uint8; }
template <> constexpr ValueNumber value_number<int8_t>() { return ValueNumber::int8; }
template <> constexpr ValueNumber value_number<uint16_t>() { return ValueNumber::uint16; }
template <> constexpr ValueNumber value_number<int16_t>() { return ValueNumber::int16; }
template <> constexpr ValueNumber value_number<uint32_t>() { return ValueNumber::uint32; }
template <> constexpr ValueNumber value_number<int32_t>() { return ValueNumber::int32; }
template <> constexpr ValueNumber value_number<float>() { return ValueNumber::float32; }
template <> constexpr ValueNumber value_number<bool>() { return ValueNumber::boolean; }
template <> constexpr ValueNumber value_number<std::string>() { return ValueNumber::string; }
template <> constexpr ValueNumber value_number<uint64_t>() { return ValueNumber::uint64; }
template <> constexpr ValueNumber value_number<int64_t>() { return ValueNumber::int64; }
template <> constexpr ValueNumber value_number<double>() { return ValueNumber::float64; }
// clang-format on

/// Appends a number, little endian, or a string with its 64-bit length.
template <class T>
void append(Bytes& bytes, T value) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
}
void append(Bytes& bytes, const std::string& text);

/// The value of an array: type of its elements, their count, the elements. Nest by building the outer one by
/// hand.
template <class T>
Bytes array_value(const std::vector<T>& elements) {
    Bytes bytes;
    append(bytes, static_cast<uint32_t>(value_number<T>()));
    append(bytes, static_cast<uint64_t>(elements.size()));
    for (std::size_t i = 0; i < elements.size(); ++i)
        append(bytes, T(elements[i]));
    return bytes;
}

/// A tensor to write; nothing is checked, so that shape, type and bytes may contradict each other.
struct WrittenTensor {
    std::string name;
    uint32_t type = 0;           ///< ggml_type
    std::vector<uint64_t> shape; ///< fastest dimension first
    Bytes bytes = {};
    std::optional<uint64_t> offset = {}; ///< written instead of the true offset
};

struct GgufWriterOptions {
    uint32_t version = 3;
    std::optional<uint32_t> alignment = {}; ///< writes general.alignment and pads to it; 32 without
    // Claims of a damaged file:
    std::string magic = "GGUF";
    std::optional<uint64_t> claimed_tensors = {};
    std::optional<uint64_t> claimed_entries = {};
};

class GgufWriter {
public:
    explicit GgufWriter(GgufWriterOptions options = {}) : options_(std::move(options)) {}

    /// Any arithmetic type of GGUF, or std::string.
    template <class T>
    void add(std::string key, const T& value) {
        Bytes bytes;
        append(bytes, T(value));
        add_raw(std::move(key), static_cast<uint32_t>(value_number<T>()), std::move(bytes));
    }
    void add(std::string key, const char* text) { add(std::move(key), std::string(text)); }

    template <class T>
    void add_array(std::string key, const std::vector<T>& elements) {
        add_raw(std::move(key), static_cast<uint32_t>(ValueNumber::array), array_value(elements));
    }

    /// A value in the file's encoding, of any claimed type.
    void add_raw(std::string key, uint32_t type, Bytes value);

    void add_tensor(WrittenTensor tensor) { tensors_.push_back(std::move(tensor)); }

    /// The file. Tensor data is padded to the alignment after every tensor, the last one included.
    [[nodiscard]] Bytes bytes() const;

    /// The parts of a split model: all metadata in the first, the tensors shared out in order, split.* keys
    /// in each.
    [[nodiscard]] std::vector<Bytes> split(uint32_t parts) const;

private:
    struct Entry {
        std::string key;
        uint32_t type;
        Bytes value;
    };

    GgufWriterOptions options_;
    std::vector<Entry> entries_;
    std::vector<WrittenTensor> tensors_;
};

void write_file(const std::filesystem::path& path, ByteView bytes);

/// Writes FOLDER/NAME-00001-of-0000N.gguf and so on; the paths in order.
std::vector<std::filesystem::path> write_split(const std::filesystem::path& folder, std::string_view name,
                                               const std::vector<Bytes>& parts);

/// A new folder under the temporary directory that goes with the scope.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace etna::test
