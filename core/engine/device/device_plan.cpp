#include "core/engine/device/device_plan.hpp"

#include "core/base/bytes.hpp"
#include "core/engine/device/buffer_sizes.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/model/layer_state.hpp"
#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

constexpr uint32_t gpu_rows_max = 512;
constexpr uint32_t cpu_rows_max = 64;
/// Rows of an encoder's step by default, and the maximum that a context of the user's can raise them to. A
/// text is computed in one step and holds no memory afterwards, so many short texts can share a step.
constexpr uint32_t encoder_rows_default = 2048;
constexpr uint32_t encoder_rows_max = 8192;
constexpr uint32_t encoder_texts_min = 64;
/// Limits the memory for logits: 64 rows of a vocabulary of 150000 are 38 MB, three times.
constexpr uint32_t logits_rows_max = 64;
/// One layer's keys, values or states stay below this: shaders index them with signed 32-bit words.
constexpr uint64_t layer_cache_bytes_max = 8 * gibibyte;
constexpr uint64_t margin_bytes = 64 * mebibyte;
constexpr uint64_t margin_divisor = 32;

constexpr std::string_view memory_hint =
    "free memory, choose a smaller context (-c), or use a smaller model or a smaller type of it";

/// Part of free memory that the states of running sequences take at most, and part of the cache's memory that
/// those of earlier sequences get.
constexpr uint64_t state_divisor = 4;
constexpr uint64_t state_cache_divisor = 8;

/// Largest buffer of one layer.
uint64_t layer_bytes_max(const kernels::PlanTarget& target) {
    const uint64_t allocation_max = target.profile.allocation_bytes_max;
    return allocation_max == 0 ? layer_cache_bytes_max : std::min(layer_cache_bytes_max, allocation_max);
}

/// Groups with a window get room for the windows of this many sequences per context of full pages: sequences
/// are shorter than the context on average.
constexpr uint64_t windows_per_context = 5;

/// Pages that bookkeeping on the host is spent on if no layer has keys: 8 million positions.
constexpr uint64_t pages_without_bytes_max = uint64_t{1} << 18;

/// Memory of the KV cache as a function of `pages`, the pages of a full group.
struct CacheSizes {
    struct Group {
        uint64_t page_bytes = 0;   ///< of one page in all layers of the group
        uint64_t window_pages = 0; ///< those of one sequence's window; 0: full attention
    };
    std::vector<Group> groups;
    uint64_t context_pages = 0;
    uint64_t sequences_max = 0;
    uint64_t pages_max = 0; ///< maximum pages in one layer's buffers

    [[nodiscard]] static CacheSizes of(const model::Config& config, const kernels::PlanTarget& target,
                                       kernels::CacheFormats formats, const Limits& limits) {
        const uint64_t largest = layer_bytes_max(target);
        CacheSizes sizes{.groups = std::vector<Group>(config.cache_groups.size()),
                         .context_pages = divide_up(limits.context_tokens, limits.page_tokens),
                         .sequences_max = limits.sequences_max,
                         .pages_max = UINT32_MAX};
        for (std::size_t i = 0; i < sizes.groups.size(); ++i) {
            const uint32_t window = config.cache_groups[i].window_tokens;
            if (window > 0) {
                sizes.groups[i].window_pages =
                    window_pages(window, limits.batch_rows_max, limits.page_tokens);
            }
        }
        for (const model::LayerConfig& layer : config.layers) {
            const model::AttentionConfig* attention = layer.attention();
            if (attention == nullptr || attention->keys_of)
                continue;
            const auto page = [&](kernels::CacheFormat format) {
                return kernels::layer_cache_bytes(format, 1, attention->kv_heads, attention->head_dim);
            };
            const uint64_t keys = page(formats.keys);
            const uint64_t values = attention->latent ? 0 : page(formats.values);
            sizes.groups[attention->group].page_bytes += keys + values;
            sizes.pages_max = std::min(sizes.pages_max, (largest - 1) / std::max(keys, values));
        }
        if (!sizes.has_bytes()) {
            sizes.pages_max =
                std::max(sizes.context_pages,
                         std::min(sizes.context_pages * sizes.sequences_max, pages_without_bytes_max));
        }
        return sizes;
    }

    /// False without layers of attention: pages then only number and hash positions.
    [[nodiscard]] bool has_bytes() const {
        return std::ranges::any_of(groups, [](const Group& group) { return group.page_bytes > 0; });
    }

    [[nodiscard]] uint64_t pages_of(const Group& group, uint64_t pages) const {
        if (group.window_pages == 0)
            return pages;
        const uint64_t windows =
            std::clamp<uint64_t>(windows_per_context * pages / context_pages, 1, sequences_max);
        return std::min(pages, windows * group.window_pages);
    }

