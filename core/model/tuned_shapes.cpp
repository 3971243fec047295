#include "core/model/tuned_shapes.hpp"

#include "core/kernels/fused_linear.hpp"
#include "core/kernels/heads_linear.hpp"
#include "core/kernels/linear.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::model {
namespace {

using kernels::TunedKernel;
using kernels::TunedShape;

/// The matrices of a blueprint by name, each with the rows of all of its parts.
class MatrixShapes {
public:
    MatrixShapes(const Blueprint& blueprint, const kernels::PlanTarget& target) : target_(target) {
        for (const PlannedTensor& tensor : blueprint.tensors) {
            if (tensor.role != TensorRole::matrix || tensor.is_exact)
                continue;
            kernels::Matrix& matrix = matrices_[tensor.name];
            is_split_[tensor.name] = matrix.rows > 0;
            matrix.layout = tensor.layout;
            matrix.rows += tensor.rows;
            matrix.columns = tensor.columns;
        }
    }

    [[nodiscard]] const std::map<std::string, kernels::Matrix>& all() const { return matrices_; }

    [[nodiscard]] bool is_split(const std::string& name) const { return is_split_.at(name); }

    /// Null if the model has no such matrix.
    [[nodiscard]] const kernels::Matrix* find(uint32_t layer, std::string_view name) const {
        const auto found = matrices_.find(tensor_name(layer, fmt::format("{}.weight", name)));
        return found == matrices_.end() ? nullptr : &found->second;
    }

    /// Whether matrices share dispatches: those in tiles, in one part.
    [[nodiscard]] bool is_stackable(uint32_t layer, std::string_view name) const {
        const kernels::Matrix* const matrix = find(layer, name);
        return matrix != nullptr && matrix->layout.arrangement == kernels::Arrangement::tiles &&
               !is_split_.at(tensor_name(layer, fmt::format("{}.weight", name)));
    }

    [[nodiscard]] bool is_fusible(uint32_t layer, std::string_view name) const {
        return is_stackable(layer, name) && kernels::can_fuse(target_, *find(layer, name));
    }

    [[nodiscard]] bool fuses_heads(uint32_t layer, std::string_view name, uint32_t head_dim) const {
        return is_stackable(layer, name) && kernels::can_fuse_heads(target_, *find(layer, name), head_dim);
    }

private:
    const kernels::PlanTarget& target_;
    std::map<std::string, kernels::Matrix> matrices_;
    std::map<std::string, bool> is_split_;
};

/// The shapes found so far, each once.
class ShapeList {
public:
    explicit ShapeList(const kernels::PlanTarget& target) : target_(target) {}

