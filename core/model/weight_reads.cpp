#include "core/model/weight_reads.hpp"

#include "core/model/model.hpp"

#include <algorithm>
#include <string_view>

namespace etna::model {

WeightReads weight_reads(const Blueprint& blueprint) {
    constexpr std::string_view table = "token_embd.weight";
    constexpr std::string_view layer_table = "per_layer_token_embd.weight"; // a few rows of it are read
    constexpr std::string_view head = "output.weight";
    constexpr std::string_view draft_table = ".nextn.embed_tokens.weight";
    const bool has_head = std::any_of(blueprint.tensors.begin(), blueprint.tensors.end(),
                                      [&](const PlannedTensor& tensor) { return tensor.name == head; });
    const ExpertConfig& experts = blueprint.config.experts;
    WeightReads reads;
    for (const PlannedTensor& tensor : blueprint.tensors) {
        if (tensor.name.ends_with(draft_table))
            continue;
        const uint64_t weights = uint64_t{tensor.rows} * tensor.columns;
        if (tensor.role == TensorRole::stack)
            reads.row_weights +=
                weights * (tensor.holds_experts() ? experts.experts_per_token : tensor.count);
        else if (tensor.role == TensorRole::matrix && tensor.name != table && tensor.name != layer_table &&
                 tensor.name != head)
            reads.row_weights += weights;
        if (tensor.holds_experts()) {
            reads.expert_bytes += tensor.device_bytes() / tensor.count * experts.experts_per_token;
        } else if (tensor.name != layer_table && (tensor.name != table || !has_head)) {
            reads.shared_bytes += tensor.device_bytes();
        }
    }
    return reads;
}

} // namespace etna::model
