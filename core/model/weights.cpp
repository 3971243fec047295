#include "core/model/weights.hpp"

#include "core/base/half.hpp"
#include "core/model/uploader.hpp"
#include "core/vk/device.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace etna::model {
namespace {

/// Of a vector's element in the file.
uint64_t element_bytes(gguf::TensorType type) {
    return type == gguf::TensorType::f32 ? sizeof(float) : sizeof(uint16_t);
}

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

void multiply(float factor, uint32_t count, MutableByteView elements) {
    if (factor == 1)
        return;
    for (uint64_t i = 0; i < count; ++i) {
        float value = 0;
        std::memcpy(&value, elements.data() + 4 * i, sizeof value);
        value *= factor;
        std::memcpy(elements.data() + 4 * i, &value, sizeof value);
    }
}

/// Rows per slice: a multiple of the repacking group within the uploader's limit.
uint32_t slice_rows(const PlannedTensor& planned) {
    const kernels::PackedBytes group =
        kernels::packed_bytes(planned.layout, kernels::repack_rows, planned.columns);
    const uint64_t groups = Uploader::slice_bytes_max / (group.weights + group.scales);
    return static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(groups, planned.rows)) *
                                 kernels::repack_rows);
}

/// Rows of one matrix of a tensor, or elements of a vector, and the buffer that they go to.
struct Slice {
    const PlannedTensor* planned = nullptr;
    const vk::Buffer* buffer = nullptr;
    uint32_t matrix = 0; ///< in a stack
    uint32_t first = 0;  ///< row of the matrix; of a vector an element
    uint32_t count = 0;  ///< rows; of a vector elements in the buffer, the padding included

    /// Elements of a vector that the file has.
    [[nodiscard]] uint32_t stored_count() const {
        const uint32_t stored = planned->rows * planned->columns;
        return std::min(count, stored - std::min(stored, first));
    }
    [[nodiscard]] uint64_t source_bytes() const {
        return planned->role == TensorRole::vector ? stored_count() * element_bytes(planned->tensor->type)
                                                   : count * planned->row_bytes;
    }
};

void add_vector_slices(const PlannedTensor& planned, const vk::Buffer& buffer, std::vector<Slice>& slices) {
    constexpr auto step = static_cast<uint32_t>(Uploader::slice_bytes_max / sizeof(float));
    const auto elements = static_cast<uint32_t>(planned.packed.weights / sizeof(float));
    for (uint32_t first = 0; first < elements; first += step) {
        slices.push_back({.planned = &planned,
                          .buffer = &buffer,
                          .first = first,
                          .count = std::min(step, elements - first)});
    }
}

void add_slices(const PlannedTensor& planned, const vk::Buffer& buffer, std::vector<Slice>& slices) {
    if (planned.role == TensorRole::vector) {
        add_vector_slices(planned, buffer, slices);
        return;
    }
    const uint32_t step = slice_rows(planned);
    for (uint32_t matrix = 0; matrix < planned.count; ++matrix) {
        for (uint32_t first = 0; first < planned.rows; first += step) {
            slices.push_back({.planned = &planned,
                              .buffer = &buffer,
                              .matrix = matrix,
                              .first = first,
                              .count = std::min(step, planned.rows - first)});
        }
    }
}

/// Reads, repacks and uploads slices in private buffers. Belongs to one thread.
class SliceLoader {
public:
    SliceLoader(vk::Device& device, const gguf::File& file) : file_(file), uploader_(device) {}

    Status load(const Slice& slice) {
        return slice.planned->role == TensorRole::vector ? load_vector(slice) : load_rows(slice);
    }

    /// Blocks until everything has arrived.
    Status finish() { return uploader_.finish(); }

private:
    Status load_vector(const Slice& slice) {
        const gguf::Tensor& tensor = *slice.planned->tensor;
        const MutableByteView source = memory_of(source_, slice.source_bytes());
        ETNA_CHECK(file_.read(tensor, slice.first * element_bytes(tensor.type), source));
        ETNA_TRY(const MutableByteView staging,
                 uploader_.begin(*slice.buffer, slice.first * uint64_t{sizeof(float)},
                                 slice.count * uint64_t{sizeof(float)}));
        widen(tensor.type, source, slice.stored_count(), staging);
        multiply(slice.planned->factor, slice.stored_count(), staging);
        return uploader_.end();
    }

    /// Repacks rows of a matrix into its buffer: weights, then scales. All weights of a stack precede all
    /// scales.
    Status load_rows(const Slice& slice) {
        const PlannedTensor& planned = *slice.planned;
        const kernels::PackedBytes bytes =
            kernels::packed_bytes(planned.layout, slice.count, planned.columns);
        const kernels::PackedBytes inside =
            kernels::packed_offset(planned.layout, slice.first, planned.columns);
        ETNA_TRY(const ByteView source, read_rows(slice));
        const MutableByteView scales = memory_of(scales_, bytes.scales);
        ETNA_TRY(const MutableByteView weights,
                 uploader_.begin(*slice.buffer, slice.matrix * planned.packed.weights + inside.weights,
                                 bytes.weights));
        ETNA_CHECK(kernels::repack({.layout = planned.layout,
                                    .row_count = slice.count,
                                    .columns = planned.columns,
                                    .source = source,
                                    .weights = weights,
                                    .scales = scales}));
        ETNA_CHECK(uploader_.end());
        if (scales.empty())
            return {};
        const uint64_t scales_start = planned.count * planned.packed.weights;
        ETNA_TRY(const MutableByteView staging,
                 uploader_.begin(*slice.buffer,
                                 scales_start + slice.matrix * planned.packed.scales + inside.scales,
                                 bytes.scales));
        std::memcpy(staging.data(), scales.data(), scales.size());
        return uploader_.end();
    }

