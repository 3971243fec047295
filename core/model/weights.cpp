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

/// The tensors that one claimed tensor is loaded as, without layouts: itself, or its parts.
std::vector<PlannedTensor> parts_of(const ClaimedTensor& claimed) {
    const TensorSpec& spec = claimed.spec;
    PlannedTensor whole{.name = spec.name,
                        .role = spec.role,
                        .count = spec.count,
                        .rows = spec.rows,
                        .columns = spec.columns,
                        .tensor = claimed.tensor,
                        .row_bytes = claimed.tensor->bytes / (uint64_t{spec.count} * spec.rows)};
    if (spec.parts.empty())
        return {whole};
    std::vector<PlannedTensor> parts;
    uint64_t first = 0;
    for (const TensorPart& part : spec.parts) {
        whole.name = part.name;
        whole.rows = part.rows;
        whole.offset = first * whole.row_bytes;
        parts.push_back(whole);
        first += part.rows;
    }
    return parts;
}

Error too_large(const gguf::File& file, std::string_view what, std::string_view name, uint64_t bytes,
                uint64_t largest) {
    return {.kind = ErrorKind::unsupported,
            .message =
                fmt::format("{}: {} {} take {} bytes on the device in one piece, which must stay below {}",
                            file.name(), what, name, bytes, largest),
            .hint = "get the model in a smaller type"};
}

/// Adds a matrix or a stack to `planned`; a matrix is split into parts below `largest` bytes each.
Status plan_matrix(const gguf::File& file, const kernels::PlanTarget& target, uint64_t largest,
                   PlannedTensor whole, std::vector<PlannedTensor>& planned) {
    const kernels::Format format = format_of(whole.tensor->type);
    whole.layout = {.format = format, .arrangement = kernels::preferred_arrangement(target, format)};
    whole.packed = kernels::packed_bytes(whole.layout, whole.rows, whole.columns);
    if (whole.device_bytes() < largest) {
        planned.push_back(std::move(whole));
        return {};
    }
    if (whole.role == TensorRole::stack)
        return too_large(file, "the matrices of tensor", whole.name, whole.device_bytes(), largest);
    const kernels::PackedBytes group =
        kernels::packed_bytes(whole.layout, kernels::repack_rows, whole.columns);
    const uint64_t groups = (largest - 1) / (group.weights + group.scales);
    if (groups == 0)
        return too_large(file, "eight rows of tensor", whole.name, group.weights + group.scales, largest);
    const auto part_rows = static_cast<uint32_t>(groups * kernels::repack_rows);
    for (uint32_t first = 0; first < whole.rows; first += part_rows) {
        PlannedTensor part = whole;
        part.rows = std::min(part_rows, whole.rows - first);
        part.offset += first * whole.row_bytes;
        part.packed = kernels::packed_bytes(part.layout, part.rows, part.columns);
        planned.push_back(std::move(part));
    }
    return {};
}

Status plan_vector(const gguf::File& file, PlannedTensor& planned) {
    // Quantised vectors are rejected: a block need not divide a vector, and no file has them.
    if (kernels::block_columns(format_of(planned.tensor->type)) != 1) {
        const auto info = gguf::describe(planned.tensor->type);
        return Error{.kind = ErrorKind::unsupported,
                     .message = fmt::format("{}: tensor {} is of type {}; vectors may be F32, F16 and BF16",
                                            file.name(), planned.name, info ? info->name : "unknown"),
                     .hint = "convert the model again with its vectors in F32"};
    }
    planned.layout = {.format = kernels::Format::f32, .arrangement = kernels::Arrangement::rows};
    planned.packed = {.weights = uint64_t{kernels::padded_columns(planned.columns)} * sizeof(float),
                      .scales = 0};
    return {};
}

/// Writes a vector's elements, as the file has them in `source`, as f32, then zeros.
void widen(gguf::TensorType type, ByteView source, uint32_t count, MutableByteView out) {
    std::memset(out.data(), 0, out.size());
    if (type == gguf::TensorType::f32) {
        std::memcpy(out.data(), source.data(), uint64_t{count} * sizeof(float));
        return;
    }
    for (uint64_t i = 0; i < count; ++i) {
        uint16_t stored = 0;
        std::memcpy(&stored, source.data() + 2 * i, sizeof stored);
        const float value =
            type == gguf::TensorType::bf16 ? bfloat16_to_float(stored) : half_to_float(stored);
        std::memcpy(out.data() + 4 * i, &value, sizeof value);
    }
}

