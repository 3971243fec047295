#include "core/model/fusion.hpp"

#include "core/kernels/operations/fused_linear.hpp"

#include <algorithm>
#include <span>

namespace etna::model {
namespace {

bool fuses_gate(const kernels::PlanTarget& target, const FeedForwardBlock& block) {
    return block.gate && !block.gate_deviations && !block.gate->bias && !block.up.bias &&
           reads_packed(block.down.weights) && kernels::can_fuse(target, block.gate->weight) &&
           kernels::can_fuse(target, block.up.weight) && block.gate->weight.layout == block.up.weight.layout;
}

/// The matrices that read a block's norm.
std::vector<const LinearWeights*> readers_of(const FeedForwardBlock& block) {
    std::vector<const LinearWeights*> readers{&block.up};
    if (block.gate)
        readers.push_back(&*block.gate);
    return readers;
}

/// Null if the layer has none.
FeedForwardBlock* dense_block_of(Layer& layer) {
    if (!layer.feed_forward)
        return nullptr;
    auto* const parallel = std::get_if<ParallelExpertsBlock>(&*layer.feed_forward);
    return parallel != nullptr ? &parallel->dense : std::get_if<FeedForwardBlock>(&*layer.feed_forward);
}

/// Marks the norms of consecutive blocks.
class NormFusion {
public:
    explicit NormFusion(const kernels::PlanTarget& target) : target_(target) {}

    void visit(Mixer& mixer) { visit(mixer.norm(), mixer.readers(), mixer.output()); }
    void visit(FeedForwardBlock& block) { visit(block.norm, readers_of(block), block.down); }
    /// The router reads rows in f32.
    void visit(ExpertsBlock&) { producer_ = nullptr; }
    void visit(ParallelExpertsBlock&) { producer_ = nullptr; }
    /// The next norm does not follow the block visited last.
    void forget() { producer_ = nullptr; }

private:
    void visit(InputNorm& norm, const std::vector<const LinearWeights*>& readers, OutputMatrix& output) {
        const bool all_read_packed =
            std::ranges::all_of(readers, [](const LinearWeights* one) { return reads_packed(*one); });
        const bool is_plain = !norm.is_shared && !norm.is_left && !norm.subtracts_mean;
        if (producer_ != nullptr && all_read_packed && is_plain) {
            norm.is_pending = true;
            producer_->next_norm = norm;
        }
        const bool can_produce =
            !output.post_norm.weight && !norm.is_shared && kernels::can_fuse(target_, output.weights.weight);
        producer_ = can_produce ? &output : nullptr;
    }

    const kernels::PlanTarget& target_;
    OutputMatrix* producer_ = nullptr; ///< of the block before
};

/// Of layers that follow each other.
void fuse_layers(std::span<Layer> layers, const kernels::PlanTarget& target) {
    NormFusion norms(target);
    for (Layer& layer : layers) {
        if (layer.mixer) {
            norms.visit(*layer.mixer);
            layer.mixer->fuse(target);
        }
        if (layer.feed_forward)
            std::visit([&](auto& block) { norms.visit(block); }, *layer.feed_forward);
        if (layer.per_layer || layer.altup)
            norms.forget();
        if (FeedForwardBlock* const block = dense_block_of(layer))
            block->is_gate_fused = fuses_gate(target, *block);
    }
}

} // namespace

void fuse(Decoder& decoder, const kernels::PlanTarget& target) {
    fuse_layers(decoder.layers, target);
    if (decoder.draft_head)
        fuse_layers({&decoder.draft_head->layer, 1}, target);
}

} // namespace etna::model
