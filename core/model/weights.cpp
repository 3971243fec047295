#include "core/model/weights.hpp"

#include "core/base/half.hpp"
#include "core/model/uploader.hpp"
#include "core/vk/device.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace etna::model {
namespace {

/// Converts the vector elements in `source`, in the file's type, to f32, followed by zeros.
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

/// Rows per slice: a multiple of the repacking group within the uploader's limit.
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
    ETNA_TRY(const MutableByteView staging, uploader.begin(buffer, slice.offset.scales, bytes.scales));
    std::memcpy(staging.data(), scales.data(), scales.size());
    return uploader.end();
}

/// State of a load, shared by all tensors.
struct Loading {
    vk::Device& device;
    const gguf::File& file;
    const Progress& progress;
    Uploader uploader;
    std::vector<std::byte> slice = {}; ///< in the file's format
    uint64_t done = 0;
    uint64_t total = 0;

    MutableByteView slice_of(uint64_t bytes) {
        slice.resize(std::max<uint64_t>(slice.size(), bytes));
        return MutableByteView(slice).first(bytes);
    }

    /// The bytes of a vector. Valid until the next call.
    Result<ByteView> read(const gguf::Tensor& tensor) {
        const MutableByteView into = slice_of(tensor.bytes);
        ETNA_CHECK(file.read(tensor, 0, into));
        return ByteView(into);
    }

    /// Rows [first, first + count) of all matrices of a tensor. Valid until the next call.
    Result<ByteView> read_rows(const PlannedTensor& planned, uint64_t first, uint64_t count) {
        const MutableByteView into = slice_of(count * planned.row_bytes);
        const uint64_t run_rows = planned.run_rows == 0 ? first + count : planned.run_rows;
        for (uint64_t copied = 0; copied < count;) {
            const uint64_t run = (first + copied) / run_rows;
            const uint64_t in_run = (first + copied) % run_rows;
            const uint64_t rows = std::min(count - copied, run_rows - in_run);
            const uint64_t start = planned.offset + (run * planned.run_stride + in_run) * planned.row_bytes;
            ETNA_CHECK(file.read(*planned.tensor, start,
                                 into.subspan(copied * planned.row_bytes, rows * planned.row_bytes)));
            copied += rows;
        }
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
    const uint64_t matrix_first = planned.first_row + uint64_t{index} * planned.rows;
    const uint32_t step = slice_rows(planned);
    for (uint32_t first = 0; first < planned.rows; first += step) {
        const uint32_t count = std::min(step, planned.rows - first);
        const kernels::PackedBytes inside = kernels::packed_offset(planned.layout, first, planned.columns);
        const uint64_t scales_start = planned.count * planned.packed.weights;
        ETNA_TRY(const ByteView source, loading.read_rows(planned, matrix_first + first, count));
        ETNA_CHECK(upload_rows(
            loading.uploader, planned, buffer,
            {.source = source,
             .count = count,
             .offset = {.weights = index * planned.packed.weights + inside.weights,
                        .scales = scales_start + index * planned.packed.scales + inside.scales}}));
        loading.consumed(source.size());
    }
    return {};
}

Status load_vector(Loading& loading, const PlannedTensor& planned, const vk::Buffer& buffer) {
    const gguf::Tensor& tensor = *planned.tensor;
    ETNA_TRY(const ByteView source, loading.read(tensor));
    ETNA_TRY(const MutableByteView staging, loading.uploader.begin(buffer, 0, planned.packed.weights));
    widen(tensor.type, source, planned.rows * planned.columns, staging);
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