    void add(const TunedShape& shape) {
        if (std::ranges::find(shapes_, shape) == shapes_.end() &&
            kernels::tuning_candidates(target_, shape).size() > 1)
            shapes_.push_back(shape);
    }
    void add(TunedKernel kernel, const kernels::Matrix& matrix) {
        add({.kernel = kernel, .layout = matrix.layout, .rows = matrix.rows, .columns = matrix.columns});
    }
    std::vector<TunedShape> take() { return std::move(shapes_); }

private:
    const kernels::PlanTarget& target_;
    std::vector<TunedShape> shapes_;
};

/// The stacks of projections over one input, as record_projections() makes them.
void add_stacks(const MatrixShapes& matrices, uint32_t layer, std::span<const std::string_view> names,
                ShapeList& shapes) {
    std::vector<kernels::Matrix> left;
    for (const std::string_view name : names) {
        if (matrices.is_stackable(layer, name))
            left.push_back(*matrices.find(layer, name));
    }
    while (!left.empty()) {
        kernels::Matrix stack = left.front();
        stack.rows = 0;
        std::size_t size = 0;
        std::erase_if(left, [&](const kernels::Matrix& one) {
            const bool joins = one.layout == stack.layout && size < kernels::stacked_matrices_max;
            stack.rows += joins ? one.rows : 0;
            size += joins ? 1 : 0;
            return joins;
        });
        shapes.add(TunedKernel::linear, stack);
    }
}

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 4> attention_names{"attn_q", "attn_k", "attn_v", "attn_q_gate"};
constexpr std::array<std::string_view, 3> latent_names{"attn_q", "attn_q_a", "attn_kv_a_mqa"};
constexpr std::array<std::string_view, 4> delta_names{"attn_qkv", "attn_gate", "ssm_alpha", "ssm_beta"};
constexpr std::array<std::string_view, 3> mamba_names{"ssm_in_gate", "ssm_in_xbc", "ssm_in_dt"};
constexpr std::array<std::string_view, 2> feed_forward_names{"ffn_gate", "ffn_up"};
/// The projections of each kind of block, in the order in which record_projections() stacks them.
constexpr std::array<Names, 5> projections{attention_names, latent_names, delta_names, mamba_names,
                                           feed_forward_names};

/// Whether heads_linear(), which has no candidates, computes q, k and v.
bool fuses_heads(const MatrixShapes& matrices, uint32_t layer, const AttentionConfig* heads) {
    return heads != nullptr && !heads->latent &&
           std::ranges::all_of(Names(attention_names).first(3), [&](std::string_view name) {
               return matrices.fuses_heads(layer, name, heads->head_dim);
           });
}

void add_layer(const MatrixShapes& matrices, uint32_t layer, const LayerConfig& config, ShapeList& shapes) {
    const AttentionConfig* const heads = config.attention();
    const bool has_latent = heads != nullptr && heads->latent;
    const Names attention = has_latent ? Names(latent_names) : Names(attention_names);
    add_stacks(matrices, layer, fuses_heads(matrices, layer, heads) ? attention.subspan(3) : attention,
               shapes);
    add_stacks(matrices, layer, delta_names, shapes);
    add_stacks(matrices, layer, mamba_names, shapes);
    const kernels::Matrix* const gate = matrices.find(layer, "ffn_gate");
    if (!config.gate_deviations && matrices.is_fusible(layer, "ffn_gate") &&
        matrices.is_fusible(layer, "ffn_up") && gate->layout == matrices.find(layer, "ffn_up")->layout) {
        shapes.add(TunedKernel::gated_linear, *gate);
    } else {
        add_stacks(matrices, layer, feed_forward_names, shapes);
    }
    for (const std::string_view name : {"attn_output", "ffn_down"}) {
        if (matrices.is_fusible(layer, name))
            shapes.add(TunedKernel::fused_linear, *matrices.find(layer, name));
    }
}

/// Whether a matrix has separate dispatches. Tiled matrices of a layer's projections are stacked.
bool is_alone(const std::string& name, const kernels::Matrix& matrix) {
    const auto has_stem = [&](std::string_view stem) {
        return name.find(fmt::format(".{}.", stem)) != std::string::npos;
    };
    const bool is_projection = name.starts_with("blk.") && std::ranges::any_of(projections, [&](Names names) {
                                   return std::ranges::any_of(names, has_stem);
                               });
    return matrix.layout.arrangement != kernels::Arrangement::tiles || !is_projection;
}

} // namespace

std::vector<TunedShape> tuned_shapes(const Blueprint& blueprint, const kernels::PlanTarget& target) {
    constexpr std::string_view table = "token_embd.weight";
    constexpr std::string_view layer_table = "per_layer_token_embd.weight"; // only looked up
    const MatrixShapes matrices(blueprint, target);
    ShapeList shapes(target);
    const Config& config = blueprint.config;
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        const AttentionConfig* const heads = config.layers[layer].attention();
        add_layer(matrices, layer, config.layers[layer], shapes);
        if (heads != nullptr && !heads->latent) {
            for (const TunedKernel kernel : {TunedKernel::attention_decode, TunedKernel::attention}) {
                shapes.add({.kernel = kernel,
                            .rows = heads->q_heads,
                            .columns = heads->head_dim,
                            .kv_heads = heads->kv_heads});
            }
        }
    }
    const bool has_head = matrices.all().contains("output.weight");
    for (const auto& [name, matrix] : matrices.all()) {
        // Matrices in parts are too large for the measurement.
        if (is_alone(name, matrix) && !matrices.is_split(name) && name != layer_table &&
            !(has_head && name == table))
            shapes.add(TunedKernel::linear, matrix);
    }
    return shapes.take();
}

} // namespace etna::model
