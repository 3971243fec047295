#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::model {

enum class TensorRole : uint8_t {
    matrix, ///< [rows, columns] weight, repacked into a device layout
    stack,  ///< [count, rows, columns]: matrices selected by index on the device
    vector, ///< norm weight or bias, f32 [rows, columns] on the device, without padding between rows
    host,   ///< read on the host only; one row
};

enum class Presence : uint8_t { required, optional };

/// How a file stores a block's projections of one input.
enum class Storage : uint8_t {
    separate,
    fused, ///< in one tensor, one below the other
};

/// Rows of a fused matrix that become a separate matrix.
struct TensorPart {
    std::string name; ///< on the device
    uint32_t rows = 0;
};

/// "blk.<layer>.<name>"
std::string tensor_name(uint32_t layer, std::string_view name);

/// A tensor that an architecture declares: GGUF shape is {columns, rows} for matrices and vectors of
/// several rows, {columns, rows, count} for stacks, {columns} for the others.
struct TensorSpec {
    std::string name;
    uint32_t rows = 1;
    uint32_t columns = 0;
    uint32_t count = 1; ///< of a stack, or of slices
    TensorRole role = TensorRole::matrix;
    Presence presence = Presence::required;
    std::vector<TensorPart> parts =
        {}; ///< of a matrix or stack, in row order, or the name of a vector; empty: the tensor's
    bool is_exact = false;  ///< of a matrix or stack: its products must not be rounded to f16
    uint32_t part_runs = 1; ///< the rows of the parts follow each other this many times
    float factor = 1;       ///< of a vector: multiplies its elements while they are loaded
};

/// A declared tensor and its entry in the file (borrowed from the gguf::File).
struct ClaimedTensor {
    TensorSpec spec;
    const gguf::Tensor* tensor = nullptr;
};

/// Every tensor that an architecture accepts. A missing, misshapen or undeclared tensor is a load error: the
/// file does not match the architecture.
class TensorTable {
public:
    void matrix(std::string name, uint32_t rows, uint32_t columns, Presence presence = Presence::required);
    /// A required matrix whose products must not be rounded to f16.
    void exact_matrix(std::string name, uint32_t rows, uint32_t columns);
    /// Declares matrices stored separately, or fused under another name. All are required.
    void projections(Storage storage, std::string fused_name, std::vector<TensorPart> parts,
                     uint32_t columns);
    /// Declares a matrix in which `runs` runs of the parts' rows follow each other, such as the query and the
    /// gate of each head. A part becomes the matrix of its rows of all runs.
    void interleaved(std::string name, std::vector<TensorPart> parts, uint32_t runs, uint32_t columns);
    /// Declares a tensor [parts, rows, columns] of equal parts, each of which becomes a matrix.
    void slices(std::string name, std::vector<TensorPart> parts, uint32_t columns);
    void stack(std::string name, uint32_t count, uint32_t rows, uint32_t columns);
    /// Declares a stack whose matrices have the rows of the parts, one below the other. A part becomes the
    /// stack of its rows.
    void fused_stack(std::string name, uint32_t count, std::vector<TensorPart> parts, uint32_t columns);
    /// A stack whose products must not be rounded to f16.
    void exact_stack(std::string name, uint32_t count, uint32_t rows, uint32_t columns);
    void vector(std::string name, uint32_t columns, Presence presence = Presence::required);
    /// A required vector whose elements are multiplied by `factor`.
    void scaled_vector(std::string name, uint32_t columns, float factor);
    /// A required vector that has another name on the device.
    void renamed_vector(std::string name, std::string device_name, uint32_t columns);
    /// `count` vectors in one tensor, such as a bias of each expert.
    void vectors(std::string name, uint32_t count, uint32_t columns);
    void host(std::string name, uint32_t columns, Presence presence = Presence::required);

    /// Accepts tensors whose names begin with `prefix`, which are not loaded.
    void ignore(std::string prefix);

    /// Tensors in the order of the file. Errors: corrupt (missing, wrong shape: names tensor and both
    /// shapes), unsupported (undeclared: names up to five).
    [[nodiscard]] Result<std::vector<ClaimedTensor>> claim(const gguf::File& file) const;

private:
    std::vector<TensorSpec> specs_;
    std::vector<std::string> ignored_; ///< prefixes of names
};

} // namespace etna::model
