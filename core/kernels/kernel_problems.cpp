#include "core/kernels/kernel_problems.hpp"

#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/step_problems.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

using Problems = std::vector<KernelProblem>;

/// A normal number in f32 (2.4e-12), f16 and bf16, and a valid scale of every format.
constexpr uint32_t fill_word = 0x2C2C2C2CU;

constexpr uint32_t model_width = 4096;
constexpr uint32_t feed_forward_width = 14336;

} // namespace

KernelProblem linear_problem(Layout layout, uint32_t rows, uint32_t columns, RowPath path, uint32_t count) {
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        std::vector<Matrix> weights(memory.copies(packed.weights + packed.scales));
        for (Matrix& one : weights) {
            one = {.layout = layout,
                   .rows = rows,
                   .columns = columns,
                   .weights = memory.take(packed.weights),
                   .scales = packed.scales == 0 ? vk::Range{} : memory.take(packed.scales)};
        }
        Activations input = memory.rows(count, columns);
        if (layout.arrangement == Arrangement::tiles) {
            input.packed = memory.take(count * packed_row_bytes(columns));
            input.f16 = memory.take(count * f16_row_bytes(columns));
        }
        const Activations output = memory.rows(count, rows);
        Library& library = memory.library();
        const uint64_t part_bytes = linear_part_bytes(library.target(), layout, rows, columns, path, count);
        const vk::Range parts = part_bytes > 0 ? memory.take(part_bytes) : vk::Range{};
        return [=, &library](vk::Recorder& recorder, uint32_t repetition) {
            linear({library, recorder}, {.weight = weights[repetition % weights.size()],
                                         .input = input,
                                         .output = output,
                                         .count = count,
                                         .path = path,
                                         .parts = parts});
        };
    };
    return {.name = fmt::format("linear {} {} x {}, {} {} row{}", to_string(layout.format), rows, columns,
                                count, to_string(path), count == 1 ? "" : "s"),
            .bytes = packed.weights + packed.scales + float_bytes(uint64_t{count} * (columns + rows)),
            .operations = 2 * uint64_t{rows} * columns * count,
            .prepare = prepare};
}

KernelProblem fused_problem(Format format, uint32_t rows, uint32_t columns, bool gated, uint32_t count) {
    const Layout layout{.format = format, .arrangement = Arrangement::tiles};
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    const uint32_t matrices = gated ? 2 : 1;
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const auto matrix = [&] {
            return Matrix{
                .layout = layout, .rows = rows, .columns = columns, .weights = memory.take(packed.weights)};
        };
        Activations input = memory.rows(count, columns);
        input.packed = memory.take(count * packed_row_bytes(columns));
        Activations output = memory.rows(count, rows);
        output.packed = memory.take(count * packed_row_bytes(rows));
        const std::vector<uint32_t> zeros(fused_counter_bytes(count, rows) / sizeof(uint32_t));
        const vk::Range counters = memory.put(std::as_bytes(std::span(zeros)));
        const NextNorm next{.weight = memory.take(float_bytes(rows)),
                            .squares = memory.take(float_bytes(uint64_t{count} * (rows / tile_columns))),
                            .nan_probe = {.nan_probes = memory.take(count * sizeof(uint32_t))}};
        std::vector<FusedLinear> turns(memory.copies(matrices * packed.weights));
        for (FusedLinear& one : turns) {
            one = {.weight = matrix(),
                   .input = input,
                   .output = output,
                   .packs = output,
                   .counters = counters,
                   .count = count};
            if (gated) {
                one.gated = GatedBy{.up = matrix()};
            } else {
                one.next_norm = next;
            }
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            fused_linear({library, recorder}, turns[repetition % turns.size()]);
        };
    };
    return {.name = fmt::format("fused_linear {} {} x {}{}, {} row{}", to_string(format), rows, columns,
                                gated ? ", gated" : ", next norm", count, count == 1 ? "" : "s"),
            .bytes = matrices * packed.weights + float_bytes(uint64_t{count} * (columns + rows)),
            .operations = 2 * uint64_t{matrices} * rows * columns * count,
            .prepare = prepare};
}

