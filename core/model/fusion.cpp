#include "core/model/fusion.hpp"

#include "core/kernels/fused_linear.hpp"
#include "core/kernels/heads_linear.hpp"

#include <algorithm>
#include <array>

namespace etna::model {
namespace {

bool fuses_gate(const kernels::PlanTarget& target, const FeedForwardBlock& block) {
    return reads_halves(block.down.weights) && kernels::can_fuse(target, block.gate.weight) &&
           kernels::can_fuse(target, block.up.weight) && block.gate.weight.layout == block.up.weight.layout;
}

bool fuses_heads(const kernels::PlanTarget& target, const AttentionBlock& block) {
    return std::ranges::all_of(std::array{&block.q, &block.k, &block.v}, [&](const LinearWeights* one) {
        return kernels::can_fuse_heads(target, one->weight, block.head_dim);
    });
}

/// The matrices that read a block's norm.
std::vector<const LinearWeights*> readers_of(const AttentionBlock& block) {
    std::vector<const LinearWeights*> readers{&block.q, &block.k, &block.v};
    if (block.gate)
        readers.push_back(&*block.gate);
    return readers;
}
std::vector<const LinearWeights*> readers_of(const DeltaNetBlock& block) {
    return {&block.qkv, &block.gate, &block.alpha, &block.beta};
}
std::vector<const LinearWeights*> readers_of(const FeedForwardBlock& block) {
    return {&block.gate, &block.up};
}

/// Marks the norms of consecutive blocks.
class NormFusion {
public:
    explicit NormFusion(const kernels::PlanTarget& target) : target_(target) {}

    void visit(AttentionBlock& block) { visit(block, block.output); }
    void visit(DeltaNetBlock& block) { visit(block, block.output); }
    void visit(FeedForwardBlock& block) { visit(block, block.down); }
    /// The router reads rows in f32.
    void visit(ExpertsBlock&) { producer_ = nullptr; }

private:
    template <class Block>
    void visit(Block& block, OutputMatrix& output) {
        const std::vector<const LinearWeights*> readers = readers_of(block);
        const bool all_read_halves =
            std::ranges::all_of(readers, [](const LinearWeights* one) { return reads_halves(*one); });
        if (producer_ != nullptr && all_read_halves) {
            block.norm.is_pending = true;
            producer_->next_norm = block.norm;
        }
        const bool can_produce =
            !output.post_norm.weight && kernels::can_fuse(target_, output.weights.weight);
        producer_ = can_produce ? &output : nullptr;
    }

    const kernels::PlanTarget& target_;
    OutputMatrix* producer_ = nullptr; ///< of the block before
};

} // namespace

void fuse(Decoder& decoder, const kernels::PlanTarget& target) {
    NormFusion norms(target);
    for (Layer& layer : decoder.layers) {
        std::visit([&](auto& block) { norms.visit(block); }, layer.mixer);
        if (auto* const block = std::get_if<AttentionBlock>(&layer.mixer))
            block->is_heads_fused = fuses_heads(target, *block);
        std::visit([&](auto& block) { norms.visit(block); }, layer.feed_forward);
        if (auto* const block = std::get_if<FeedForwardBlock>(&layer.feed_forward))
            block->is_gate_fused = fuses_gate(target, *block);
    }
}

} // namespace etna::model
