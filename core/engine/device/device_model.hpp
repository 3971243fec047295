#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/device/buffer_sizes.hpp"
#include "core/engine/device/device_plan.hpp"
#include "core/engine/device/recorded_steps.hpp"
#include "core/engine/device/step_inputs.hpp"
#include "core/engine/executor.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/library.hpp"
#include "core/model/layer_state.hpp"
#include "core/model/model.hpp"
#include "core/model/workspace.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/device.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::engine {

/// Host-visible memory of one submission, from submit() until its outputs are read.
struct Transfer {
    vk::Buffer upload;  ///< bytes packed by StepInputs
    vk::Buffer results; ///< kernels::SampleResult [output_rows_max], those of drafts after the outputs'
    vk::Buffer logits;  ///< f32 [output_rows_max, vocabulary], of the rows that request them
    vk::Buffer hidden;  ///< f32 [batch_rows_max, width]: the same for hidden states
    static Result<Transfer> create(vk::Device& device, const StepBytes& bytes);
};

/// A model with everything that its steps need on the device: weights, KV cache and states, workspace,
/// inputs. Must not outlive the device. Belongs to one thread.
class DeviceModel {
public:
    /// Other models may share `library`. Blocks until the weights are loaded. Errors: those of Model::load(),
    /// out_of_memory.
    static Result<std::unique_ptr<DeviceModel>> load(std::shared_ptr<kernels::Library> library,
                                                     const gguf::File& file,
                                                     const model::Blueprint& blueprint,
                                                     const DevicePlan& plan, const model::Progress& progress);

    /// Packs a step into `transfer.upload`. The caller reports its submission to submitted() before it packs
    /// the next step. Returns the step's shape, until the next call. Precondition: check(batch, limits).
    const StepShape& pack(const Batch& batch, const Transfer& transfer);

    /// Records the packed step: upload, copies of pages and states, forward pass, logits and hidden states to
    /// the host. Errors: internal, out_of_memory.
    Result<vk::CommandBuffer> record(const Batch& batch, const Transfer& transfer,
                                     const vk::RecorderOptions& options);

    /// The packed step was submitted.
    void submitted() { inputs_.submitted(); }

    /// Returns the rows that have an output, of the packed batch.
    [[nodiscard]] const std::vector<OutputRow>& output_rows() const { return inputs_.output_rows(); }
    [[nodiscard]] vk::Device& device() const { return library_->device(); }
    /// Those of the decoder.
    [[nodiscard]] uint32_t layers() const { return model_.config().decoder_layers(); }

private:
    /// The buffers of one layer.
    struct LayerBuffers {
        vk::Buffer keys;                ///< of attention
        vk::Buffer values;              ///< of attention
        std::vector<vk::Buffer> states; ///< of a recurrent layer, in the order of model::MixerConfig::parts()
    };

    DeviceModel(std::shared_ptr<kernels::Library> library, model::Model model, model::Workspace workspace,
                const DevicePlan& plan);
    Status create_states(kernels::CacheFormats formats);
    [[nodiscard]] Result<vk::Buffer> create_buffer(uint32_t layer, std::string_view what,
                                                   uint64_t bytes) const;
    Status create_cache(const model::AttentionConfig& attention, uint32_t layer,
                        kernels::CacheFormats formats);
    Status create_slots(uint32_t layer);
    void copy_states(vk::Recorder& recorder, const Batch& batch) const;
    void copy_pages(vk::Recorder& recorder, const Batch& batch) const;
    void copy_values(vk::Recorder& recorder, const Transfer& transfer) const;

    std::shared_ptr<kernels::Library> library_;
    model::Model model_;
    model::Workspace workspace_;
    Limits limits_;
    StepInputs inputs_; ///< borrows model_
    StepShape shape_;
    vk::Buffer input_buffer_;
    std::vector<LayerBuffers> buffers_;     ///< [layers]
    std::vector<model::LayerState> states_; ///< [layers]
};

} // namespace etna::engine
