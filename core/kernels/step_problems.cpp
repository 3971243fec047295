#include "core/kernels/step_problems.hpp"

#include "core/kernels/operations/delta_net.hpp"
#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/mamba2.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/policy.hpp"

#include <span>
#include <string>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

using Problems = std::vector<KernelProblem>;

constexpr uint32_t model_width = 4096; ///< of an 8B model
constexpr uint32_t feed_forward_width = 14336;
constexpr uint32_t logit_columns = 128256;

std::string rows_text(uint32_t count) {
    return fmt::format("{} row{}", count, count == 1 ? "" : "s");
}

template <class Item>
vk::Range put_items(ProblemMemory& memory, const std::vector<Item>& items) {
    return memory.put(std::as_bytes(std::span(items)));
}

void add_embed_problem(Problems& problems, const PlanTarget& target, uint32_t count) {
    constexpr uint32_t tokens = 32000;
    const Layout layout{.format = Format::q4_k,
                        .arrangement = matrix_arrangement(target, Format::q4_k, model_width)};
    const PackedBytes packed = packed_bytes(layout, tokens, model_width);
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        std::vector<RowInfo> infos(count);
        for (uint32_t i = 0; i < count; ++i)
            infos[i].input = tokens / count * i;
        const Embed operation{
            .rows = {.infos = put_items(memory, infos), .count = count},
            .slots = memory.take(sizeof(uint32_t)),
            .table = {.layout = layout,
                      .rows = tokens,
                      .columns = model_width,
                      .weights = memory.take(packed.weights),
                      .scales = packed.scales == 0 ? vk::Range{} : memory.take(packed.scales)},
            .output = memory.rows(count, model_width)};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) { embed({library, recorder}, operation); };
    };
    problems.push_back(
        {.name = fmt::format("embed q4_k {}, {}", model_width, rows_text(count)),
         .bytes = count * ((packed.weights + packed.scales) / tokens + float_bytes(model_width)),
         .prepare = prepare});
}

/// Heads of an 8B model, without norms.
void add_rotary_problem(Problems& problems, uint32_t count) {
    constexpr uint32_t query_heads = 32;
    constexpr uint32_t key_heads = 8;
    constexpr uint32_t head_dim = 128;
    const uint32_t pages = divide_up(count, page_tokens);
    const uint64_t cache_bytes = layer_cache_bytes(CacheFormat::f16, pages, key_heads, head_dim);
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        std::vector<RowInfo> infos(count);
        for (uint32_t i = 0; i < count; ++i)
            infos[i] = {.position = i, .attend_end = i + 1, .first_page = 0};
        const RotaryStore operation{.rows = {.infos = put_items(memory, infos), .count = count},
                                    .q = memory.rows(count, query_heads * head_dim),
                                    .k = memory.rows(count, key_heads * head_dim),
                                    .v = memory.rows(count, key_heads * head_dim),
                                    .angles = memory.take(float_bytes(uint64_t{count} * head_dim)),
                                    .cache = {.kv_heads = key_heads,
                                              .head_dim = head_dim,
                                              .pages = pages,
                                              .keys = memory.take(cache_bytes),
                                              .values = memory.take(cache_bytes)},
                                    .tables = {memory.take(sizeof(uint32_t))},
                                    .q_heads = query_heads,
                                    .rotated = head_dim};
        Library& library = memory.library();
        return
            [=, &library](vk::Recorder& recorder, uint32_t) { rotary_store({library, recorder}, operation); };
    };
    constexpr uint64_t kv_elements = 2 * key_heads * head_dim;
    problems.push_back({.name = fmt::format("rotary_store f16, heads of 128, 32 and 8, {}", rows_text(count)),
                        .bytes = count * (float_bytes(2 * query_heads * head_dim + kv_elements + head_dim) +
                                          kv_elements * sizeof(uint16_t)),
                        .prepare = prepare});
}

void add_pack_problem(Problems& problems, const PlanTarget& target, uint32_t count) {
    if (!reads_packed(target, model_width))
        return;
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        Activations rows = memory.rows(count, model_width);
        rows.packed = memory.take(count * packed_row_bytes(model_width));
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            pack({library, recorder}, {.rows = rows, .count = count});
        };
    };
    problems.push_back({.name = fmt::format("pack {}, {}", model_width, rows_text(count)),
                        .bytes = count * (float_bytes(model_width) + packed_row_bytes(model_width)),
                        .prepare = prepare});
}

void add_rms_norm_problem(Problems& problems, uint32_t count) {
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const RmsNorm operation{.input = memory.rows(count, model_width),
                                .output = memory.rows(count, model_width),
                                .weight = memory.take(float_bytes(model_width)),
                                .count = count};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) { rms_norm({library, recorder}, operation); };
    };
    problems.push_back({.name = fmt::format("rms_norm {}, {}", model_width, rows_text(count)),
                        .bytes = float_bytes((2 * uint64_t{count} + 1) * model_width),
                        .prepare = prepare});
}