    [[nodiscard]] uint64_t bytes(uint64_t pages) const {
        uint64_t sum = 0;
        for (const Group& group : groups)
            sum += pages_of(group, pages) * group.page_bytes;
        return sum;
    }

    /// The most pages whose bytes fit into `room`, at most pages_max.
    [[nodiscard]] uint64_t fitting(uint64_t room) const {
        uint64_t low = 0;
        uint64_t high = pages_max;
        while (low < high) {
            const uint64_t middle = high - (high - low) / 2;
            (bytes(middle) <= room ? low : high) = bytes(middle) <= room ? middle : middle - 1;
        }
        return low;
    }
};

/// Memory of the recurrent layers' states.
struct StateSizes {
    uint64_t slot_bytes = 0;         ///< of one slot in all layers; 0: no recurrent layers
    uint64_t slots_max = UINT32_MAX; ///< in one layer's buffers

    [[nodiscard]] static StateSizes of(const model::Config& config, const kernels::PlanTarget& target) {
        StateSizes sizes;
        for (const model::LayerConfig& layer : config.layers) {
            for (const model::StatePart& part : layer.mixer.parts()) {
                sizes.slot_bytes += part.slot_bytes;
                sizes.slots_max = std::min(sizes.slots_max, (layer_bytes_max(target) - 1) / part.slot_bytes);
            }
        }
        return sizes;
    }
};

/// " on NAME"; empty without a name.
std::string on_device(const kernels::PlanTarget& target) {
    return target.profile.name.empty() ? "" : fmt::format(" on {}", target.profile.name);
}

constexpr uint64_t mebibytes_from = 10 * mebibyte; ///< smaller sizes are printed in KiB

/// A human-readable size.
std::string size_text(uint64_t bytes) {
    return bytes < mebibytes_from ? fmt::format("{} KiB", bytes / kibibyte)
                                  : fmt::format("{} MiB", bytes / mebibyte);
}

/// The device's free memory, and the memory that the model takes before its cache.
struct Budget {
    uint64_t free_bytes = 0;
    uint64_t weight_bytes = 0;
    uint64_t workspace_bytes = 0;
    uint64_t state_bytes = 0; ///< reserved for recurrent layers, of what fits_model() leaves

    [[nodiscard]] uint64_t margin() const { return reserve_bytes(free_bytes); }
    [[nodiscard]] bool fits_model() const { return weight_bytes + workspace_bytes <= free_bytes - margin(); }
    /// For the cache and the states. Precondition: fits_model().
    [[nodiscard]] uint64_t room() const {
        return free_bytes - margin() - weight_bytes - workspace_bytes - state_bytes;
    }
};

/// Rounded up to what suffices.
std::string needed_text(uint64_t bytes) {
    return size_text(bytes + (bytes < mebibytes_from ? kibibyte : mebibyte));
}

Error no_room_for_model(std::string_view name, const kernels::PlanTarget& target, const Budget& budget) {
    return {.kind = ErrorKind::out_of_memory,
            .message = fmt::format(
                "{}: the model needs {} of device memory ({} for weights, {} to work in, {} in reserve), "
                "{} are free{}",
                name, needed_text(budget.weight_bytes + budget.workspace_bytes + budget.margin()),
                size_text(budget.weight_bytes), size_text(budget.workspace_bytes), size_text(budget.margin()),
                size_text(budget.free_bytes), on_device(target)),
            .hint = std::string(memory_hint)};
}

/// `what` needs more than the model leaves.
Error no_room(std::string_view name, std::string_view what, uint64_t needed, const Budget& budget,
              std::string_view hint = memory_hint) {
    const std::string states =
        budget.state_bytes > 0 ? fmt::format("{} for states, ", size_text(budget.state_bytes)) : "";
    return {.kind = ErrorKind::out_of_memory,
            .message = fmt::format(
                "{}: {} needs {} of device memory; of {} free, the model leaves {} ({} for weights, {} to "
                "work in, {}{} in reserve)",
                name, what, needed_text(needed), size_text(budget.free_bytes), size_text(budget.room()),
                size_text(budget.weight_bytes), size_text(budget.workspace_bytes), states,
                size_text(budget.margin())),
            .hint = std::string(hint)};
}

/// Pages of the steps in flight: the texts of an encoder release them at once.
uint64_t encoder_pages(const Limits& limits) {
    return limits.in_flight_max *
           uint64_t{divide_up(limits.batch_rows_max, limits.page_tokens) + limits.sequences_max};
}

