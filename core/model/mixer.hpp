#pragma once

#include "core/kernels/library.hpp"
#include "core/model/blocks/linear.hpp"
#include "core/model/layer_state.hpp"
#include "core/model/step.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace etna::model {

/// A block that moves information between positions: residual += output matrix x (mixture of the normalised
/// residual). Weights are borrowed.
class Mixer {
public:
    Mixer() = default;
    Mixer(const Mixer&) = delete;
    Mixer& operator=(const Mixer&) = delete;
    virtual ~Mixer() = default;

    /// Records the block for the rows of the step; `state`: of its layer.
    virtual void record(const Recording& recording, const LayerState& state) const = 0;

    /// The norm of its input, the matrices that read that norm, and its last matrix: fusion.hpp joins them
    /// with the blocks before and after.
    [[nodiscard]] virtual InputNorm& norm() = 0;
    [[nodiscard]] virtual std::vector<const LinearWeights*> readers() const = 0;
    [[nodiscard]] virtual OutputMatrix& output() = 0;

    /// Marks the steps within the block that share a dispatch on a target.
    virtual void fuse(const kernels::PlanTarget& target) = 0;
};

// Calls by the block's own name, which the members of MixerBlock would hide.
template <class Block>
void record_mixer(const Recording& recording, const Block& block, const LayerState& state) {
    record(recording, block, state);
}
template <class Block>
std::vector<const LinearWeights*> readers_of_mixer(const Block& block) {
    return readers(block);
}
template <class Block>
void fuse_mixer(Block& block, const kernels::PlanTarget& target) {
    if constexpr (requires { fuse(block, target); })
        fuse(block, target);
}

/// A mixer of a struct with members `norm` and `output`, and functions record(recording, block, state),
/// readers(block) and, if steps within it share dispatches, fuse(block, target).
template <class Block>
class MixerBlock final : public Mixer {
public:
    explicit MixerBlock(Block block) : block_(std::move(block)) {}

    void record(const Recording& recording, const LayerState& state) const override {
        record_mixer(recording, block_, state);
    }
    [[nodiscard]] InputNorm& norm() override { return block_.norm; }
    [[nodiscard]] std::vector<const LinearWeights*> readers() const override {
        return readers_of_mixer(block_);
    }
    [[nodiscard]] OutputMatrix& output() override { return block_.output; }
    void fuse(const kernels::PlanTarget& target) override { fuse_mixer(block_, target); }

private:
    Block block_;
};

template <class Block>
OwnedMixer mixer_of(Block block) {
    return OwnedMixer(new MixerBlock<Block>(std::move(block)));
}

} // namespace etna::model
