#include "core/model/weight_plan.hpp"

#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// Returns the plan of a claimed tensor without layouts: itself, or its parts.
std::vector<PlannedTensor> parts_of(const ClaimedTensor& claimed) {
    const TensorSpec& spec = claimed.spec;
    PlannedTensor unsplit{.name = spec.name,
                          .role = spec.role,
                          .count = spec.count,
                          .rows = spec.rows,
                          .columns = spec.columns,
                          .is_exact = spec.is_exact,
                          .tensor = claimed.tensor,
                          .row_bytes = claimed.tensor->bytes / (uint64_t{spec.count} * spec.rows),
                          .factor = spec.factor};
    if (spec.parts.empty())
        return {unsplit};
    if (spec.role != TensorRole::stack)
        unsplit.count = 1;
    std::vector<PlannedTensor> parts;
    uint64_t first = 0;
    for (const TensorPart& part : spec.parts) {
        unsplit.name = part.name;
        unsplit.rows = part.rows * spec.part_runs;
        unsplit.offset = first * unsplit.row_bytes;
        if (spec.part_runs > 1 || spec.role == TensorRole::stack) {
            unsplit.run_rows = part.rows;
            unsplit.run_stride = spec.rows / spec.part_runs;
        }
        parts.push_back(unsplit);
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

kernels::Arrangement arrangement_of(const kernels::PlanTarget& target, kernels::Format format,
                                    const PlannedTensor& planned) {
    if (planned.is_exact)
        return kernels::exact_arrangement(target, format);
    return planned.role == TensorRole::stack ? kernels::stack_arrangement(target, format, planned.columns)
                                             : kernels::matrix_arrangement(target, format, planned.columns);
}

/// Adds a matrix or a stack to `planned`; a matrix is split into parts below `largest` bytes each.
Status plan_matrix(const gguf::File& file, const kernels::PlanTarget& target, uint64_t largest,
                   PlannedTensor unsplit, std::vector<PlannedTensor>& planned) {
    const kernels::Format format = format_of(unsplit.tensor->type);
    unsplit.layout = {.format = format, .arrangement = arrangement_of(target, format, unsplit)};
    unsplit.packed = kernels::packed_bytes(unsplit.layout, unsplit.rows, unsplit.columns);
    if (unsplit.device_bytes() < largest) {
        planned.push_back(std::move(unsplit));
        return {};
    }
    if (unsplit.role == TensorRole::stack)
        return too_large(file, "the matrices of tensor", unsplit.name, unsplit.device_bytes(), largest);
    const kernels::PackedBytes group =
        kernels::packed_bytes(unsplit.layout, kernels::repack_rows, unsplit.columns);
    const uint64_t groups = (largest - 1) / (group.weights + group.scales);
    if (groups == 0)
        return too_large(file, "eight rows of tensor", unsplit.name, group.weights + group.scales, largest);
    const auto part_rows = static_cast<uint32_t>(groups * kernels::repack_rows);
    for (uint32_t first = 0; first < unsplit.rows; first += part_rows) {
        PlannedTensor part = unsplit;
        part.rows = std::min(part_rows, unsplit.rows - first);
        part.first_row = first;
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
    planned.packed = {.weights =
                          uint64_t{kernels::padded_columns(planned.rows * planned.columns)} * sizeof(float),
                      .scales = 0};
    return {};
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
        bytes += tensor.is_in_host ? 0 : vk::allocation_bytes(tensor.device_bytes());
    return bytes;
}

} // namespace etna::model
