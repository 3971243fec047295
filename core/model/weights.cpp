#include "core/model/weights.hpp"

#include "core/base/half.hpp"
#include "core/model/uploader.hpp"
#include "core/vk/device.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// Every type that the reader lets through has a device format.
kernels::Format format_of(gguf::TensorType type) {
    switch (type) {
    case gguf::TensorType::f32:
        return kernels::Format::f32;
    case gguf::TensorType::f16:
        return kernels::Format::f16;
    case gguf::TensorType::bf16:
        return kernels::Format::bf16;
    case gguf::TensorType::q8_0:
        return kernels::Format::q8_0;
    case gguf::TensorType::q4_0:
        return kernels::Format::q4_0;
    case gguf::TensorType::q4_1:
        return kernels::Format::q4_1;
    case gguf::TensorType::q5_0:
        return kernels::Format::q5_0;
    case gguf::TensorType::q5_1:
        return kernels::Format::q5_1;
    case gguf::TensorType::q2_k:
        return kernels::Format::q2_k;
    case gguf::TensorType::q3_k:
        return kernels::Format::q3_k;
    case gguf::TensorType::q4_k:
        return kernels::Format::q4_k;
    case gguf::TensorType::q5_k:
        return kernels::Format::q5_k;
    case gguf::TensorType::q6_k:
        return kernels::Format::q6_k;
    case gguf::TensorType::iq4_nl:
        return kernels::Format::iq4_nl;
    case gguf::TensorType::iq4_xs:
        return kernels::Format::iq4_xs;
    case gguf::TensorType::mxfp4:
        return kernels::Format::mxfp4;
    }
    return kernels::Format::f32;
}

Result<PlannedTensor> plan_matrix(const gguf::File& file, const ClaimedTensor& claimed,
                                  const kernels::PlanTarget& target, uint64_t part_bytes) {
    const kernels::Layout layout{.format = format_of(claimed.tensor->type),
                                 .arrangement = kernels::preferred_arrangement(target)};
    const uint32_t rows = claimed.spec.rows;
    const uint32_t columns = claimed.spec.columns;
    const kernels::PackedBytes group = kernels::packed_bytes(layout, kernels::repack_rows, columns);
    uint64_t largest = matrix_part_bytes_max;
    for (const uint64_t bound : {target.profile.allocation_bytes_max, part_bytes}) {
        if (bound != 0)
            largest = std::min(largest, bound);
    }
    const uint64_t groups = (largest - 1) / (group.weights + group.scales);
    if (groups == 0) {
        return Error{.kind = ErrorKind::unsupported,
                     .message = fmt::format(
                         "{}: {} rows of tensor {} take {} bytes on the device, which must stay below {}",
                         file.name(), kernels::repack_rows, claimed.tensor->name,
                         group.weights + group.scales, largest)};
    }
    return PlannedTensor{.source = claimed,
                         .layout = layout,
                         .packed = kernels::packed_bytes(layout, rows, columns),
                         .part_rows =
                             static_cast<uint32_t>(std::min<uint64_t>(rows, groups * kernels::repack_rows))};
}

Result<PlannedTensor> plan_vector(const gguf::File& file, const ClaimedTensor& claimed) {
    // Quantised vectors stay out: a block need not divide a vector, and no file has them.
    if (kernels::block_columns(format_of(claimed.tensor->type)) != 1) {
        const auto info = gguf::describe(claimed.tensor->type);
        return Error{.kind = ErrorKind::unsupported,
                     .message = fmt::format("{}: tensor {} is of type {}; vectors may be F32, F16 and BF16",
                                            file.name(), claimed.tensor->name, info ? info->name : "unknown"),
                     .hint = "convert the model again with its vectors in F32"};
    }
    const kernels::Layout layout{.format = kernels::Format::f32, .arrangement = kernels::Arrangement::rows};
    const uint64_t bytes = uint64_t{kernels::padded_columns(claimed.spec.columns)} * sizeof(float);
    return PlannedTensor{
        .source = claimed, .layout = layout, .packed = {.weights = bytes, .scales = 0}, .part_rows = 1};
}

