#pragma once

#include "core/base/bytes.hpp"
#include "core/gguf/file.hpp"
#include "core/gguf/tensor_type.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::reference {

/// IEEE 754-2008 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Exact, subnormals included.
double half_to_double(uint16_t bits);

/// The nearest binary16, ties to even, overflow to infinity, NaN to a quiet NaN. Rounds once, straight from
/// double.
uint16_t double_to_half(double value);

/// bfloat16: the upper 16 bits of an IEEE 754 binary32. Exact.
double bfloat16_to_double(uint16_t bits);

/// Rounds to binary32 first and then to bfloat16, both to nearest even, as a device that computes in float
/// does.
uint16_t double_to_bfloat16(double value);

/// A value after storing it in the narrower type and loading it.
double round_to_float(double value);
double round_to_half(double value);

/// A dense matrix, row after row: values[row * columns + column].
struct Matrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<double> values = {};
    gguf::TensorType type = gguf::TensorType::f32; ///< as the file stores it
    /// The elements as matrix units take them from tiles: decode_row_in_half(). Empty: as `values` round to.
    std::vector<double> in_half = {};

    [[nodiscard]] std::span<const double> row(std::size_t index) const {
        return std::span(values).subspan(index * columns, columns);
    }
};

/// Whether decode_row knows this type: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL,
/// IQ4_XS and MXFP4, which are all of gguf::TensorType.
bool can_decode(gguf::TensorType type);

/// One row as exact doubles: every element of the types above is representable, since a scale has 11
/// significant bits at multiples of 2^-24 and the integers it meets have at most 12. Little endian. ggml
/// computes elements in float, and round_to_float of ours is the same to the bit: its products fit 24 bits,
/// so that it rounds once, where it adds a minimum. (MXFP4 has no sums; it overflows to infinity above
/// exponent 252.) Source: GGUF specification and the ggml types it names; layouts and formulas are at the
/// decoders (decode_*.cpp). Preconditions (asserted): can_decode(type), `columns` is a multiple of the block
/// length, `bytes` is exactly one row.
std::vector<double> decode_row(gguf::TensorType type, ByteView bytes, std::size_t columns);

/// The same in f16, which is how a matrix in tiles reaches matrix units: scale and offset of an element,
/// times 16, are rounded, then scale x code + offset is rounded once; returned without the 16. Elements of
/// F16 and BF16 are rounded alone.
std::vector<double> decode_row_in_half(gguf::TensorType type, ByteView bytes, std::size_t columns);

/// All rows of a tensor whose content `bytes` is: columns = shape[0], rows = shape[1] * shape[2] * shape[3].
/// Precondition (asserted): can_decode(tensor.type).
Matrix decode_matrix(const gguf::Tensor& tensor, ByteView bytes);

} // namespace etna::reference
