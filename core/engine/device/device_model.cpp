#include "core/engine/device/device_model.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::engine {

Result<Transfer> Transfer::create(vk::Device& device, const StepBytes& bytes) {
    using vk::Buffer;
    using vk::MemoryDomain;
    Transfer transfer;
    ETNA_TRY(transfer.upload, Buffer::create(device, MemoryDomain::upload, bytes.inputs, "step upload"));
    ETNA_TRY(transfer.results, Buffer::create(device, MemoryDomain::readback, bytes.results, "step results"));
    ETNA_TRY(transfer.logits, Buffer::create(device, MemoryDomain::readback, bytes.logits, "step logits"));
    ETNA_TRY(transfer.hidden, Buffer::create(device, MemoryDomain::readback, bytes.hidden, "step hidden"));
    return transfer;
}

DeviceModel::DeviceModel(std::shared_ptr<kernels::Library> library, model::Model model,
                         model::Workspace workspace, const DevicePlan& plan)
    : library_(std::move(library)), model_(std::move(model)), workspace_(std::move(workspace)),
      limits_(plan.limits), inputs_(plan.limits, model_.rotaries()) {}

Result<std::unique_ptr<DeviceModel>> DeviceModel::load(std::shared_ptr<kernels::Library> library,
                                                       const gguf::File& file,
                                                       const model::Blueprint& blueprint,
                                                       const DevicePlan& plan,
                                                       const model::Progress& progress) {
    vk::Device& device = library->device();
    ETNA_TRY(model::Model loaded,
             model::Model::load(*library, file, blueprint, plan.limits.context_tokens, progress));
    ETNA_TRY(model::Workspace workspace,
             model::Workspace::create(device, blueprint.config, library->target(), plan.workspace));
    auto made = std::unique_ptr<DeviceModel>(
        new DeviceModel(std::move(library), std::move(loaded), std::move(workspace), plan));
    ETNA_TRY(made->input_buffer_,
             vk::Buffer::create(device, vk::MemoryDomain::device,
                                step_bytes(blueprint.config, plan.limits).inputs, "step inputs"));
    ETNA_CHECK(made->create_states(plan.cache_formats));
    return made;
}

Status DeviceModel::create_states(kernels::CacheFormats formats) {
    const std::vector<model::LayerConfig>& layers = model_.config().layers;
    for (uint32_t layer = 0; layer < layers.size(); ++layer) {
        if (const model::AttentionConfig* attention = layers[layer].attention()) {
            if (attention->keys_of) {
                states_.push_back(states_[*attention->keys_of]);
                buffers_.emplace_back();
                continue;
            }
            ETNA_CHECK(create_cache(*attention, layer, formats));
        } else {
            ETNA_CHECK(create_slots(layer));
        }
    }
    return {};
}

Result<vk::Buffer> DeviceModel::create_buffer(uint32_t layer, std::string_view what, uint64_t bytes) const {
    return vk::Buffer::create(device(), vk::MemoryDomain::device, bytes,
                              fmt::format("layer {} {}", layer, what));
}

Status DeviceModel::create_cache(const model::AttentionConfig& attention, uint32_t layer,
                                 kernels::CacheFormats formats) {
    kernels::LayerCache cache =
        model::layer_cache(attention, formats, limits_.groups[attention.group].page_count);
    const model::CacheBytes bytes = model::cache_bytes(cache);
    LayerBuffers buffers;
    ETNA_TRY(buffers.keys, create_buffer(layer, "keys", bytes.keys));
    cache.keys = buffers.keys.range();
    if (!attention.latent) {
        ETNA_TRY(buffers.values, create_buffer(layer, "values", bytes.values));
        cache.values = buffers.values.range();
    }
    states_.push_back({.cache = cache});
    buffers_.push_back(std::move(buffers));
    return {};
}

Status DeviceModel::create_slots(uint32_t layer) {
    const model::LayerConfig& config = model_.config().layers[layer];
    const std::vector<model::StatePart> parts = config.mixer.parts();
    const std::vector<uint64_t> bytes = layer_buffer_bytes(config, limits_, {});
    LayerBuffers buffers;
    model::LayerState state{.slots = limits_.state_slots};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        ETNA_TRY(vk::Buffer buffer, create_buffer(layer, parts[i].name, bytes[i]));
        state.parts.push_back(buffer.range());
        buffers.states.push_back(std::move(buffer));
    }
    states_.push_back(std::move(state));
    buffers_.push_back(std::move(buffers));
    return {};
}

