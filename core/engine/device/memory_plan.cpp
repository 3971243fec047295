#include "core/engine/device/memory_plan.hpp"

#include "core/engine/device/buffer_sizes.hpp"
#include "core/model/dry_model.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::engine {
namespace {

constexpr std::size_t domain_count = 3;

/// Collects buffers in the order of their creation, because the driver's blocks depend on it.
class BufferList {
public:
    explicit BufferList(const kernels::PlanTarget& target)
        : policy_{.allocation_bytes_max = target.profile.allocation_bytes_max},
          is_unified_(uses_host_memory(target)) {}

    void add(MemoryKind kind, std::string_view detail, vk::MemoryDomain domain, uint64_t bytes) {
        sizes_[static_cast<std::size_t>(domain)].push_back(bytes);
        use(kind, detail, place_of(domain)) += vk::allocation_bytes(bytes);
    }

    /// Counts `bytes` of one kind as another.
    void move(MemoryKind from, MemoryKind to, uint64_t bytes) {
        use(from, {}, MemoryPlace::device) -= bytes;
        use(to, {}, MemoryPlace::device) += bytes;
    }

    [[nodiscard]] MemoryPlan finish() && {
        for (const auto domain :
             {vk::MemoryDomain::device, vk::MemoryDomain::upload, vk::MemoryDomain::readback}) {
            const std::vector<uint64_t>& sizes = sizes_[static_cast<std::size_t>(domain)];
            uint64_t used = 0;
            for (const uint64_t bytes : sizes)
                used += vk::allocation_bytes(bytes);
            use(MemoryKind::unused, {}, place_of(domain)) += vk::reserved_bytes(policy_, sizes) - used;
        }
        std::stable_sort(plan_.uses.begin(), plan_.uses.end(),
                         [](const MemoryUse& a, const MemoryUse& b) { return a.kind < b.kind; });
        return std::move(plan_);
    }

private:
    [[nodiscard]] MemoryPlace place_of(vk::MemoryDomain domain) const {
        return is_unified_ || domain == vk::MemoryDomain::device ? MemoryPlace::device : MemoryPlace::host;
    }

    uint64_t& use(MemoryKind kind, std::string_view detail, MemoryPlace place) {
        for (MemoryUse& known : plan_.uses) {
            if (known.kind == kind && known.detail == detail && known.place == place)
                return known.bytes;
        }
        plan_.uses.push_back({.kind = kind, .detail = std::string(detail), .place = place});
        return plan_.uses.back().bytes;
    }

    vk::BlockPolicy policy_;
    bool is_unified_;
    std::array<std::vector<uint64_t>, domain_count> sizes_; ///< by domain
    MemoryPlan plan_;
};

/// "Q4_K in lanes", "Q8_0", "vectors".
std::string layout_text(const model::PlannedTensor& tensor) {
    if (tensor.role == model::TensorRole::vector)
        return "vectors";
    const std::string_view format = kernels::to_string(tensor.layout.format);
    return tensor.layout.arrangement == kernels::Arrangement::rows
               ? std::string(format)
               : fmt::format("{} in {}", format, kernels::to_string(tensor.layout.arrangement));
}

std::string layers_text(const model::Config& config, const model::AttentionConfig& attention) {
    const auto layers = std::count_if(config.layers.begin(), config.layers.end(), [&](const auto& layer) {
        const model::AttentionConfig* other = layer.attention();
        return other != nullptr && !other->keys_of && other->group == attention.group;
    });
    const uint32_t window = config.cache_groups[attention.group].window_tokens;
    const std::string count = fmt::format("{} {}", layers, layers == 1 ? "layer" : "layers");
    return window == 0 ? count : fmt::format("{}, windows of {} tokens", count, window);
}

void add_states(BufferList& buffers, const model::Config& config, const DevicePlan& plan) {
    uint64_t slot_bytes = 0;
    for (const model::LayerConfig& layer : config.layers) {
        const model::AttentionConfig* attention = layer.attention();
        for (const uint64_t bytes : layer_buffer_bytes(layer, plan.limits, plan.cache_formats)) {
            if (attention != nullptr) {
                buffers.add(MemoryKind::cache, layers_text(config, *attention), vk::MemoryDomain::device,
                            bytes);
            } else {
                buffers.add(MemoryKind::states, {}, vk::MemoryDomain::device, bytes);
                slot_bytes += bytes / plan.limits.state_slots;
            }
        }
    }
    if (slot_bytes > 0) {
        buffers.move(MemoryKind::states, MemoryKind::snapshots,
                     (plan.limits.state_slots - plan.limits.sequences_max) * slot_bytes);
    }
}

/// Bytes of the weights if the matrices were in Q4_K_M, which takes 4.85 bits a weight: an estimate.
uint64_t q4_k_m_bytes(const model::Blueprint& blueprint) {
    constexpr double bits_per_weight = 4.85;
    double bytes = 0;
    for (const model::PlannedTensor& tensor : blueprint.tensors) {
        const double weights = static_cast<double>(uint64_t{tensor.count} * tensor.rows) * tensor.columns;
        bytes += tensor.role == model::TensorRole::vector ? static_cast<double>(tensor.device_bytes())
                                                          : weights * bits_per_weight / 8;
    }
    return static_cast<uint64_t>(bytes);
}

bool is_out_of_memory(const Result<DevicePlan>& plan) {
    return !plan && plan.error().kind == ErrorKind::out_of_memory;
}

Error with_hint(Error error, std::string_view more) {
    error.hint += more;
    return error;
}

Status check_host_memory(const gguf::File& file, const model::HostExperts& experts,
                         const vk::MemoryState& memory) {
    if (experts.bytes == 0 || !memory.host_free_bytes ||
        experts.bytes + reserve_bytes(*memory.host_free_bytes) <= *memory.host_free_bytes)
        return {};
    return Error{.kind = ErrorKind::out_of_memory,
                 .message = fmt::format(
                     "{}: experts of {} layers need {:.1f} GiB of host memory, {:.1f} GiB are free, "
                     "of which a part stays in reserve",
                     file.name(), experts.layers, static_cast<double>(experts.bytes) / gibibyte,
                     static_cast<double>(*memory.host_free_bytes) / gibibyte),
                 .hint = "choose a smaller quantisation of the model, or close other programs"};
}

/// model::arena_sizes() of one model, each found once.
class ArenaPlanner {
public:
    /// Borrows both.
    ArenaPlanner(const model::Blueprint& blueprint, const kernels::PlanTarget& target)
        : model_(blueprint, target) {}