/// Returns the number of KV pages, given the free memory; caps Limits::context_tokens if the user set none.
Result<uint32_t> choose_pages(std::string_view name, const DeviceSizes& sizes, const CacheSizes& cache,
                              const Budget& budget, Limits& limits) {
    const uint64_t room = budget.room();
    const uint64_t fitting = cache.fitting(room);
    uint64_t pages = cache.context_pages;
    if (!cache.has_bytes())
        return static_cast<uint32_t>(cache.pages_max);
    if (sizes.kv_memory_bytes > 0) {
        if (sizes.kv_memory_bytes > room) {
            return no_room(name, "the key/value cache in addition to the model", sizes.kv_memory_bytes,
                           budget, "give the cache less memory");
        }
        pages = cache.fitting(sizes.kv_memory_bytes);
    } else if (sizes.context_tokens == 0) {
        pages = std::min(pages, fitting);
    } else if (pages > cache.pages_max) {
        return Error{.kind = ErrorKind::out_of_memory,
                     .message =
                         fmt::format("{}: a context of {} tokens is more than the {} whose keys fit in one "
                                     "allocation of the device",
                                     name, sizes.context_tokens, cache.pages_max * limits.page_tokens),
                     .hint = "choose a smaller context (-c)"};
    } else if (pages > fitting) {
        return no_room(name,
                       fmt::format("a context of {} tokens in addition to the model", sizes.context_tokens),
                       cache.bytes(pages), budget);
    }
    if (sizes.kv_memory_bytes == 0) {
        const uint64_t most = limits.is_encoder ? pages + encoder_pages(limits) : pages * sizes.contexts;
        pages = std::max(pages, std::min(most, fitting / 2));
    }
    if (pages == 0) {
        if (sizes.kv_memory_bytes > 0) {
            return Error{.kind = ErrorKind::out_of_memory,
                         .message =
                             fmt::format("{}: the smallest key/value cache needs {}, more than the {} "
                                         "that it may take",
                                         name, needed_text(cache.bytes(1)), size_text(sizes.kv_memory_bytes)),
                         .hint = "give the cache more memory"};
        }
        return no_room(name, "the smallest key/value cache in addition to the model", cache.bytes(1), budget);
    }
    if (pages * limits.page_tokens < limits.context_tokens) {
        if (sizes.context_tokens != 0) {
            return Error{.kind = ErrorKind::invalid_argument,
                         .message = fmt::format(
                             "{}: {} for keys and values hold {} tokens, fewer than a context of {}", name,
                             size_text(sizes.kv_memory_bytes), pages * limits.page_tokens,
                             sizes.context_tokens),
                         .hint = "give the cache more memory or ask for a smaller context"};
        }
        limits.context_tokens = static_cast<uint32_t>(pages * limits.page_tokens);
    }
    return static_cast<uint32_t>(pages);
}

/// Snapshots by default if the model has no keys, at most, for each sequence that may run.
constexpr uint64_t snapshots_per_sequence = 4;

/// Memory that keys and values leave to states. Lowers Limits::sequences_max to the sequences whose states
/// fit.
Result<uint64_t> reserve_states(std::string_view name, const DeviceSizes& sizes, const StateSizes& states,
                                const Budget& budget, Limits& limits) {
    if (states.slot_bytes == 0)
        return 0;
    const uint64_t room = budget.room();
    const uint64_t fitting = std::min(room / state_divisor / states.slot_bytes, states.slots_max - 1);
    limits.sequences_max = static_cast<uint32_t>(std::clamp<uint64_t>(fitting, 1, limits.sequences_max));
    const uint64_t running = limits.sequences_max * states.slot_bytes;
    const uint64_t left = room > running ? room - running : 0;
    const uint64_t earlier =
        sizes.state_cache_bytes > 0 ? sizes.state_cache_bytes : left / (state_cache_divisor + 1);
    const uint64_t reserved = running + std::max(states.slot_bytes, earlier);
    if (reserved > room)
        return no_room(name, "the state of its recurrent layers", reserved, budget);
    return reserved;
}

/// Returns the number of slots for states of running sequences and of snapshots, next to `cache_bytes` of
/// keys and values.
uint32_t choose_state_slots(const DeviceSizes& sizes, const StateSizes& states, uint64_t room,
                            uint64_t cache_bytes, const Limits& limits) {
    if (states.slot_bytes == 0)
        return 0;
    const uint64_t running = limits.sequences_max * states.slot_bytes;
    uint64_t earlier = sizes.state_cache_bytes;
    if (earlier == 0) {
        earlier = cache_bytes > 0 ? std::min(room - running - cache_bytes, cache_bytes / state_cache_divisor)
                                  : std::min((room - running) / (state_cache_divisor + 1),
                                             snapshots_per_sequence * running);
    }
    const uint64_t slots = limits.sequences_max + std::max<uint64_t>(1, earlier / states.slot_bytes);
    return static_cast<uint32_t>(std::min(slots, states.slots_max));
}

