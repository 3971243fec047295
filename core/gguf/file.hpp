#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/gguf/tensor_type.hpp"
#include "core/gguf/value.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::gguf {

/// One tensor of a validated file. `shape[0]` is the fastest dimension (columns of a matrix: the length of a
/// row); unused dimensions are 1. `bytes` is exactly the size implied by type and shape; the range lies
/// inside the file.
struct Tensor {
    std::string name;
    TensorType type = TensorType::f32;
    std::array<uint64_t, 4> shape{1, 1, 1, 1};
    uint32_t dimensions = 1;
    uint64_t offset = 0; ///< of the first byte, in the file that contains it
    uint64_t bytes = 0;
    uint32_t part = 0; ///< index of the file of a split model that contains it
};

/// A file that is not on this machine. `read` fills `into` with the bytes from `offset` on, and may block.
struct RangeSource {
    std::string name; ///< for errors
    uint64_t bytes = 0;
    std::function<Status(uint64_t offset, MutableByteView into)> read;
};

/// A GGUF model file (v2, v3, little endian; one file or all parts of `-00001-of-0000N`), fully validated:
/// every count, offset, size, shape and type was checked against the file. Metadata and directory are in
/// memory, tensors are read on demand. Immutable; thread-safe for reading. Moving keeps borrowed views valid.
/// Source: GGUF specification, ggml/docs/gguf.md.
class File {
public:
    /// Opens and validates `path` and, if its name is that of a part, its sibling parts. Blocks. Errors:
    /// not_found, io, corrupt (truncated, hostile or inconsistent), unsupported (version, byte order, tensor
    /// type); each names the file and the problem.
    static Result<File> open(const std::filesystem::path& path);

    /// Opens and validates a model whose parts are these files, in order: for files without the names of
    /// parts. One file is a model that is not split. Blocks. Errors: as above; invalid_argument (no part).
    static Result<File> open(std::span<const std::filesystem::path> parts);

    /// The same over files elsewhere, of which the directory is read now and tensors on demand. Errors also
    /// those of RangeSource::read; invalid_argument (no part).
    static Result<File> open(std::vector<RangeSource> parts);

    /// The same over bytes in memory, which must outlive the File. `name` identifies the file in errors.
    static Result<File> parse(ByteView bytes, std::string name);

    File(File&&) noexcept;
    File& operator=(File&&) noexcept;
    ~File();

    /// Display name: the path, or the name given to parse().
    [[nodiscard]] const std::string& name() const;

    /// Metadata of the first part. Null when the key is absent.
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] std::span<const KeyValue> metadata() const;

    /// Typed look-ups: empty when absent or of another type. Integers of any width and sign are accepted if
    /// the value fits; `number` also accepts integers.
    [[nodiscard]] std::optional<uint64_t> unsigned_integer(std::string_view key) const;
    [[nodiscard]] std::optional<double> number(std::string_view key) const;
    [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
    [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;

    /// Tensors of all parts, in file order; names are unique.
    [[nodiscard]] std::span<const Tensor> tensors() const;
    [[nodiscard]] const Tensor* find_tensor(std::string_view name) const;

    /// Sum of all tensors' bytes.
    [[nodiscard]] uint64_t tensor_bytes() const;

    /// Reads `into.size()` bytes of a tensor of this file, starting at its byte `offset`. Blocks. Errors: io
    /// (a system error, or the file was truncated), invalid_argument (out of the tensor's range).
    Status read(const Tensor& tensor, uint64_t offset, MutableByteView into) const;

    /// Checks that the files are unmodified since they were opened, so that all reads are consistent. Error:
    /// io.
    [[nodiscard]] Status check_unchanged() const;

private:
    struct Impl;
    explicit File(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::gguf