    /// Valid until the next call.
    Result<ByteView> read_rows(const Slice& slice) {
        const PlannedTensor& planned = *slice.planned;
        const uint64_t first = planned.first_row + uint64_t{slice.matrix} * planned.rows + slice.first;
        const MutableByteView into = memory_of(source_, slice.count * planned.row_bytes);
        const uint64_t run_rows = planned.run_rows == 0 ? first + slice.count : planned.run_rows;
        for (uint64_t copied = 0; copied < slice.count;) {
            const uint64_t run = (first + copied) / run_rows;
            const uint64_t in_run = (first + copied) % run_rows;
            const uint64_t rows = std::min(slice.count - copied, run_rows - in_run);
            const uint64_t start = planned.offset + (run * planned.run_stride + in_run) * planned.row_bytes;
            ETNA_CHECK(file_.read(*planned.tensor, start,
                                  into.subspan(copied * planned.row_bytes, rows * planned.row_bytes)));
            copied += rows;
        }
        return ByteView(into);
    }

    static MutableByteView memory_of(std::vector<std::byte>& memory, uint64_t bytes) {
        memory.resize(std::max<uint64_t>(memory.size(), bytes));
        return MutableByteView(memory).first(bytes);
    }

    const gguf::File& file_;
    Uploader uploader_;
    std::vector<std::byte> source_; ///< in the file's format
    std::vector<std::byte> scales_; ///< repacked
};

/// Loads slices on several threads, of which the caller's is one, and reports progress from that one.
class ParallelLoad {
public:
    ParallelLoad(vk::Device& device, const gguf::File& file, const std::vector<Slice>& slices)
        : device_(device), file_(file), slices_(slices) {
        for (const Slice& slice : slices)
            total_bytes_ += slice.source_bytes();
    }

    Status run(const Progress& progress) {
        if (progress)
            progress(0, total_bytes_);
        // More threads only compete for memory and for the page cache.
        constexpr std::size_t threads_max = 8;
        const std::size_t threads =
            std::min({threads_max, slices_.size(), std::size_t{std::thread::hardware_concurrency()}});
        std::vector<std::future<Status>> others;
        try {
            while (others.size() + 1 < threads)
                others.push_back(std::async(std::launch::async, [this] { return work({}); }));
        } catch (const std::system_error&) {
            // The system has no thread left: those that started, and this one, load everything.
        }
        Status status = work(progress);
        for (std::future<Status>& other : others) {
            if (Status ended = other.get(); status)
                status = std::move(ended);
        }
        return status;
    }

private:
    Status work(const Progress& progress) {
        SliceLoader loader(device_, file_);
        while (!has_failed_) {
            const std::size_t index = next_++;
            if (index >= slices_.size())
                break;
            if (Status loaded = loader.load(slices_[index]); !loaded) {
                has_failed_ = true;
                return loaded;
            }
            done_bytes_ += slices_[index].source_bytes();
            if (progress)
                progress(done_bytes_, total_bytes_);
        }
        return loader.finish();
    }

    vk::Device& device_;
    const gguf::File& file_;
    const std::vector<Slice>& slices_;
    uint64_t total_bytes_ = 0; ///< of the slices in the file
    std::atomic<std::size_t> next_ = 0;
    std::atomic<uint64_t> done_bytes_ = 0;
    std::atomic<bool> has_failed_ = false;
};

} // namespace

Result<Weights> Weights::load(vk::Device& device, const gguf::File& file,
                              const std::vector<PlannedTensor>& planned, const Progress& progress) {
    Weights weights;
    weights.buffers_.reserve(planned.size()); // slices borrow the buffers
    std::vector<Slice> slices;
    for (const PlannedTensor& tensor : planned) {
        const auto domain = tensor.is_in_host ? vk::MemoryDomain::upload : vk::MemoryDomain::device;
        ETNA_TRY(vk::Buffer buffer, vk::Buffer::create(device, domain, tensor.device_bytes(), tensor.name));
        weights.buffers_.push_back(std::move(buffer));
        weights.add(tensor, weights.buffers_.back().range());
        add_slices(tensor, weights.buffers_.back(), slices);
    }
    ETNA_CHECK(ParallelLoad(device, file, slices).run(progress));
    ETNA_CHECK(file.check_unchanged());
    return weights;
}

Weights Weights::planned(const std::vector<PlannedTensor>& planned, uint64_t address) {
    Weights weights;
    for (const PlannedTensor& tensor : planned) {
        weights.add(tensor, {.address = address, .bytes = tensor.device_bytes()});
        address = round_up(address + tensor.device_bytes(), planned_alignment);
    }
    return weights;
}

void Weights::add(const PlannedTensor& tensor, vk::Range memory) {
    const uint64_t weight_bytes = tensor.count * tensor.packed.weights;
    const kernels::Matrix matrix{.layout = tensor.layout,
                                 .rows = tensor.rows,
                                 .columns = tensor.columns,
                                 .weights = memory.part(0, weight_bytes),
                                 .scales = memory.part(weight_bytes, tensor.count * tensor.packed.scales)};
    if (tensor.role == TensorRole::matrix) {
        add_part(tensor.name, matrix);
    } else if (tensor.role == TensorRole::stack) {
        stacks_[tensor.name] = {.matrices = matrix, .count = tensor.count};
    } else {
        vectors_[tensor.name] = memory;
    }
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