void DeviceModel::copy_pages(vk::Recorder& recorder, const Batch& batch) const {
    const std::vector<model::LayerConfig>& layers = model_.config().layers;
    for (const PageCopy& copy : batch.copies) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            const model::AttentionConfig* attention = layers[i].attention();
            if (attention == nullptr || attention->keys_of || attention->group != copy.group)
                continue;
            const kernels::LayerCache& cache = states_[i].cache;
            const auto copy_page = [&](const vk::Buffer& buffer, kernels::CacheFormat format) {
                const uint64_t bytes = kernels::layer_cache_bytes(format, 1, cache.kv_heads, cache.head_dim);
                recorder.copy(buffer, copy.from * bytes, buffer, copy.to * bytes, bytes);
            };
            copy_page(buffers_[i].keys, cache.formats.keys);
            if (!attention->latent)
                copy_page(buffers_[i].values, cache.formats.values);
        }
    }
}

void DeviceModel::copy_states(vk::Recorder& recorder, const Batch& batch) const {
    if (batch.state_copies.empty())
        return;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        const std::vector<model::StatePart> parts = model_.config().layers[i].mixer.parts();
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (!parts[k].is_copied)
                continue;
            const vk::Buffer& buffer = buffers_[i].states[k];
            const uint64_t bytes = parts[k].slot_bytes;
            for (const StateCopy& copy : batch.state_copies)
                recorder.copy(buffer, copy.from * bytes, buffer, copy.to * bytes, bytes);
        }
    }
}

void DeviceModel::copy_values(vk::Recorder& recorder, const Transfer& transfer) const {
    const auto copy_rows = [&](const model::RowBuffer& source, const vk::Buffer& to, uint32_t at,
                               uint32_t count) {
        const uint64_t bytes = uint64_t{source.rows.columns} * sizeof(float);
        recorder.copy(source.buffer, uint64_t{at} * source.rows.stride * sizeof(float), to, at * bytes,
                      count * bytes);
    };
    const model::RowBuffer hidden = workspace_.hidden();
    const bool is_dense = hidden.rows.stride == hidden.rows.columns; // neighbours are copied together
    const std::vector<CopiedRow>& rows = shape_.copied_rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].kind == OutputKind::logits) {
            copy_rows(workspace_.logits(), transfer.logits, rows[i].at, 1);
            continue;
        }
        const uint32_t first = rows[i].at;
        while (is_dense && i + 1 < rows.size() && rows[i + 1].kind == OutputKind::hidden &&
               rows[i + 1].at == rows[i].at + 1)
            ++i;
        copy_rows(hidden, transfer.hidden, first, rows[i].at - first + 1);
    }
}

const StepShape& DeviceModel::pack(const Batch& batch, const Transfer& transfer) {
    inputs_.pack(batch, transfer.upload.mapped());
    shape_.step = inputs_.step(input_buffer_.range(), transfer.results.range());
    shape_.input_bytes = inputs_.bytes();
    shape_.copied_rows.clear();
    for (const OutputRow& row : output_rows()) {
        if (row.output_kind == OutputKind::logits || row.output_kind == OutputKind::hidden)
            shape_.copied_rows.push_back({.kind = row.output_kind, .at = row.at});
    }
    shape_.runs_draft_head = batch.runs_draft_head;
    return shape_;
}

Result<vk::CommandBuffer> DeviceModel::record(const Batch& batch, const Transfer& transfer,
                                              const vk::RecorderOptions& options) {
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device(), options));
    recorder.copy(transfer.upload, 0, input_buffer_, 0, shape_.input_bytes);
    copy_pages(recorder, batch);
    copy_states(recorder, batch);
    model::Arena arena = workspace_.arena();
    kernels::PackedForms packed_forms;
    const model::Recording recording{.launcher = {*library_, recorder, &packed_forms},
                                     .arena = arena,
                                     .activations = workspace_.activations(),
                                     .states = states_,
                                     .step = shape_.step};
    model_.record(recording);
    copy_values(recorder, transfer);
    if (shape_.runs_draft_head)
        model_.record_drafts(recording);
    if (arena.is_exceeded())
        return Error{ErrorKind::internal, "a step needs more scratch memory than was planned"};
    return recorder.finish();
}

} // namespace etna::engine
