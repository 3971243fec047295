#pragma once

#include "core/base/result.hpp"
#include "core/generate/pooling.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

/// y = activation(W x + b), in double precision.
struct HeadLayer {
    enum class Activation : uint8_t { none, tanh, softmax };

    uint32_t rows = 0;
    uint32_t columns = 0;
    std::vector<float> weight = {}; ///< [rows, columns]
    std::vector<float> bias = {};   ///< [rows]; empty: none
    Activation activation = Activation::none;
};

/// The layers after pooling: the dense layers of sentence-transformers (`dense_2`, `dense_3`:
/// EmbeddingGemma), or, with Pooling::rank, a classification head (`cls`, `cls.output`) whose first output is
/// the score. They are small, and computed on the host. Immutable.
class EmbeddingHead {
public:
    /// Reads the layers in the file. `width`: width of a pooled vector. Errors: corrupt (consecutive shapes
    /// do not match, or a head lacks `cls.output`), unsupported (a type other than F32, F16, BF16 and Q8_0),
    /// io.
    static Result<EmbeddingHead> read(const gguf::File& file, Pooling pooling, uint32_t width);

    /// Returns the number of outputs for a pooled vector of `width`.
    [[nodiscard]] uint32_t outputs(uint32_t width) const;

    /// Whether the score is a probability; otherwise it is a logit.
    [[nodiscard]] bool gives_probability() const;

    /// Applies the layers to a pooled vector. Precondition: it has the model's width.
    [[nodiscard]] std::vector<float> apply(std::vector<float> pooled) const;

private:
    std::vector<HeadLayer> layers_;
    Pooling pooling_ = Pooling::last;
};

} // namespace etna::generate