Status check_sizes(std::string_view name, const DeviceSizes& sizes) {
    constexpr uint32_t rows_bound = 1U << 16;
    if (sizes.batch_rows_max > rows_bound || sizes.sequences_max == 0 || sizes.sequences_max > rows_bound ||
        sizes.embeddings_max > rows_bound || sizes.context_tokens > model::context_max) {
        return Error{.kind = ErrorKind::invalid_argument,
                     .message =
                         fmt::format("{}: sizes for {} tokens, {} rows and {} sequences are out of range",
                                     name, sizes.context_tokens, sizes.batch_rows_max, sizes.sequences_max)};
    }
    return {};
}

/// Larger steps are faster on GPUs only.
uint32_t encoder_rows(const DeviceSizes& sizes, uint32_t context_tokens, bool is_cpu) {
    const uint32_t most = sizes.context_tokens > 0 ? encoder_rows_max : encoder_rows_default;
    return std::clamp(context_tokens, is_cpu ? cpu_rows_max : encoder_rows_default, most);
}

Limits limits_for(const model::Config& config, const kernels::PlanTarget& target, const DeviceSizes& sizes) {
    Limits limits;
    const bool is_cpu = target.profile.type == vk::DeviceType::cpu;
    limits.vocabulary = config.vocabulary;
    limits.width = config.width;
    limits.page_tokens = kernels::page_tokens;
    limits.context_tokens = sizes.context_tokens > 0 ? sizes.context_tokens : config.context;
    const uint32_t usual_rows = is_cpu ? cpu_rows_max : gpu_rows_max;
    limits.batch_rows_max = sizes.batch_rows_max > 0 ? sizes.batch_rows_max
                            : config.is_encoder      ? encoder_rows(sizes, limits.context_tokens, is_cpu)
                                                     : usual_rows;
    limits.is_encoder = config.is_encoder;
    limits.sequences_max =
        config.is_encoder ? std::max(sizes.sequences_max, encoder_texts_min) : sizes.sequences_max;
    limits.embeddings_max = sizes.embeddings_max;
    // An encoder has no head.
    limits.output_rows_max = config.is_encoder ? 1 : std::min(limits.batch_rows_max, logits_rows_max);
    // One for each output row of every batch, for drafts, in addition to the sequences' own.
    limits.slots = (sizes.sequences_max + limits.output_rows_max) * limits.in_flight_max;
    limits.candidates_max = kernels::candidates_max;
    limits.has_draft_head = config.has_draft_head;
    limits.pending_rows_max = config.is_recurrent() ? kernels::pending_rows_max : 0;
    return limits;
}

/// Returns the device bytes other than weights, keys, values and states, at the plan's context.
uint64_t working_bytes(const model::Config& config, const kernels::PlanTarget& target,
                       const DevicePlan& plan) {
    const StepBytes step = step_bytes(config, plan.limits);
    uint64_t bytes =
        model::workspace_bytes(config, target, plan.workspace) + vk::allocation_bytes(step.inputs);
    if (uses_host_memory(target)) {
        bytes += plan.limits.in_flight_max *
                 (vk::allocation_bytes(step.inputs) + vk::allocation_bytes(step.results) +
                  vk::allocation_bytes(step.logits) + vk::allocation_bytes(step.hidden));
    }
    return bytes;
}

/// Bytes of keys and values, and of recurrent states.
struct StateBytes {
    uint64_t cache = 0;
    uint64_t states = 0;

    [[nodiscard]] static StateBytes of(const model::Config& config, const DevicePlan& plan) {
        StateBytes sum;
        for (const model::LayerConfig& layer : config.layers) {
            uint64_t& part = layer.attention() != nullptr ? sum.cache : sum.states;
            for (const uint64_t bytes : layer_buffer_bytes(layer, plan.limits, plan.cache_formats))
                part += vk::allocation_bytes(bytes);
        }
        return sum;
    }
};

} // namespace

uint64_t reserve_bytes(uint64_t free_bytes) {
    return std::min(free_bytes, margin_bytes + free_bytes / margin_divisor);
}