/// Writes a vector's elements as f32, then zeros.
void widen(const gguf::Tensor& tensor, uint32_t count, MutableByteView out) {
    std::memset(out.data(), 0, out.size());
    if (tensor.type == gguf::TensorType::f32) {
        std::memcpy(out.data(), tensor.bytes.data(), uint64_t{count} * sizeof(float));
        return;
    }
    for (uint64_t i = 0; i < count; ++i) {
        uint16_t stored = 0;
        std::memcpy(&stored, tensor.bytes.data() + 2 * i, sizeof stored);
        const float value =
            tensor.type == gguf::TensorType::bf16 ? bfloat16_to_float(stored) : half_to_float(stored);
        std::memcpy(out.data() + 4 * i, &value, sizeof value);
    }
}

/// Rows that one slice may hold: whole repacking groups within what the uploader takes.
uint32_t slice_rows(const PlannedTensor& planned) {
    const kernels::PackedBytes group =
        kernels::packed_bytes(planned.layout, kernels::repack_rows, planned.source.spec.columns);
    // A quarter of the uploader's most, so that reading, repacking and copying overlap.
    const uint64_t groups = Uploader::slice_bytes_max / 4 / (group.weights + group.scales);
    return static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(groups, planned.source.spec.rows)) *
                                 kernels::repack_rows);
}

/// Repacks rows [first, first + count) of a part into its buffer: weights, then scales.
Status upload_rows(Uploader& uploader, const PlannedTensor& planned, const vk::Buffer& buffer,
                   uint64_t scales_at, uint32_t first, uint32_t count, ByteView source) {
    const uint32_t columns = planned.source.spec.columns;
    const kernels::PackedBytes bytes = kernels::packed_bytes(planned.layout, count, columns);
    const kernels::PackedBytes offset = kernels::packed_offset(planned.layout, first, columns);
    std::vector<std::byte> scales(bytes.scales);
    ETNA_TRY(const MutableByteView weights, uploader.begin(buffer, offset.weights, bytes.weights));
    ETNA_CHECK(kernels::repack({.layout = planned.layout,
                                .row_count = count,
                                .columns = columns,
                                .source = source,
                                .weights = weights,
                                .scales = scales}));
    ETNA_CHECK(uploader.end());
    if (scales.empty())
        return {};
    ETNA_TRY(const MutableByteView place, uploader.begin(buffer, scales_at + offset.scales, bytes.scales));
    std::memcpy(place.data(), scales.data(), scales.size());
    return uploader.end();
}

struct Loading {
    vk::Device& device;
    const gguf::File& file;
    const Progress& progress;
    Uploader uploader;
    uint64_t done = 0;
    uint64_t total = 0;

    void consumed(const gguf::Tensor& tensor, uint64_t offset, uint64_t bytes) {
        file.drop(tensor, offset, bytes);
        done += bytes;
        if (progress)
            progress(done, total);
    }
};

/// Rows [first_row, first_row + rows) of a matrix into a buffer of their own.
Result<vk::Buffer> load_part(Loading& loading, const PlannedTensor& planned, uint32_t first_row,
                             uint32_t rows) {
    const gguf::Tensor& tensor = *planned.source.tensor;
    const kernels::PackedBytes packed =
        kernels::packed_bytes(planned.layout, rows, planned.source.spec.columns);
    ETNA_TRY(vk::Buffer buffer, vk::Buffer::create(loading.device, vk::Memory::device,
                                                   packed.weights + packed.scales, tensor.name));
    const uint64_t row_bytes = tensor.bytes.size() / planned.source.spec.rows;
    const uint32_t step = slice_rows(planned);
    for (uint32_t first = 0; first < rows; first += step) {
        const uint32_t count = std::min(step, rows - first);
        const uint64_t offset = (uint64_t{first_row} + first) * row_bytes;
        const uint64_t bytes = count * row_bytes;
        ETNA_CHECK(upload_rows(loading.uploader, planned, buffer, packed.weights, first, count,
                               tensor.bytes.subspan(offset, bytes)));
        loading.consumed(tensor, offset, bytes);
    }
    return buffer;
}

