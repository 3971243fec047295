#include "core/gguf/tensor_type.hpp"

namespace etna::gguf {

// Block sizes: ggml/src/ggml-common.h, where each block is a struct.
std::optional<TensorTypeInfo> describe(TensorType type) {
    switch (type) {
    case TensorType::f32:
        return TensorTypeInfo{"F32", 1, 4};
    case TensorType::f16:
        return TensorTypeInfo{"F16", 1, 2};
    case TensorType::q4_0:
        return TensorTypeInfo{"Q4_0", 32, 18};
    case TensorType::q4_1:
        return TensorTypeInfo{"Q4_1", 32, 20};
    case TensorType::q5_0:
        return TensorTypeInfo{"Q5_0", 32, 22};
    case TensorType::q5_1:
        return TensorTypeInfo{"Q5_1", 32, 24};
    case TensorType::q8_0:
        return TensorTypeInfo{"Q8_0", 32, 34};
    case TensorType::q2_k:
        return TensorTypeInfo{"Q2_K", 256, 84};
    case TensorType::q3_k:
        return TensorTypeInfo{"Q3_K", 256, 110};
    case TensorType::q4_k:
        return TensorTypeInfo{"Q4_K", 256, 144};
    case TensorType::q5_k:
        return TensorTypeInfo{"Q5_K", 256, 176};
    case TensorType::q6_k:
        return TensorTypeInfo{"Q6_K", 256, 210};
    case TensorType::iq4_nl:
        return TensorTypeInfo{"IQ4_NL", 32, 18};
    case TensorType::iq4_xs:
        return TensorTypeInfo{"IQ4_XS", 256, 136};
    case TensorType::bf16:
        return TensorTypeInfo{"BF16", 1, 2};
    case TensorType::mxfp4:
        return TensorTypeInfo{"MXFP4", 32, 17};
    }
    return std::nullopt;
}

} // namespace etna::gguf