    Result<model::ArenaSizes> sizes(const model::WorkspaceOptions& options) {
        const auto found = std::ranges::find(found_, options, &Found::first);
        if (found != found_.end())
            return found->second;
        ETNA_TRY(const model::ArenaSizes sizes, model::arena_sizes(model_, options));
        found_.emplace_back(options, sizes);
        return sizes;
    }

private:
    using Found = std::pair<model::WorkspaceOptions, model::ArenaSizes>;
    model::DryModel model_;
    std::vector<Found> found_;
};

/// plan_load() without DeviceSizes::memory_bytes_max and context_tokens_min.
Result<DevicePlan> plan_free_memory(const gguf::File& file, model::Blueprint& blueprint,
                                    const kernels::PlanTarget& target, const DeviceSizes& sizes,
                                    const vk::MemoryState& memory) {
    auto arena = std::make_unique<ArenaPlanner>(blueprint, target);
    const auto plan_with = [&](uint64_t weight_bytes) {
        return plan_device(file.name(), blueprint.config, target, sizes, weight_bytes, memory,
                           [&](const model::WorkspaceOptions& options) { return arena->sizes(options); });
    };
    const auto plan_placed = [&](uint32_t layers) -> Result<DevicePlan> {
        model::place_experts(blueprint, layers);
        const model::HostExperts& experts = blueprint.host_experts;
        ETNA_CHECK(check_host_memory(file, experts, memory));
        ETNA_TRY(DevicePlan plan,
                 plan_with(blueprint.weight_bytes + (uses_host_memory(target) ? experts.bytes : 0)));
        plan.host_experts = experts;
        return plan;
    };
    auto plan = plan_placed(sizes.host_expert_layers.value_or(0));
    if (is_out_of_memory(plan) && blueprint.config.has_draft_head) { // it only saves time
        model::BlueprintOptions options = blueprint.options;
        options.has_draft_head = false;
        ETNA_TRY(blueprint, model::plan_model(file, target, options));
        arena = std::make_unique<ArenaPlanner>(blueprint, target);
        plan = plan_placed(sizes.host_expert_layers.value_or(0));
    }
    if (!is_out_of_memory(plan))
        return plan;
    const uint32_t layers_max = model::expert_layers(blueprint);
    if (!sizes.host_expert_layers && layers_max > 0 && !uses_host_memory(target)) {
        const uint32_t wanted_tokens = std::min(
            short_context_tokens, sizes.context_tokens > 0 ? sizes.context_tokens : blueprint.config.context);
        std::optional<uint32_t> last_fitting; // host memory may not have room for more layers
        for (uint32_t layers = 1; layers <= layers_max; ++layers) {
            plan = plan_placed(layers);
            if (plan ? plan->limits.context_tokens >= wanted_tokens : !is_out_of_memory(plan))
                return plan;
            if (plan)
                last_fitting = layers;
        }
        if (last_fitting)
            return plan_placed(*last_fitting);
        plan = with_hint(std::move(plan).error(), "; this is with all experts in host memory");
    }
    const uint64_t smaller_bytes = q4_k_m_bytes(blueprint);
    if (smaller_bytes >= blueprint.weight_bytes + blueprint.host_experts.bytes)
        return plan;
    const auto smaller = plan_with(smaller_bytes);
    if (!smaller)
        return plan;
    Error error = plan.error();
    error.hint +=
        fmt::format("; in Q4_K_M the model would need about {:.1f} GiB",
                    static_cast<double>(smaller->weight_bytes + smaller->cache_bytes + smaller->state_bytes +
                                        smaller->workspace_bytes + smaller->reserve_bytes) /
                        gibibyte);
    return error;
}

} // namespace