/// All parts of a matrix; their buffers are added to `buffers`.
Result<std::vector<kernels::MatrixPart>> load_parts(Loading& loading, const PlannedTensor& planned,
                                                    std::vector<vk::Buffer>& buffers) {
    const TensorSpec& spec = planned.source.spec;
    std::vector<kernels::MatrixPart> parts;
    for (uint32_t first = 0; first < spec.rows; first += planned.part_rows) {
        const uint32_t rows = std::min(planned.part_rows, spec.rows - first);
        const kernels::PackedBytes packed = kernels::packed_bytes(planned.layout, rows, spec.columns);
        ETNA_TRY(vk::Buffer buffer, load_part(loading, planned, first, rows));
        parts.push_back({.rows = rows,
                         .weights = buffer.range(0, packed.weights),
                         .scales = buffer.range(packed.weights, packed.scales)});
        buffers.push_back(std::move(buffer));
    }
    return parts;
}

Result<vk::Buffer> load_vector(Loading& loading, const PlannedTensor& planned) {
    const gguf::Tensor& tensor = *planned.source.tensor;
    ETNA_TRY(vk::Buffer buffer,
             vk::Buffer::create(loading.device, vk::Memory::device, planned.packed.weights, tensor.name));
    ETNA_TRY(const MutableByteView place, loading.uploader.begin(buffer, 0, planned.packed.weights));
    widen(tensor, planned.source.spec.columns, place);
    ETNA_CHECK(loading.uploader.end());
    loading.consumed(tensor, 0, tensor.bytes.size());
    return buffer;
}

} // namespace

Result<std::vector<PlannedTensor>> plan_weights(const gguf::File& file,
                                                const std::vector<ClaimedTensor>& claimed,
                                                const kernels::PlanTarget& target, uint64_t part_bytes) {
    std::vector<PlannedTensor> planned;
    for (const ClaimedTensor& tensor : claimed) {
        if (tensor.spec.role == TensorRole::host)
            continue;
        ETNA_TRY(PlannedTensor plan, tensor.spec.role == TensorRole::matrix
                                         ? plan_matrix(file, tensor, target, part_bytes)
                                         : plan_vector(file, tensor));
        planned.push_back(std::move(plan));
    }
    return planned;
}

uint64_t weight_bytes(const std::vector<PlannedTensor>& planned) {
    uint64_t bytes = 0;
    for (const PlannedTensor& tensor : planned)
        bytes += tensor.packed.weights + tensor.packed.scales;
    return bytes;
}

Result<Weights> Weights::load(vk::Device& device, const gguf::File& file,
                              const std::vector<PlannedTensor>& planned, const Progress& progress) {
    Loading loading{.device = device, .file = file, .progress = progress, .uploader = Uploader(device)};
    for (const PlannedTensor& tensor : planned)
        loading.total += tensor.source.tensor->bytes.size();

    Weights weights;
    for (const PlannedTensor& tensor : planned) {
        const TensorSpec& spec = tensor.source.spec;
        if (spec.role != TensorRole::matrix) {
            ETNA_TRY(vk::Buffer buffer, load_vector(loading, tensor));
            weights.vectors_[spec.name] = buffer.range();
            weights.buffers_.push_back(std::move(buffer));
            continue;
        }
        ETNA_TRY(std::vector<kernels::MatrixPart> parts, load_parts(loading, tensor, weights.buffers_));
        kernels::Matrix matrix{.layout = tensor.layout,
                               .rows = spec.rows,
                               .columns = spec.columns,
                               .weights = parts.front().weights,
                               .scales = parts.front().scales};
        if (parts.size() > 1) {
            parts.erase(parts.begin());
            matrix.further = weights.further_parts_[spec.name] = std::move(parts);
        }
        weights.matrices_[spec.name] = matrix;
    }
    ETNA_CHECK(loading.uploader.finish());
    return weights;
}

const kernels::Matrix& Weights::matrix(std::string_view name) const {
    const auto found = matrices_.find(std::string(name));
    assert(found != matrices_.end());
    return found->second;
}

vk::Range Weights::vector(std::string_view name) const {
    const std::optional<vk::Range> found = find_vector(name);
    assert(found);
    return found.value_or(vk::Range{});
}

std::optional<vk::Range> Weights::find_vector(std::string_view name) const {
    const auto found = vectors_.find(std::string(name));
    if (found == vectors_.end())
        return std::nullopt;
    return found->second;
}

bool Weights::has_matrix(std::string_view name) const {
    return matrices_.contains(std::string(name));
}

} // namespace etna::model
