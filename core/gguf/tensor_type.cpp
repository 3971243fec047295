#include "core/gguf/tensor_type.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::gguf {

// Block sizes: the block structs of ggml/src/ggml-common.h.
std::optional<TensorTypeInfo> describe(TensorType type) {
    using Row = std::pair<TensorType, TensorTypeInfo>;
    static constexpr std::array rows = {
        Row{TensorType::f32, {"F32", 1, 4}},         Row{TensorType::f16, {"F16", 1, 2}},
        Row{TensorType::q4_0, {"Q4_0", 32, 18}},     Row{TensorType::q4_1, {"Q4_1", 32, 20}},
        Row{TensorType::q5_0, {"Q5_0", 32, 22}},     Row{TensorType::q5_1, {"Q5_1", 32, 24}},
        Row{TensorType::q8_0, {"Q8_0", 32, 34}},     Row{TensorType::q2_k, {"Q2_K", 256, 84}},
        Row{TensorType::q3_k, {"Q3_K", 256, 110}},   Row{TensorType::q4_k, {"Q4_K", 256, 144}},
        Row{TensorType::q5_k, {"Q5_K", 256, 176}},   Row{TensorType::q6_k, {"Q6_K", 256, 210}},
        Row{TensorType::iq4_nl, {"IQ4_NL", 32, 18}}, Row{TensorType::iq4_xs, {"IQ4_XS", 256, 136}},
        Row{TensorType::bf16, {"BF16", 1, 2}},       Row{TensorType::mxfp4, {"MXFP4", 32, 17}},
    };
    const auto* const row =
        std::find_if(rows.begin(), rows.end(), [type](const Row& one) { return one.first == type; });
    return row == rows.end() ? std::nullopt : std::optional(row->second);
}

} // namespace etna::gguf