void add_gate_problem(Problems& problems, uint32_t count) {
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const GateMultiply operation{.gate = memory.rows(count, feed_forward_width),
                                     .up = memory.rows(count, feed_forward_width),
                                     .count = count};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            gate_multiply({library, recorder}, operation);
        };
    };
    problems.push_back(
        {.name = fmt::format("gate_multiply silu {}, {}", feed_forward_width, rows_text(count)),
         .bytes = float_bytes(3 * uint64_t{count} * feed_forward_width),
         .prepare = prepare});
}

void add_sample_problem(Problems& problems) {
    const auto prepare = [](ProblemMemory& memory) -> RecordRepetition {
        const SampleInfo info;
        const Sample operation{.logits = memory.rows(1, logit_columns),
                               .count = 1,
                               .infos = memory.put(std::as_bytes(std::span(&info, 1))),
                               .slots = memory.take(sizeof(uint32_t)),
                               .partials = memory.take(sample_partial_bytes(1, logit_columns)),
                               .results = memory.take(sizeof(SampleResult))};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            sample_partial({library, recorder}, operation);
            sample_finish({library, recorder}, operation);
        };
    };
    problems.push_back({.name = fmt::format("sample {}, 1 row, greedy", logit_columns),
                        .bytes = float_bytes(logit_columns),
                        .prepare = prepare});
}

/// Gemma 2's logits.
void add_soft_cap_problem(Problems& problems) {
    constexpr uint32_t columns = 256000;
    const auto prepare = [](ProblemMemory& memory) -> RecordRepetition {
        const SoftCap operation{.values = memory.rows(1, columns), .count = 1, .cap = 30};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) { soft_cap({library, recorder}, operation); };
    };
    problems.push_back({.name = fmt::format("soft_cap {}, 1 row", columns),
                        .bytes = float_bytes(2 * columns),
                        .prepare = prepare});
}

constexpr uint32_t expert_count = 128; ///< of Qwen3-30B-A3B
constexpr uint32_t experts_per_token = 8;
constexpr uint32_t expert_width = 2048; ///< of the rows that enter and leave

/// Routing of `count` rows that choose different experts.
ExpertRouting routing_of(ProblemMemory& memory, uint32_t count) {
    std::vector<uint32_t> ids(uint64_t{count} * experts_per_token);
    for (uint32_t i = 0; i < ids.size(); ++i)
        ids[i] = i % expert_count;
    return {.experts = put_items(memory, ids),
            .routing_weights = memory.take(float_bytes(ids.size())),
            .count = expert_count,
            .experts_per_token = experts_per_token,
            .rows = count};
}

void add_routing_problems(Problems& problems, uint32_t count) {
    const uint64_t pairs = uint64_t{count} * experts_per_token;
    const uint64_t group_bytes = expert_group_bytes(count, experts_per_token);
    const auto route = [=](ProblemMemory& memory) -> RecordRepetition {
        const ExpertRoute operation{.router = memory.rows(count, expert_count),
                                    .choice = {.experts = memory.take(pairs * sizeof(uint32_t)),
                                               .routing_weights = memory.take(float_bytes(pairs)),
                                               .count = expert_count,
                                               .experts_per_token = experts_per_token,
                                               .rows = count}};
        Library& library = memory.library();
        return
            [=, &library](vk::Recorder& recorder, uint32_t) { expert_route({library, recorder}, operation); };
    };
    const auto group = [=](ProblemMemory& memory) -> RecordRepetition {
        const ExpertRouting choice = routing_of(memory, count);
        const ExpertGroups groups{
            .range = memory.take(group_bytes),
            .tile_pairs = expert_tile_pairs(static_cast<uint32_t>(pairs), expert_count, Arrangement::rows)};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            expert_group({library, recorder}, choice, groups);
        };
    };
    const auto sum = [=](ProblemMemory& memory) -> RecordRepetition {
        const ExpertSum operation{.input = memory.rows(static_cast<uint32_t>(pairs), expert_width),
                                  .output = memory.rows(count, expert_width),
                                  .choice = routing_of(memory, count)};
        Library& library = memory.library();
        return
            [=, &library](vk::Recorder& recorder, uint32_t) { expert_sum({library, recorder}, operation); };
    };
    problems.push_back({.name = fmt::format("expert_route 8 of 128, {}", rows_text(count)),
                        .bytes = float_bytes(uint64_t{count} * expert_count + 2 * pairs),
                        .prepare = route});
    problems.push_back({.name = fmt::format("expert_group 8 of 128, {}", rows_text(count)),
                        .bytes = pairs * sizeof(uint32_t) + group_bytes,
                        .prepare = group});
    problems.push_back({.name = fmt::format("expert_sum {}, 8 of 128, {}", expert_width, rows_text(count)),
                        .bytes = float_bytes((pairs + 2 * uint64_t{count}) * expert_width + pairs),
                        .prepare = sum});
}

/// The gated delta net of Qwen3-Next and Qwen3.5-35B-A3B.
constexpr DeltaShape delta_shape{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};