namespace {

/// plan_device() with the cache formats of `sizes`.
Result<DevicePlan> plan_with_formats(std::string_view name, const model::Config& config,
                                     const kernels::PlanTarget& target, const DeviceSizes& sizes,
                                     uint64_t weight_bytes, const vk::MemoryState& memory,
                                     const SizeArena& size_arena) {
    ETNA_CHECK(check_sizes(name, sizes));
    DevicePlan plan;
    plan.weight_bytes = weight_bytes;
    plan.free_bytes = memory.free_bytes;
    plan.model_context_tokens = config.context;
    plan.cache_formats = sizes.cache_formats;
    plan.limits = limits_for(config, target, sizes);
    plan.workspace.options = {.batch_rows_max = plan.limits.batch_rows_max,
                              .output_rows_max = plan.limits.output_rows_max,
                              .context_tokens = plan.limits.context_tokens,
                              .slots = plan.limits.slots,
                              .cache_formats = plan.cache_formats};
    Budget budget{.free_bytes = memory.free_bytes, .weight_bytes = weight_bytes};
    // Sized for the longest context that may be chosen: a shorter one takes less.
    const auto size_workspace = [&](uint32_t context_tokens) -> Status {
        plan.limits.context_tokens = plan.workspace.options.context_tokens = context_tokens;
        ETNA_TRY(plan.workspace.arena, size_arena(plan.workspace.options));
        budget.workspace_bytes = plan.workspace_bytes = working_bytes(config, target, plan);
        return {};
    };
    ETNA_CHECK(size_workspace(plan.limits.context_tokens));
    while (!budget.fits_model() && sizes.context_tokens == 0 &&
           plan.limits.context_tokens > short_context_tokens)
        ETNA_CHECK(size_workspace(std::max(plan.limits.context_tokens / 2, short_context_tokens)));
    if (!budget.fits_model())
        return no_room_for_model(name, target, budget);
    plan.reserve_bytes = budget.margin();
    const uint64_t room = budget.room();
    const CacheSizes cache = CacheSizes::of(config, target, sizes.cache_formats, plan.limits);
    const StateSizes states = StateSizes::of(config, target);
    ETNA_TRY(budget.state_bytes, reserve_states(name, sizes, states, budget, plan.limits));
    ETNA_TRY(const uint32_t pages, choose_pages(name, sizes, cache, budget, plan.limits));

    plan.limits.state_slots = choose_state_slots(sizes, states, room, cache.bytes(pages), plan.limits);
    for (std::size_t i = 0; i < config.cache_groups.size(); ++i) {
        const uint32_t window_tokens = config.cache_groups[i].window_tokens;
        plan.limits.groups.push_back(
            {.kind = window_tokens == 0 ? CacheKind::full : CacheKind::sliding_window,
             .window_tokens = window_tokens,
             .page_count = static_cast<uint32_t>(cache.pages_of(cache.groups[i], pages)),
             .reach = config.cache_groups[i].reach});
    }
    ETNA_CHECK(size_workspace(plan.limits.context_tokens));
    const StateBytes chosen = StateBytes::of(config, plan);
    plan.cache_bytes = chosen.cache;
    plan.state_bytes = chosen.states;
    return plan;
}

} // namespace

Result<DevicePlan> plan_device(std::string_view name, const model::Config& config,
                               const kernels::PlanTarget& target, const DeviceSizes& sizes,
                               uint64_t weight_bytes, const vk::MemoryState& memory,
                               const SizeArena& size_arena) {
    auto plain = plan_with_formats(name, config, target, sizes, weight_bytes, memory, size_arena);
    const uint32_t wanted_tokens = sizes.context_tokens > 0 ? sizes.context_tokens : config.context;
    const auto is_whole = [&](const Result<DevicePlan>& plan) {
        return plan && plan->limits.context_tokens >= wanted_tokens;
    };
    const bool is_other_error = !plain && plain.error().kind != ErrorKind::out_of_memory;
    if (!sizes.adapts_cache_formats || sizes.cache_formats != kernels::CacheFormats{} || is_whole(plain) ||
        is_other_error)
        return plain;
    DeviceSizes compact_sizes = sizes;
    compact_sizes.cache_formats = {.keys = kernels::CacheFormat::q8_0, .values = kernels::CacheFormat::q8_0};
    auto compact = plan_with_formats(name, config, target, compact_sizes, weight_bytes, memory, size_arena);
    if (!compact || (plain && compact->limits.context_tokens <= plain->limits.context_tokens))
        return plain;
    const bool is_long_enough = plain && plain->limits.context_tokens >= short_context_tokens;
    return is_whole(compact) || !is_long_enough ? std::move(compact) : std::move(plain);
}

} // namespace etna::engine