Result<DevicePlan> plan_load(const gguf::File& file, model::Blueprint& blueprint,
                             const kernels::PlanTarget& target, const DeviceSizes& sizes,
                             const vk::MemoryState& memory) {
    vk::MemoryState allowed = memory;
    allowed.free_bytes = std::min(memory.free_bytes, sizes.memory_bytes_max);
    while (true) {
        ETNA_TRY(DevicePlan plan, plan_free_memory(file, blueprint, target, sizes, allowed));
        const uint32_t wanted = std::min(sizes.context_tokens_min, plan.model_context_tokens);
        if (plan.limits.context_tokens < wanted && sizes.context_tokens == 0) {
            return Error{.kind = ErrorKind::out_of_memory,
                         .message = fmt::format("{}: memory limits the context to {} tokens", file.name(),
                                                plan.limits.context_tokens),
                         .hint = {}};
        }
        const uint64_t bytes = plan_memory(blueprint, target, plan).reserved_bytes();
        if (bytes <= sizes.memory_bytes_max)
            return plan;
        // Memory on the host, and what blocks leave unused, are not part of the device's free memory.
        allowed.free_bytes -= std::min(allowed.free_bytes, bytes - sizes.memory_bytes_max);
    }
}

std::string_view to_string(MemoryKind kind) {
    constexpr std::array<std::string_view, 9> names = {
        "weights", "cache", "states", "snapshots", "activations", "scratch", "inputs", "outputs", "unused"};
    return names[static_cast<std::size_t>(kind)];
}

uint64_t MemoryPlan::used_bytes(MemoryPlace place) const {
    uint64_t bytes = 0;
    for (const MemoryUse& use : uses) {
        if (use.place == place && use.kind != MemoryKind::unused)
            bytes += use.bytes;
    }
    return bytes;
}

uint64_t MemoryPlan::reserved_bytes(MemoryPlace place) const {
    uint64_t bytes = 0;
    for (const MemoryUse& use : uses) {
        if (use.place == place)
            bytes += use.bytes;
    }
    return bytes;
}

MemoryPlan plan_memory(const model::Blueprint& blueprint, const kernels::PlanTarget& target,
                       const DevicePlan& plan) {
    using vk::MemoryDomain;
    const model::Config& config = blueprint.config;
    BufferList buffers(target);
    for (const model::PlannedTensor& tensor : blueprint.tensors) {
        buffers.add(MemoryKind::weights, layout_text(tensor),
                    tensor.is_in_host ? MemoryDomain::upload : MemoryDomain::device, tensor.device_bytes());
    }
    for (const model::WorkspaceBuffer& buffer : workspace_buffers(config, target, plan.workspace)) {
        const bool is_scratch = buffer.kind == model::WorkspaceBuffer::Kind::scratch;
        buffers.add(is_scratch ? MemoryKind::scratch : MemoryKind::activations, {}, MemoryDomain::device,
                    buffer.bytes);
    }
    const StepBytes step = step_bytes(config, plan.limits);
    buffers.add(MemoryKind::inputs, {}, MemoryDomain::device, step.inputs);
    add_states(buffers, config, plan);
    for (uint32_t i = 0; i < plan.limits.in_flight_max; ++i) {
        buffers.add(MemoryKind::inputs, {}, MemoryDomain::upload, step.inputs);
        buffers.add(MemoryKind::outputs, {}, MemoryDomain::readback, step.results);
        buffers.add(MemoryKind::outputs, {}, MemoryDomain::readback, step.logits);
        buffers.add(MemoryKind::outputs, {}, MemoryDomain::readback, step.hidden);
    }
    return std::move(buffers).finish();
}

} // namespace etna::engine