/// One sequence, deep in its text: a generated token after an accepted one, or a part of its prompt.
Sequences sequence_of(ProblemMemory& memory, uint32_t count) {
    constexpr uint32_t depth = 4096;
    const SequenceInfo info{.slot = 0,
                            .first_row = 0,
                            .row_count = count,
                            .position = depth,
                            .accepted = count == 1 ? 1U : 0U,
                            .flags = count == 1 ? 0U : commit_rows};
    return {.infos = memory.put(std::as_bytes(std::span(&info, 1))), .count = 1, .rows = count};
}

void add_delta_problems(Problems& problems, uint32_t count) {
    constexpr uint32_t width = 4;
    const uint32_t channels = delta_shape.qkv_columns();
    const uint32_t columns = delta_shape.output_columns();
    const auto convolution = [=](ProblemMemory& memory) -> RecordRepetition {
        const uint32_t length = convolution_ring_length(width);
        const ShortConvolution operation{
            .sequences = sequence_of(memory, count),
            .input = memory.rows(count, channels),
            .output = memory.rows(count, channels),
            .weight = memory.take(float_bytes(uint64_t{channels} * width)),
            .ring = {.range = memory.take(float_bytes(uint64_t{length} * channels)),
                     .slots = 1,
                     .length = length},
            .width = width};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            short_convolution({library, recorder}, operation);
        };
    };
    const auto net = [=](ProblemMemory& memory) -> RecordRepetition {
        const DeltaNet operation{.sequences = sequence_of(memory, count),
                                 .shape = delta_shape,
                                 .qkv = memory.rows(count, channels),
                                 .a = {.rows = memory.rows(count, delta_shape.value_heads)},
                                 .b = {.rows = memory.rows(count, delta_shape.value_heads)},
                                 .decay = memory.take(float_bytes(delta_shape.value_heads)),
                                 .dt_bias = memory.take(float_bytes(delta_shape.value_heads)),
                                 .states = {.states = memory.take(delta_state_bytes(delta_shape)),
                                            .pending = memory.take(delta_pending_bytes(delta_shape)),
                                            .slots = 1},
                                 .output = memory.rows(count, columns)};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) { delta_net({library, recorder}, operation); };
    };
    const auto norm = [=](ProblemMemory& memory) -> RecordRepetition {
        const GatedRmsNorm operation{.values = memory.rows(count, columns),
                                     .gate = memory.rows(count, columns),
                                     .weight = memory.take(float_bytes(delta_shape.value_dim)),
                                     .head_dim = delta_shape.value_dim,
                                     .count = count};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) {
            gated_rms_norm({library, recorder}, operation);
        };
    };
    const uint64_t rows = count;
    problems.push_back(
        {.name = fmt::format("short_convolution {} x {}, {}", channels, width, rows_text(count)),
         .bytes = float_bytes((2 * rows + width + width) * channels),
         .prepare = convolution});
    problems.push_back(
        {.name = fmt::format("delta_net heads of 128, 16 and 32, {}", rows_text(count)),
         .bytes = 2 * delta_state_bytes(delta_shape) + float_bytes(rows * (channels + columns)),
         .prepare = net});
    problems.push_back({.name = fmt::format("gated_rms_norm 32 x 128, {}", rows_text(count)),
                        .bytes = float_bytes(3 * rows * columns),
                        .prepare = norm});
}

/// Mamba 2 of Granite 4 H Tiny.
void add_mamba_problem(Problems& problems, uint32_t count) {
    constexpr Mamba2Shape shape{.heads = 48, .groups = 1, .head_dim = 64, .state_dim = 128};
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const Mamba2 operation{.sequences = sequence_of(memory, count),
                               .shape = shape,
                               .xbc = memory.rows(count, shape.xbc_columns()),
                               .dt = memory.rows(count, shape.heads),
                               .decay = memory.take(float_bytes(shape.heads)),
                               .dt_bias = memory.take(float_bytes(shape.heads)),
                               .skip = memory.take(float_bytes(shape.heads)),
                               .states = {.states = memory.take(mamba2_state_bytes(shape)),
                                          .pending = memory.take(mamba2_pending_bytes(shape)),
                                          .slots = 1},
                               .output = memory.rows(count, shape.output_columns())};
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t) { mamba2({library, recorder}, operation); };
    };
    const uint64_t columns = shape.xbc_columns() + shape.output_columns();
    problems.push_back({.name = fmt::format("mamba2 48 heads of 64, {}", rows_text(count)),
                        .bytes = 2 * mamba2_state_bytes(shape) + float_bytes(count * columns),
                        .prepare = prepare});
}

} // namespace

void add_step_problems(std::vector<KernelProblem>& problems, const PlanTarget& target) {
    for (const uint32_t count : {1U, prompt_rows(target)}) {
        add_embed_problem(problems, target, count);
        add_rotary_problem(problems, count);
        add_rms_norm_problem(problems, count);
        add_pack_problem(problems, target, count);
        add_gate_problem(problems, count);
        add_routing_problems(problems, count);
        add_delta_problems(problems, count);
        add_mamba_problem(problems, count);
    }
    add_soft_cap_problem(problems);
    add_sample_problem(problems);
}

} // namespace etna::kernels