/// Rows per slice: whole repacking groups within the uploader's limit.
uint32_t slice_rows(const PlannedTensor& planned) {
    const kernels::PackedBytes group =
        kernels::packed_bytes(planned.layout, kernels::repack_rows, planned.columns);
    // A quarter of the uploader's maximum, so that reading, repacking and copying overlap.
    const uint64_t groups = Uploader::slice_bytes_max / 4 / (group.weights + group.scales);
    return static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(groups, planned.rows)) *
                                 kernels::repack_rows);
}

/// Rows of one matrix: their source in the file and their destination in the buffer.
struct RowSlice {
    ByteView source;
    uint32_t count = 0;
    kernels::PackedBytes offset; ///< in the buffer
};

/// Repacks rows of a matrix into its buffer: weights, then scales.
Status upload_rows(Uploader& uploader, const PlannedTensor& planned, const vk::Buffer& buffer,
                   const RowSlice& slice) {
    const kernels::PackedBytes bytes = kernels::packed_bytes(planned.layout, slice.count, planned.columns);
    std::vector<std::byte> scales(bytes.scales);
    ETNA_TRY(const MutableByteView weights, uploader.begin(buffer, slice.offset.weights, bytes.weights));
    ETNA_CHECK(kernels::repack({.layout = planned.layout,
                                .row_count = slice.count,
                                .columns = planned.columns,
                                .source = slice.source,
                                .weights = weights,
                                .scales = scales}));
    ETNA_CHECK(uploader.end());
    if (scales.empty())
        return {};
    ETNA_TRY(const MutableByteView place, uploader.begin(buffer, slice.offset.scales, bytes.scales));
    std::memcpy(place.data(), scales.data(), scales.size());
    return uploader.end();
}

/// State of a load, shared by all tensors.
struct Loading {
    vk::Device& device;
    const gguf::File& file;
    const Progress& progress;
    Uploader uploader;
    std::vector<std::byte> slice = {}; ///< as the file has it
    uint64_t done = 0;
    uint64_t total = 0;

    /// Valid until the next call.
    Result<ByteView> read(const gguf::Tensor& tensor, uint64_t offset, uint64_t bytes) {
        slice.resize(std::max<uint64_t>(slice.size(), bytes));
        const MutableByteView into = MutableByteView(slice).first(bytes);
        ETNA_CHECK(file.read(tensor, offset, into));
        return ByteView(into);
    }

    void consumed(uint64_t bytes) {
        done += bytes;
        if (progress)
            progress(done, total);
    }
};

/// Matrix `index` of a stack, or the only one. All weights of a stack precede all scales.
Status load_matrix(Loading& loading, const PlannedTensor& planned, const vk::Buffer& buffer, uint32_t index) {
    const uint64_t matrix_start = planned.offset + uint64_t{index} * planned.rows * planned.row_bytes;
    const uint32_t step = slice_rows(planned);
    for (uint32_t first = 0; first < planned.rows; first += step) {
        const uint32_t count = std::min(step, planned.rows - first);
        const uint64_t start = matrix_start + first * planned.row_bytes;
        const uint64_t bytes = count * planned.row_bytes;
        const kernels::PackedBytes inside = kernels::packed_offset(planned.layout, first, planned.columns);
        const uint64_t scales_start = planned.count * planned.packed.weights;
        ETNA_TRY(const ByteView source, loading.read(*planned.tensor, start, bytes));
        ETNA_CHECK(upload_rows(
            loading.uploader, planned, buffer,
            {.source = source,
             .count = count,
             .offset = {.weights = index * planned.packed.weights + inside.weights,
                        .scales = scales_start + index * planned.packed.scales + inside.scales}}));
        loading.consumed(bytes);
    }
    return {};
}

