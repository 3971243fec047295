#include "core/engine/device/device_model.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::engine {

Result<Transfer> Transfer::create(vk::Device& device, const DevicePlan& plan, uint32_t rotary_dims) {
    const Limits& limits = plan.limits;
    const uint64_t rows = limits.output_rows_max;
    const uint64_t inputs = step_input_bytes(limits, rotary_dims, limits.groups.size());
    Transfer transfer;
    ETNA_TRY(transfer.upload, vk::Buffer::create(device, vk::MemoryDomain::upload, inputs, "step upload"));
    ETNA_TRY(transfer.results, vk::Buffer::create(device, vk::MemoryDomain::readback,
                                                  rows * sizeof(kernels::SampleResult), "step results"));
    ETNA_TRY(transfer.values, vk::Buffer::create(device, vk::MemoryDomain::readback,
                                                 rows * readback_row_bytes(limits), "step values"));
    return transfer;
}

DeviceModel::DeviceModel(std::shared_ptr<kernels::Library> library, model::Model model,
                         model::Workspace workspace, const DevicePlan& plan)
    : library_(std::move(library)), model_(std::move(model)), workspace_(std::move(workspace)),
      limits_(plan.limits), inputs_(plan.limits, model_.rotaries()) {}

Result<std::unique_ptr<DeviceModel>>
DeviceModel::load(std::shared_ptr<kernels::Library> library, const gguf::File& file,
                  const model::Blueprint& blueprint, const DevicePlan& plan,
                  kernels::CacheFormats cache_formats, const model::Progress& progress) {
    vk::Device& device = library->device();
    ETNA_TRY(model::Model loaded,
             model::Model::load(device, file, blueprint, plan.limits.context_tokens, progress));
    ETNA_TRY(model::Workspace workspace,
             model::Workspace::create(device, blueprint.config, library->target(), plan.workspace));
    auto made = std::unique_ptr<DeviceModel>(
        new DeviceModel(std::move(library), std::move(loaded), std::move(workspace), plan));
    const uint64_t inputs = step_input_bytes(plan.limits, made->rotary_dims(), plan.limits.groups.size());
    ETNA_TRY(made->input_buffer_,
             vk::Buffer::create(device, vk::MemoryDomain::device, inputs, "step inputs"));
    ETNA_CHECK(made->create_cache(plan, cache_formats));
    return made;
}

Status DeviceModel::create_cache(const DevicePlan& plan, kernels::CacheFormats formats) {
    const model::Config& config = model_.config();
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        const model::LayerConfig& shape = config.layers[layer];
        const uint32_t pages = plan.limits.groups[shape.group].page_count;
        const auto make = [&](kernels::CacheFormat format, std::string_view what) {
            const uint64_t bytes = kernels::layer_cache_bytes(format, pages, shape.kv_heads, shape.head_dim);
            return vk::Buffer::create(device(), vk::MemoryDomain::device, bytes,
                                      fmt::format("layer {} {}", layer, what));
        };
        LayerBuffers buffers;
        ETNA_TRY(buffers.keys, make(formats.keys, "keys"));
        ETNA_TRY(buffers.values, make(formats.values, "values"));
        caches_.push_back({.formats = formats,
                           .kv_heads = shape.kv_heads,
                           .head_dim = shape.head_dim,
                           .pages = pages,
                           .keys = buffers.keys.range(),
                           .values = buffers.values.range()});
        cache_buffers_.push_back(std::move(buffers));
    }
    return {};
}

void DeviceModel::copy_pages(vk::Recorder& recorder, const Batch& batch) const {
    if (batch.copies.empty())
        return;
    for (const PageCopy& copy : batch.copies) {
        for (std::size_t i = 0; i < cache_buffers_.size(); ++i) {
            if (model_.config().layers[i].group != copy.group)
                continue;
            const LayerBuffers& layer = cache_buffers_[i];
            const auto page_bytes = [&](kernels::CacheFormat format) {
                return kernels::layer_cache_bytes(format, 1, caches_[i].kv_heads, caches_[i].head_dim);
            };
            const uint64_t keys = page_bytes(caches_[i].formats.keys);
            const uint64_t values = page_bytes(caches_[i].formats.values);
            recorder.copy(layer.keys, copy.from * keys, layer.keys, copy.to * keys, keys);
            recorder.copy(layer.values, copy.from * values, layer.values, copy.to * values, values);
        }
    }
}

void DeviceModel::copy_values(vk::Recorder& recorder, const Transfer& transfer) const {
    for (std::size_t i = 0; i < output_rows().size(); ++i) {
        const OutputKind kind = output_rows()[i].output_kind;
        if (kind != OutputKind::logits && kind != OutputKind::hidden)
            continue;
        const model::RowBuffer source =
            kind == OutputKind::logits ? workspace_.logits() : workspace_.output_hidden();
        const uint64_t bytes = uint64_t{source.rows.columns} * sizeof(float);
        recorder.copy(source.buffer, i * source.rows.stride * sizeof(float), transfer.values,
                      i * readback_row_bytes(limits_), bytes);
    }
}

Result<vk::CommandBuffer> DeviceModel::record(const Batch& batch, const Transfer& transfer,
                                              const vk::RecorderOptions& options) {
    inputs_.pack(batch, transfer.upload.mapped());
    const model::Step step = inputs_.step(input_buffer_.range(), transfer.results.range());
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device(), options));
    recorder.copy(transfer.upload, 0, input_buffer_, 0, inputs_.bytes());
    copy_pages(recorder, batch);
    recorder.barrier();
    model_.record({.library = *library_,
                   .recorder = recorder,
                   .activations = workspace_.activations(),
                   .caches = caches_,
                   .step = step});
    copy_values(recorder, transfer);
    return recorder.finish();
}

} // namespace etna::engine