namespace {

/// Qwen3-30B-A3B's experts.
constexpr uint32_t experts = 128;
constexpr uint32_t chosen_experts = 8;
constexpr uint32_t expert_inner = 768;
constexpr uint32_t expert_outer = 2048;

MatrixStack take_stack(ProblemMemory& memory, Layout layout, uint32_t rows, uint32_t columns) {
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    return {.matrices = {.layout = layout,
                         .rows = rows,
                         .columns = columns,
                         .weights = memory.take(experts * packed.weights),
                         .scales = packed.scales == 0 ? vk::Range{} : memory.take(experts * packed.scales)},
            .count = experts};
}

/// Rows packed if matrices of this layout read them.
Activations take_rows(ProblemMemory& memory, Layout layout, uint32_t count, uint32_t columns) {
    Activations rows = memory.rows(count, columns);
    if (layout.arrangement == Arrangement::tiles)
        rows.packed = memory.take(count * packed_row_bytes(columns));
    return rows;
}

/// Choices of one row at a time, which read different experts in turn.
std::vector<ExpertRouting> take_choices(ProblemMemory& memory) {
    std::vector<ExpertRouting> turns;
    for (uint32_t first = 0; first < experts; first += chosen_experts) {
        std::vector<uint32_t> ids(chosen_experts);
        for (uint32_t i = 0; i < chosen_experts; ++i)
            ids[i] = first + i;
        turns.push_back({.experts = memory.put(std::as_bytes(std::span(ids))),
                         .routing_weights = memory.take(float_bytes(chosen_experts)),
                         .count = experts,
                         .experts_per_token = chosen_experts,
                         .rows = 1});
    }
    return turns;
}

KernelProblem expert_problem(std::string_view operation, Layout layout, uint32_t rows, uint32_t columns,
                             uint32_t matrices) {
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    return {.name = fmt::format("{} {} {} x {}, {} of {}, 1 row", operation, to_string(layout.format), rows,
                                columns, chosen_experts, experts),
            .bytes = uint64_t{chosen_experts} * matrices * (packed.weights + packed.scales),
            .operations = 2 * uint64_t{chosen_experts} * matrices * rows * columns,
            .prepare = {}};
}

void add_expert_linear_problem(Problems& problems, Layout layout) {
    KernelProblem problem = expert_problem("expert_linear", layout, expert_inner, expert_outer, 1);
    problem.bytes += float_bytes(expert_outer + chosen_experts * expert_inner);
    problem.prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const MatrixStack stack = take_stack(memory, layout, expert_inner, expert_outer);
        std::vector<ExpertLinear> turns;
        for (const ExpertRouting& choice : take_choices(memory)) {
            const ExpertGroups groups{.range = memory.take(expert_group_bytes(1, chosen_experts))};
            expert_group({memory.library(), memory.recorder()}, choice, groups);
            turns.push_back({.weights = stack,
                             .input = take_rows(memory, layout, 1, expert_outer),
                             .output = memory.rows(chosen_experts, expert_inner),
                             .choice = choice,
                             .groups = groups});
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            expert_linear({library, recorder}, turns[repetition % turns.size()]);
        };
    };
    problems.push_back(std::move(problem));
}

void add_expert_gate_up_problem(Problems& problems, Layout layout) {
    KernelProblem problem = expert_problem("expert_gate_up", layout, expert_inner, expert_outer, 2);
    problem.bytes += packed_row_bytes(expert_outer) + chosen_experts * packed_row_bytes(expert_inner);
    problem.prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const MatrixStack gate = take_stack(memory, layout, expert_inner, expert_outer);
        const MatrixStack up = take_stack(memory, layout, expert_inner, expert_outer);
        const std::vector<std::byte> zeros(expert_counter_bytes(chosen_experts, expert_inner));
        std::vector<ExpertGateUp> turns;
        for (const ExpertRouting& choice : take_choices(memory)) {
            turns.push_back({.gate = gate,
                             .up = up,
                             .input = take_rows(memory, layout, 1, expert_outer),
                             .output = take_rows(memory, layout, chosen_experts, expert_inner),
                             .packed = true,
                             .counters = memory.put(zeros),
                             .choice = choice});
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            expert_gate_up({library, recorder}, turns[repetition % turns.size()]);
        };
    };
    problems.push_back(std::move(problem));
}

void add_expert_down_problem(Problems& problems, Layout layout) {
    KernelProblem problem = expert_problem("expert_down", layout, expert_outer, expert_inner, 1);
    problem.bytes += chosen_experts * packed_row_bytes(expert_inner) + 2 * float_bytes(expert_outer);
    problem.prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        const MatrixStack stack = take_stack(memory, layout, expert_outer, expert_inner);
        std::vector<ExpertDown> turns;
        for (const ExpertRouting& choice : take_choices(memory)) {
            turns.push_back({.weights = stack,
                             .input = take_rows(memory, layout, chosen_experts, expert_inner),
                             .output = memory.rows(1, expert_outer),
                             .choice = choice});
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            expert_down({library, recorder}, turns[repetition % turns.size()]);
        };
    };
    problems.push_back(std::move(problem));
}

