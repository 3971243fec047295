#include "core/model/workspace.hpp"

#include "core/vk/recorder.hpp"
#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etna::model {
namespace {

constexpr uint64_t bytes_min = 16; ///< a buffer is never empty

/// A member of Activations that is rows, and the size it needs.
struct RowsSize {
    kernels::Activations Activations::* member;
    std::string_view label;
    uint32_t rows;
    uint32_t columns;
    bool feeds_matrices = false; ///< matrices in tiles read its packed form

    [[nodiscard]] uint64_t bytes() const {
        return uint64_t{rows} * kernels::padded_columns(columns) * sizeof(float);
    }
    /// The packed forms that a target's kernels read of them.
    [[nodiscard]] kernels::ReadForms forms(const kernels::PlanTarget& target) const {
        return feeds_matrices ? kernels::read_forms(target, columns) : kernels::ReadForms{};
    }
};

/// Another member, and the size it needs.
struct RangeSize {
    vk::Range Activations::* member;
    std::string_view label;
    uint64_t bytes;
};

std::vector<RowsSize> rows_sizes(const Config& config, const WorkspaceOptions& options) {
    const uint32_t rows = options.batch_rows_max;
    std::vector<RowsSize> sizes{
        {&Activations::residual, "residual", rows, config.width, config.per_layer_width > 0},
        {&Activations::hidden, "hidden", rows, config.width, true},
        {&Activations::output_hidden, "output hidden", options.output_rows_max, config.width, true},
        {&Activations::logits, "logits", options.output_rows_max, config.vocabulary},
    };
    if (config.per_layer_width > 0) {
        sizes.push_back({&Activations::per_layer_inputs, "inputs of layers", rows,
                         config.layer_count() * config.per_layer_width});
    }
    if (config.streams > 1) {
        sizes.push_back({&Activations::streams, "streams", (config.streams - 1) * rows, config.width, true});
        sizes.push_back({&Activations::prediction, "prediction", rows, config.width});
    }
    return sizes;
}

std::vector<RangeSize> range_sizes(const Config& config, const WorkspaceOptions& options) {
    const uint64_t rows = options.batch_rows_max;
    const auto sized = [](uint64_t bytes) { return std::max(bytes_min, round_up(bytes, bytes_min)); };
    return {{&Activations::squares, "squares",
             sized(config.width / kernels::tile_columns * rows * sizeof(float))},
            {&Activations::nan_probes, "NaN probes", sized(rows * sizeof(uint32_t))},
            {&Activations::slots, "slots", sized(uint64_t{options.slots} * sizeof(uint32_t))}};
}

/// Calls take(member's label, bytes) -> Result<vk::Range> for each range of the activations.
template <class Take>
Result<Activations> make_activations(const Config& config, const kernels::PlanTarget& target,
                                     const WorkspaceOptions& options, const Take& take) {
    Activations made;
    for (const RowsSize& size : rows_sizes(config, options)) {
        kernels::Activations& rows = made.*size.member;
        rows = {.range = {}, .columns = size.columns, .stride = kernels::padded_columns(size.columns)};
        ETNA_TRY(rows.range, take(size.label, size.bytes()));
        const kernels::ReadForms forms = size.forms(target);
        if (forms.blocks) {
            ETNA_TRY(rows.packed, take(size.label, size.rows * kernels::packed_row_bytes(size.columns)));
        }
        if (forms.f16) {
            ETNA_TRY(rows.f16, take(size.label, size.rows * kernels::f16_row_bytes(size.columns)));
        }
    }
    for (const RangeSize& size : range_sizes(config, options)) {
        ETNA_TRY(made.*size.member, take(size.label, size.bytes));
    }
    return made;
}

uint64_t arena_bytes(const ArenaSizes& sizes) {
    return std::max(bytes_min, sizes.total_bytes());
}

} // namespace

std::vector<WorkspaceBuffer> workspace_buffers(const Config& config, const kernels::PlanTarget& target,
                                               const WorkspacePlan& plan) {
    std::vector<WorkspaceBuffer> buffers;
    const auto note = [&](std::string_view, uint64_t bytes) -> Result<vk::Range> {
        buffers.push_back({.kind = WorkspaceBuffer::Kind::activations, .bytes = bytes});
        return vk::Range{};
    };
    static_cast<void>(make_activations(config, target, plan.options, note));
    buffers.push_back({.kind = WorkspaceBuffer::Kind::scratch, .bytes = arena_bytes(plan.arena)});
    return buffers;
}

uint64_t workspace_bytes(const Config& config, const kernels::PlanTarget& target, const WorkspacePlan& plan) {
    uint64_t bytes = 0;
    for (const WorkspaceBuffer& buffer : workspace_buffers(config, target, plan))
        bytes += vk::allocation_bytes(buffer.bytes);
    return bytes;
}

Activations dry_activations(const Config& config, const kernels::PlanTarget& target,
                            const WorkspaceOptions& options) {
    constexpr uint64_t first_address = 4096; // 0 means none
    uint64_t next = first_address;
    const auto take = [&](std::string_view, uint64_t bytes) -> Result<vk::Range> {
        const vk::Range range{.address = next, .bytes = bytes};
        next = round_up(next + bytes, first_address);
        return range;
    };
    return *make_activations(config, target, options, take);
}

Result<Workspace> Workspace::create(vk::Device& device, const Config& config,
                                    const kernels::PlanTarget& target, const WorkspacePlan& plan) {
    constexpr uint32_t nan_word = 0xFFFFFFFF; // also as two f16
    Workspace workspace;
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device));
    const auto add = [&](std::string_view label, uint64_t bytes) -> Result<vk::Range> {
        ETNA_TRY(vk::Buffer buffer, vk::Buffer::create(device, vk::MemoryDomain::device, bytes, label));
        workspace.buffers_.push_back(std::move(buffer));
        return workspace.buffers_.back().range();
    };
    const auto add_zero = [&](std::string_view label, uint64_t bytes) -> Result<vk::Range> {
        ETNA_TRY(const vk::Range range, add(label, bytes));
        recorder.fill(workspace.buffers_.back(), 0, bytes, 0);
        return range;
    };
    ETNA_TRY(workspace.activations_, make_activations(config, target, plan.options, add_zero));
    const auto buffer_of = [&](const vk::Range& range) {
        const auto found = std::ranges::find_if(workspace.buffers_,
                                                [&](const vk::Buffer& one) { return one.range() == range; });
        return static_cast<std::size_t>(found - workspace.buffers_.begin());
    };
    workspace.logits_buffer_ = buffer_of(workspace.activations_.logits.range);
    workspace.hidden_buffer_ = buffer_of(workspace.activations_.hidden.range);
    workspace.arena_sizes_ = plan.arena;
    const uint64_t bytes = arena_bytes(plan.arena);
    ETNA_TRY([[maybe_unused]] const vk::Range arena, add("arena", bytes));
    const uint64_t zeroed = std::min(bytes, plan.arena.zeroed_bytes());
    recorder.fill(workspace.buffers_.back(), 0, zeroed, 0);
    recorder.fill(workspace.buffers_.back(), zeroed, bytes - zeroed, nan_word);
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(const uint64_t filled, device.submit(std::move(commands)));
    ETNA_CHECK(device.wait(filled));
    return workspace;
}

} // namespace etna::model
