#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace etna::model {

enum class TensorRole : uint8_t {
    matrix, ///< [rows, columns] weight, repacked into a device layout
    vector, ///< norm weight or bias, f32 on the device; one row
    host,   ///< read on the host only; one row
};

enum class Presence : uint8_t { required, optional };

/// A tensor that an architecture knows: GGUF shape is {columns, rows} for matrices, {columns} for the others.
struct TensorSpec {
    std::string name;
    uint32_t rows = 1;
    uint32_t columns = 0;
    TensorRole role = TensorRole::matrix;
    Presence presence = Presence::required;
};

/// A declared tensor and where the file has it (borrowed from the gguf::File).
struct ClaimedTensor {
    TensorSpec spec;
    const gguf::Tensor* tensor = nullptr;
};

/// Everything that may stand in a model's file. A tensor that is missing, of another shape, or in the file
/// without being declared means that file and architecture do not fit together.
class TensorTable {
public:
    void matrix(std::string name, uint32_t rows, uint32_t columns, Presence presence = Presence::required);
    void vector(std::string name, uint32_t columns, Presence presence = Presence::required);
    void host(std::string name, uint32_t columns, Presence presence = Presence::required);

    /// Tensors in the order of the file. Errors: corrupt (missing, wrong shape: names tensor and both
    /// shapes), unsupported (undeclared: names up to five).
    [[nodiscard]] Result<std::vector<ClaimedTensor>> claim(const gguf::File& file) const;

private:
    std::vector<TensorSpec> specs_;
};

} // namespace etna::model
