#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/model/tensor_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace etna::model {

/// A buffer of weights stays below this: shaders index it with signed 32-bit words.
constexpr uint64_t buffer_bytes_max = 8 * gibibyte;

/// The device format of a file's element type: every type that the reader accepts has one.
kernels::Format format_of(gguf::TensorType type);

/// The content of one buffer: a claimed tensor or a part of it. Adjacent entries with the same name are parts
/// of one matrix that exceeds the buffer limit, or that the file stores scattered over another one.
struct PlannedTensor {
    std::string name; ///< of the tensor, or of the part
    TensorRole role = TensorRole::matrix;
    uint32_t count = 1; ///< matrices
    uint32_t rows = 1;  ///< of each
    uint32_t columns = 0;
    bool is_exact = false;                ///< see TensorSpec
    bool is_in_host = false;              ///< its buffer is in host memory; see place_experts()
    const gguf::Tensor* tensor = nullptr; ///< borrowed from the gguf::File
    uint64_t offset = 0;                  ///< of the matrix's first row in the tensor's bytes
    uint32_t first_row = 0;               ///< within the matrix, of a part of a large one
    uint32_t run_rows = 0;       ///< its rows lie in the tensor in runs of this many; 0: they are neighbours
    uint32_t run_stride = 0;     ///< rows from the start of one run to the start of the next
    uint64_t row_bytes = 0;      ///< in the file
    float factor = 1;            ///< see TensorSpec
    kernels::Layout layout = {}; ///< of a matrix
    kernels::PackedBytes packed =
        {}; ///< of each matrix; vectors: f32, padded to kernels::column_padding elements

    /// A stack whose matrices a router chooses from; every row reads all of latent attention's exact stacks.
    [[nodiscard]] bool holds_experts() const { return role == TensorRole::stack && !is_exact; }
    [[nodiscard]] uint64_t source_bytes() const { return uint64_t{count} * rows * row_bytes; }
    /// As the device reads it, wherever the buffer is.
    [[nodiscard]] uint64_t device_bytes() const { return count * (packed.weights + packed.scales); }
};

/// Device layouts and sizes of every tensor that goes to the device. Pure. Matrices are split into parts
/// below `part_bytes`, or below the limit of shaders and device if that is less or `part_bytes` is 0. Errors:
/// unsupported (element type of a vector; eight rows of a matrix, or a stack, too large; names the tensor).
Result<std::vector<PlannedTensor>> plan_weights(const gguf::File& file,
                                                const std::vector<ClaimedTensor>& claimed,
                                                const kernels::PlanTarget& target, uint64_t part_bytes);
/// Bytes that the buffers of the planned tensors take on the device, without those in host memory.
uint64_t weight_bytes(const std::vector<PlannedTensor>& planned);

} // namespace etna::model