Status load_vector(Loading& loading, const PlannedTensor& planned, const vk::Buffer& buffer) {
    const gguf::Tensor& tensor = *planned.tensor;
    ETNA_TRY(const ByteView source, loading.read(tensor, 0, tensor.bytes));
    ETNA_TRY(const MutableByteView place, loading.uploader.begin(buffer, 0, planned.packed.weights));
    widen(tensor.type, source, planned.columns, place);
    ETNA_CHECK(loading.uploader.end());
    loading.consumed(tensor.bytes);
    return {};
}

Result<vk::Buffer> load_tensor(Loading& loading, const PlannedTensor& planned) {
    ETNA_TRY(vk::Buffer buffer, vk::Buffer::create(loading.device, vk::MemoryDomain::device,
                                                   planned.device_bytes(), planned.name));
    if (planned.role == TensorRole::vector) {
        ETNA_CHECK(load_vector(loading, planned, buffer));
        return buffer;
    }
    for (uint32_t index = 0; index < planned.count; ++index)
        ETNA_CHECK(load_matrix(loading, planned, buffer, index));
    return buffer;
}

} // namespace

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

Result<std::vector<PlannedTensor>> plan_weights(const gguf::File& file,
                                                const std::vector<ClaimedTensor>& claimed,
                                                const kernels::PlanTarget& target, uint64_t part_bytes) {
    uint64_t largest = buffer_bytes_max;
    for (const uint64_t bound : {target.profile.allocation_bytes_max, part_bytes}) {
        if (bound != 0)
            largest = std::min(largest, bound);
    }
    std::vector<PlannedTensor> planned;
    for (const ClaimedTensor& tensor : claimed) {
        if (tensor.spec.role == TensorRole::host)
            continue;
        for (PlannedTensor& part : parts_of(tensor)) {
            if (part.role != TensorRole::vector) {
                ETNA_CHECK(plan_matrix(file, target, largest, std::move(part), planned));
                continue;
            }
            ETNA_CHECK(plan_vector(file, part));
            planned.push_back(std::move(part));
        }
    }
    return planned;
}

uint64_t weight_bytes(const std::vector<PlannedTensor>& planned) {
    uint64_t bytes = 0;
    for (const PlannedTensor& tensor : planned)
        bytes += tensor.device_bytes();
    return bytes;
}

Result<Weights> Weights::load(vk::Device& device, const gguf::File& file,
                              const std::vector<PlannedTensor>& planned, const Progress& progress) {
    Loading loading{.device = device, .file = file, .progress = progress, .uploader = Uploader(device)};
    for (const PlannedTensor& tensor : planned)
        loading.total += tensor.source_bytes();

    Weights weights;
    weights.buffers_.reserve(planned.size());
    for (const PlannedTensor& tensor : planned) {
        ETNA_TRY(vk::Buffer buffer, load_tensor(loading, tensor));
        const uint64_t weight_bytes = tensor.count * tensor.packed.weights;
        const kernels::Matrix matrix{.layout = tensor.layout,
                                     .rows = tensor.rows,
                                     .columns = tensor.columns,
                                     .weights = buffer.range(0, weight_bytes),
                                     .scales =
                                         buffer.range(weight_bytes, tensor.count * tensor.packed.scales)};
        if (tensor.role == TensorRole::matrix) {
            weights.add_part(tensor.name, matrix);
        } else if (tensor.role == TensorRole::stack) {
            weights.stacks_[tensor.name] = {.matrices = matrix, .count = tensor.count};
        } else {
            weights.vectors_[tensor.name] = buffer.range();
        }
        weights.buffers_.push_back(std::move(buffer));
    }
    ETNA_CHECK(loading.uploader.finish());
    ETNA_CHECK(file.check_unchanged());
    return weights;
}

void Weights::add_part(const std::string& name, const kernels::Matrix& part) {
    const auto [found, is_first] = matrices_.try_emplace(name, part);
    if (is_first)
        return;
    std::vector<kernels::MatrixPart>& further = further_parts_[name];
    further.push_back({.rows = part.rows, .weights = part.weights, .scales = part.scales});
    found->second.rows += part.rows;
    found->second.further = further;
}

const kernels::Matrix& Weights::matrix(std::string_view name) const {
    const auto found = matrices_.find(std::string(name));
    assert(found != matrices_.end());
    return found->second;
}

const kernels::MatrixStack& Weights::stack(std::string_view name) const {
    const auto found = stacks_.find(std::string(name));
    assert(found != stacks_.end());
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
