#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/library.hpp"
#include "core/model/arch/registry.hpp"
#include "core/model/config.hpp"
#include "core/model/expert_placement.hpp"
#include "core/model/forward.hpp"
#include "core/model/rotary.hpp"
#include "core/model/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::model {

struct BlueprintOptions {
    uint64_t matrix_part_bytes = 0; ///< as for plan_weights()
    bool has_draft_head = true;     ///< false: that of the file is ignored
};

/// A file's model and its layout plan, made before anything is on the device.
struct Blueprint {
    const Architecture* architecture = nullptr;
    Config config;
    std::vector<PlannedTensor> tensors; ///< borrow the gguf::File
    uint64_t weight_bytes = 0;          ///< on the device
    HostExperts host_experts;           ///< none, until place_experts()
    BlueprintOptions options = {};      ///< that it was planned with
};

/// Checks a file's metadata and tensors and plans their layouts for a device. Pure. Errors: those of
/// find_architecture(), read_config(), TensorTable::claim(), plan_weights() and read_divisors().
Result<Blueprint> plan_model(const gguf::File& file, const kernels::PlanTarget& target,
                             const BlueprintOptions& options = {});

/// Checks that etna can run the file's model, as far as that is decidable without a device. Errors: those of
/// plan_model(), except plan_weights()'s.
Status check_model(const gguf::File& file);

/// Whether the file's model encodes texts and generates none (Config::is_encoder). Pure. Errors: those of
/// find_architecture() and read_config().
Result<bool> is_encoder(const gguf::File& file);

/// A model on the device, ready to record steps. Must not outlive the device. Immutable.
class Model {
public:
    /// `library`: of the device, and with the target that the blueprint was planned for. `context_tokens`:
    /// length of the longest sequence. Blocks until all weights are on the device. Errors: those of
    /// Weights::load().
    static Result<Model> load(kernels::Library& library, const gguf::File& file, const Blueprint& blueprint,
                              uint32_t context_tokens, const Progress& progress);

    [[nodiscard]] const Config& config() const { return config_; }
    [[nodiscard]] std::span<const Rotary> rotaries() const { return rotaries_; } ///< [cache groups]

    void record(const Recording& recording) const { record_forward(recording, decoder_); }
    /// Precondition: the config has a draft head.
    void record_drafts(const Recording& recording) const { model::record_drafts(recording, decoder_); }

private:
    Model(Config config, uint32_t context_tokens, Weights weights, Decoder decoder);

    Config config_;
    std::vector<Rotary> rotaries_;
    Weights weights_;
    Decoder decoder_; ///< borrows weights_
};

} // namespace etna::model
