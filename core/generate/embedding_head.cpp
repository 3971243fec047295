#include "core/generate/embedding_head.hpp"

#include "core/base/half.hpp"
#include "core/gguf/cursor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Layout of a Q8_0 block: an F16 scale and 32 signed bytes.
constexpr std::size_t q8_0_elements = 32;
constexpr std::size_t q8_0_bytes = 2 + q8_0_elements;

template <class T>
T element(std::span<const std::byte> bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

float q8_0_element(std::span<const std::byte> bytes, std::size_t index) {
    const auto block = bytes.subspan(index / q8_0_elements * q8_0_bytes, q8_0_bytes);
    const auto code = element<int8_t>(block.subspan(2), index % q8_0_elements);
    return half_to_float(element<uint16_t>(block, 0)) * static_cast<float>(code);
}

/// Reads the elements of a tensor. Errors: unsupported, io.
Result<std::vector<float>> read_elements(const gguf::File& file, const gguf::Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.bytes);
    ETNA_CHECK(file.read(tensor, 0, bytes));
    std::vector<float> values(tensor.shape[0] * tensor.shape[1]);
    for (std::size_t i = 0; i < values.size(); ++i) {
        switch (tensor.type) {
        case gguf::TensorType::f32:
            values[i] = element<float>(bytes, i);
            break;
        case gguf::TensorType::f16:
            values[i] = half_to_float(element<uint16_t>(bytes, i));
            break;
        case gguf::TensorType::bf16:
            values[i] = bfloat16_to_float(element<uint16_t>(bytes, i));
            break;
        case gguf::TensorType::q8_0:
            values[i] = q8_0_element(bytes, i);
            break;
        default:
            return Error{ErrorKind::unsupported,
                         fmt::format("{}: tensor {} has a type that embeddings do not support", file.name(),
                                     gguf::backquoted(tensor.name)),
                         "fetch the model in F16 or Q8_0"};
        }
    }
    return values;
}

/// Reads `name`.weight and its bias. Errors: those of EmbeddingHead::read().
Result<HeadLayer> read_layer(const gguf::File& file, const std::string& name,
                             HeadLayer::Activation activation) {
    const gguf::Tensor& weight = *file.find_tensor(name + ".weight");
    constexpr uint64_t width_max = 1U << 20;
    if (weight.shape[0] > width_max || weight.shape[1] > width_max || weight.shape[2] != 1) {
        return Error{ErrorKind::corrupt, fmt::format("{}: tensor {}.weight is no matrix", file.name(), name),
                     "the file is damaged; fetch it again"};
    }
    HeadLayer layer{.rows = static_cast<uint32_t>(weight.shape[1]),
                    .columns = static_cast<uint32_t>(weight.shape[0]),
                    .activation = activation};
    ETNA_TRY(layer.weight, read_elements(file, weight));
    if (const gguf::Tensor* const bias = file.find_tensor(name + ".bias")) {
        ETNA_TRY(layer.bias, read_elements(file, *bias));
        if (layer.bias.size() != layer.rows) {
            return Error{ErrorKind::corrupt,
                         fmt::format("{}: {}.bias has {} elements for {} rows", file.name(), name,
                                     layer.bias.size(), layer.rows),
                         "the file is damaged; fetch it again"};
        }
    }
    return layer;
}

std::vector<float> product(const HeadLayer& layer, std::span<const float> x) {
    std::vector<float> y(layer.rows);
    for (uint32_t row = 0; row < layer.rows; ++row) {
        double sum = layer.bias.empty() ? 0 : double{layer.bias[row]};
        for (uint32_t k = 0; k < layer.columns; ++k)
            sum += double{layer.weight[std::size_t{row} * layer.columns + k]} * double{x[k]};
        y[row] = static_cast<float>(layer.activation == HeadLayer::Activation::tanh ? std::tanh(sum) : sum);
    }
    if (layer.activation != HeadLayer::Activation::softmax)
        return y;
    const double largest = *std::max_element(y.begin(), y.end());
    double total = 0;
    for (const float value : y)
        total += std::exp(value - largest);
    for (float& value : y)
        value = static_cast<float>(std::exp(value - largest) / total);
    return y;
}

} // namespace

Result<EmbeddingHead> EmbeddingHead::read(const gguf::File& file, Pooling pooling, uint32_t width) {
    using Activation = HeadLayer::Activation;
    std::vector<std::pair<std::string, Activation>> names{{"dense_2", Activation::none},
                                                          {"dense_3", Activation::none}};
    if (pooling == Pooling::rank) {
        // Qwen3's reranker classifies between yes and no.
        const bool is_choice = file.text("general.architecture") == "qwen3";
        names = {{"cls", Activation::tanh},
                 {"cls.output", is_choice ? Activation::softmax : Activation::none}};
        if (file.find_tensor("cls.output.weight") == nullptr) {
            return Error{ErrorKind::corrupt,
                         fmt::format("{}: ranks texts, but has no tensor `cls.output.weight`", file.name()),
                         "convert the model again"};
        }
    }
    EmbeddingHead head;
    head.pooling_ = pooling;
    for (const auto& [name, activation] : names) {
        if (file.find_tensor(name + ".weight") == nullptr)
            continue;
        ETNA_TRY(HeadLayer layer, read_layer(file, name, activation));
        if (layer.columns != width) {
            return Error{
                ErrorKind::corrupt,
                fmt::format("{}: {} has {} inputs instead of {}", file.name(), name, layer.columns, width),
                "the file is damaged; fetch it again"};
        }
        width = layer.rows;
        head.layers_.push_back(std::move(layer));
    }
    return head;
}

uint32_t EmbeddingHead::outputs(uint32_t width) const {
    if (pooling_ == Pooling::rank)
        return 1;
    return layers_.empty() ? width : layers_.back().rows;
}

bool EmbeddingHead::gives_probability() const {
    return !layers_.empty() && layers_.back().activation == HeadLayer::Activation::softmax;
}

std::vector<float> EmbeddingHead::apply(std::vector<float> pooled) const {
    for (const HeadLayer& layer : layers_)
        pooled = product(layer, pooled);
    if (pooling_ == Pooling::rank)
        pooled.resize(1);
    return pooled;
}

} // namespace etna::generate