void add_weight_problems(Problems& problems, const PlanTarget& target) {
    for (uint32_t index = 0; index < format_count; ++index) {
        const auto format = static_cast<Format>(index);
        const Layout layout{.format = format, .arrangement = matrix_arrangement(target, format, model_width)};
        for (const uint32_t rows : {model_width, feed_forward_width}) {
            for (const uint32_t count : {1U, 2U, 4U, 8U})
                problems.push_back(linear_problem(layout, rows, model_width, RowPath::decode, count));
            problems.push_back(
                linear_problem(layout, rows, model_width, RowPath::prefill, prompt_rows(target)));
        }
        if (layout.arrangement == Arrangement::tiles) {
            problems.push_back(fused_problem(format, feed_forward_width, model_width, true, 1));
            problems.push_back(fused_problem(format, model_width, feed_forward_width, false, 1));
        }
        const Layout stack{.format = format, .arrangement = stack_arrangement(target, format, expert_outer)};
        add_expert_linear_problem(problems, stack);
        if (stack.arrangement == Arrangement::tiles) {
            add_expert_gate_up_problem(problems, stack);
            add_expert_down_problem(problems, stack);
        }
    }
}

std::string_view format_name(CacheFormat format) {
    switch (format) {
    case CacheFormat::f32:
        return "f32";
    case CacheFormat::f16:
        return "f16";
    case CacheFormat::q8_0:
        break;
    }
    return "q8_0";
}

/// A batch of a prompt's first rows, and of rows after 4,096 others. A cache in f32 is read by the general
/// kernel on every device.
void add_prompt_attention_problems(Problems& problems, const PlanTarget& target) {
    const bool is_cpu = target.profile.type == vk::DeviceType::cpu; // slow there
    const uint32_t rows = prompt_rows(target);
    for (const uint32_t tokens : {rows, 4096 + rows}) {
        for (const uint32_t q_heads : {32U, 16U}) {
            for (const CacheFormat format : {CacheFormat::f16, CacheFormat::q8_0, CacheFormat::f32}) {
                const AttentionShape heads{
                    .q_heads = q_heads, .kv_heads = 8, .head_dim = 128, .formats = {format, format}};
                if (tokens == rows || !is_cpu)
                    problems.push_back(attention_problem(target, heads, tokens, RowPath::prefill, rows));
            }
        }
    }
}

} // namespace

KernelProblem attention_problem(const PlanTarget& target, const AttentionShape& shape, uint32_t tokens,
                                RowPath path, uint32_t count) {
    const auto [q_heads, kv_heads, head_dim, formats, latent_dim, has_alibi] = shape;
    const float alibi = has_alibi ? 8 : 0;
    const uint32_t value_dim = shape.value_dim();
    const uint64_t cache_bytes = layer_cache_bytes(formats.keys, tokens / page_tokens, kv_heads, head_dim);
    const uint64_t caches = latent_dim > 0 ? 1 : 2; // of keys, and of values
    const AttendMax attend_max{.end = tokens, .keys = tokens};
    const bool is_decode = path == RowPath::decode;
    const uint32_t first_end = is_decode ? tokens : tokens - count + 1;
    const uint64_t partial_bytes = attention_partial_bytes(target, shape, count, attend_max, path);
    const std::vector<std::byte> counters(
        is_decode ? attention_counter_bytes(target, shape, count, attend_max) : 0);
    const auto prepare = [=](ProblemMemory& memory) -> RecordRepetition {
        std::vector<RowInfo> infos;
        for (uint32_t end = first_end; infos.size() < count; end += is_decode ? 0 : 1)
            infos.push_back({.position = end - 1, .attend_end = end, .first_page = 0});
        const Rows rows{.infos = memory.put(std::as_bytes(std::span(infos))), .count = count};
        const vk::Range tables = memory.take(sizeof(uint32_t));
        const vk::Range partials = partial_bytes == 0 ? vk::Range{} : memory.take(partial_bytes);
        const vk::Range zeros = counters.empty() ? vk::Range{} : memory.put(counters);
        std::vector<Attention> turns(memory.copies(caches * cache_bytes));
        for (Attention& one : turns) {
            one = {.rows = rows,
                   .q = memory.rows(count, q_heads * head_dim),
                   .output = memory.rows(count, q_heads * value_dim),
                   .cache = {.formats = formats,
                             .kv_heads = kv_heads,
                             .head_dim = head_dim,
                             .pages = tokens / page_tokens,
                             .keys = memory.take(cache_bytes),
                             .values = latent_dim > 0 ? vk::Range{} : memory.take(cache_bytes),
                             .latent_dim = latent_dim},
                   .tables = {tables},
                   .q_heads = q_heads,
                   .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                   .alibi = alibi,
                   .path = path,
                   .sequences = is_decode ? count : 1,
                   .attend_max = attend_max,
                   .partials = partials,
                   .counters = zeros};
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            const Attention& operation = turns[repetition % turns.size()];
            attention({library, recorder}, operation);
            if (attention_needs_merge(library.target(), operation))
                attention_merge({library, recorder}, operation);
        };
    };
    const uint64_t keys = uint64_t{count} * (first_end + tokens) / 2; // of all rows together
    return {.name = fmt::format("attention {}, heads of {}, {} to {}, {} {}, {} tokens",
                                format_name(formats.keys), head_dim, q_heads, kv_heads, count,
                                is_decode ? count == 1 ? "row" : "rows" : "prefill rows", tokens),
            .bytes = caches * cache_bytes + float_bytes(uint64_t{count} * q_heads * (head_dim + value_dim)),
            .operations = 2 * keys * q_heads * (head_dim + value_dim),
            .prepare = prepare};
}

uint64_t float_bytes(uint64_t count) {
    return count * sizeof(float);
}

uint32_t prompt_rows(const PlanTarget& target) {
    return target.profile.type == vk::DeviceType::cpu ? 64 : 512; // batch_rows_max
}

Result<ProblemMemory> ProblemMemory::create(Library& library) {
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(library.device()));
    return ProblemMemory(library, std::move(recorder));
}

vk::Range ProblemMemory::take(uint64_t bytes) {
    auto buffer =
        vk::Buffer::create(library_->device(), vk::MemoryDomain::device, round_up(bytes, 16), "problem");
    if (!buffer) {
        recorder_.fail(std::move(buffer).error());
        return {};
    }
    recorder_.fill(*buffer, 0, buffer->bytes(), fill_word);
    buffers_.push_back(std::move(*buffer));
    return buffers_.back().range();
}

vk::Range ProblemMemory::put(ByteView content) {
    auto buffer = vk::Buffer::create(library_->device(), vk::MemoryDomain::upload, content.size(), "problem");
    if (!buffer) {
        recorder_.fail(std::move(buffer).error());
        return {};
    }
    std::copy(content.begin(), content.end(), buffer->mapped().begin());
    buffers_.push_back(std::move(*buffer));
    return buffers_.back().range();
}

Activations ProblemMemory::rows(uint32_t count, uint32_t columns) {
    const uint32_t stride = padded_columns(columns);
    return {.range = take(float_bytes(uint64_t{count} * stride)), .columns = columns, .stride = stride};
}

uint32_t ProblemMemory::copies(uint64_t bytes) const {
    constexpr uint64_t gpu_cache_bytes = 512 * mebibyte;
    constexpr uint64_t cpu_cache_bytes = 128 * mebibyte;
    constexpr uint64_t copies_max = 64;
    const bool is_cpu = library_->target().profile.type == vk::DeviceType::cpu;
    const uint64_t exceeded = is_cpu ? cpu_cache_bytes : gpu_cache_bytes;
    return static_cast<uint32_t>(std::clamp<uint64_t>(exceeded / bytes, 1, copies_max));
}

Status ProblemMemory::finish() {
    vk::Device& device = library_->device();
    ETNA_TRY(vk::CommandBuffer commands, recorder_.finish());
    ETNA_TRY(const uint64_t done_at, device.submit(std::move(commands)));
    return device.wait(done_at);
}

std::vector<KernelProblem> kernel_problems(const PlanTarget& target) {
    Problems problems;
    add_weight_problems(problems, target);
    for (const uint32_t tokens : {512U, 4096U}) {
        for (const CacheFormat format : {CacheFormat::f16, CacheFormat::q8_0}) {
            const AttentionShape heads{
                .q_heads = 32, .kv_heads = 8, .head_dim = 128, .formats = {format, format}};
            problems.push_back(attention_problem(target, heads, tokens, RowPath::decode, 1));
        }
    }
    add_prompt_attention_problems(problems, target);
    add_step_problems(problems, target);
    return problems;
}

} // namespace etna::kernels
