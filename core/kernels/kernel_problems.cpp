#include "core/kernels/kernel_problems.hpp"

#include "core/kernels/attention.hpp"
#include "core/kernels/experts.hpp"
#include "core/kernels/fused_linear.hpp"
#include "core/kernels/linear.hpp"
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

void add_linear_problem(Problems& problems, Layout layout, uint32_t rows, RowPath path, uint32_t count) {
    const PackedBytes packed = packed_bytes(layout, rows, model_width);
    const auto pose = [=](ProblemMemory& memory) -> RecordRepetition {
        std::vector<Matrix> weights(memory.copies(packed.weights + packed.scales));
        for (Matrix& one : weights) {
            one = {.layout = layout,
                   .rows = rows,
                   .columns = model_width,
                   .weights = memory.take(packed.weights),
                   .scales = packed.scales == 0 ? vk::Range{} : memory.take(packed.scales)};
        }
        Activations input = memory.rows(count, model_width);
        if (layout.arrangement == Arrangement::tiles)
            input.halves = memory.take(count * halves_bytes(model_width));
        const Activations output = memory.rows(count, rows);
        Library& library = memory.library();
        return [=, &library](vk::Recorder& recorder, uint32_t repetition) {
            linear(library, recorder,
                   {.weight = weights[repetition % weights.size()],
                    .input = input,
                    .output = output,
                    .count = count,
                    .path = path});
        };
    };
    problems.push_back(
        {.name =
             fmt::format("linear {} {} x {}, {} {} row{}", to_string(layout.format), rows, model_width, count,
                         path == RowPath::prefill ? "prompt" : "generation", count == 1 ? "" : "s"),
         .bytes = packed.weights + packed.scales + float_bytes(uint64_t{count} * (model_width + rows)),
         .operations = 2 * uint64_t{rows} * model_width * count,
         .pose = pose});
}

/// A block's fused matrices: gate and up with their activation, or a matrix that adds to the residual and
/// prepares the next norm.
void add_fused_problem(Problems& problems, Format format, uint32_t rows, uint32_t columns, bool gated) {
    const Layout layout{.format = format, .arrangement = Arrangement::tiles};
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    const uint32_t matrices = gated ? 2 : 1;
    const auto pose = [=](ProblemMemory& memory) -> RecordRepetition {
        const auto matrix = [&] {
            return Matrix{
                .layout = layout, .rows = rows, .columns = columns, .weights = memory.take(packed.weights)};
        };
        Activations input = memory.rows(1, columns);
        input.halves = memory.take(halves_bytes(columns));
        const Activations output = memory.rows(1, rows);
        const vk::Range halves = memory.take(halves_bytes(rows));
        const std::vector<uint32_t> zeros(fused_counter_bytes(1, rows) / sizeof(uint32_t));
        const vk::Range counters = memory.put(std::as_bytes(std::span(zeros)));
        const NextNorm next{.weight = memory.take(float_bytes(rows)),
                            .squares = memory.take(float_bytes(rows / tile_columns)),
                            .nan_probe = {.nan_probes = memory.take(sizeof(uint32_t))}};
        std::vector<FusedLinear> turns(memory.copies(matrices * packed.weights));
        for (FusedLinear& one : turns) {
            one = {.weight = matrix(),
                   .input = input,
                   .output = output,
                   .halves = halves,
                   .counters = counters,
                   .count = 1};
            if (gated)
                one.gated = GatedBy{.up = matrix()};
            else
                one.next_norm = next;
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            fused_linear(library, recorder, turns[repetition % turns.size()]);
        };
    };
    problems.push_back({.name = fmt::format("fused_linear {} {} x {}{}, 1 row", to_string(format), rows,
                                            columns, gated ? ", gated" : ", next norm"),
                        .bytes = matrices * packed.weights + float_bytes(columns + rows),
                        .operations = 2 * uint64_t{matrices} * rows * columns,
                        .pose = pose});
}

/// Qwen3-30B-A3B's experts.
void add_expert_problem(Problems& problems, Layout layout) {
    constexpr uint32_t experts = 128;
    constexpr uint32_t chosen = 8;
    constexpr uint32_t rows = 768;
    constexpr uint32_t columns = 2048;
    const PackedBytes packed = packed_bytes(layout, rows, columns);
    const auto pose = [=](ProblemMemory& memory) -> RecordRepetition {
        const MatrixStack stack{
            .matrices = {.layout = layout,
                         .rows = rows,
                         .columns = columns,
                         .weights = memory.take(experts * packed.weights),
                         .scales = packed.scales == 0 ? vk::Range{} : memory.take(experts * packed.scales)},
            .count = experts};
        std::vector<ExpertLinear> turns;
        for (uint32_t first = 0; first < experts; first += chosen) {
            std::vector<uint32_t> ids(chosen);
            for (uint32_t i = 0; i < chosen; ++i)
                ids[i] = first + i;
            const ExpertRouting choice{.experts = memory.put(std::as_bytes(std::span(ids))),
                                       .routing_weights = memory.take(float_bytes(chosen)),
                                       .count = experts,
                                       .experts_per_token = chosen,
                                       .rows = 1};
            const ExpertGroups groups{memory.take(expert_group_bytes(1, chosen))};
            memory.recorder().barrier();
            expert_group(memory.library(), memory.recorder(), choice, groups);
            turns.push_back({.weights = stack,
                             .input = memory.rows(1, columns),
                             .output = memory.rows(chosen, rows),
                             .choice = choice,
                             .groups = groups});
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            expert_linear(library, recorder, turns[repetition % turns.size()]);
        };
    };
    problems.push_back(
        {.name = fmt::format("expert_linear {} {} x {}, 8 of 128, 1 row", to_string(layout.format), rows,
                             columns),
         .bytes = chosen * (packed.weights + packed.scales) + float_bytes(columns + chosen * rows),
         .operations = 2 * uint64_t{chosen} * rows * columns,
         .pose = pose});
}

void add_weight_problems(Problems& problems, const PlanTarget& target) {
    for (uint32_t index = 0; index < format_count; ++index) {
        const auto format = static_cast<Format>(index);
        const Layout layout{.format = format, .arrangement = matrix_arrangement(target, format, model_width)};
        for (const uint32_t rows : {model_width, feed_forward_width}) {
            for (const uint32_t count : {1U, 2U, 4U, 8U})
                add_linear_problem(problems, layout, rows, RowPath::decode, count);
            add_linear_problem(problems, layout, rows, RowPath::prefill, prompt_rows(target));
        }
        if (layout.arrangement == Arrangement::tiles) {
            add_fused_problem(problems, format, feed_forward_width, model_width, true);
            add_fused_problem(problems, format, model_width, feed_forward_width, false);
        }
        add_expert_problem(problems, {.format = format, .arrangement = exact_arrangement(target, format)});
    }
}

/// One generation row of an 8B model over a cache of `tokens`.
void add_attention_problem(Problems& problems, const PlanTarget& target, CacheFormat format,
                           std::string_view format_name, uint32_t tokens) {
    constexpr uint32_t q_heads = 32;
    constexpr uint32_t kv_heads = 8;
    constexpr uint32_t head_dim = 128;
    const uint64_t cache_bytes = layer_cache_bytes(format, tokens / page_tokens, kv_heads, head_dim);
    const AttendMax attend_max{.end = tokens, .keys = tokens};
    const AttentionShape shape{
        .q_heads = q_heads, .kv_heads = kv_heads, .head_dim = head_dim, .formats = {format, format}};
    const uint64_t partial_bytes = attention_partial_bytes(target, shape, 1, attend_max);
    const std::vector<std::byte> counters(attention_counter_bytes(target, shape, 1, attend_max));
    const auto pose = [=](ProblemMemory& memory) -> RecordRepetition {
        const RowInfo row{.position = tokens - 1, .attend_end = tokens, .first_page = 0};
        const Rows rows{.infos = memory.put(std::as_bytes(std::span(&row, 1))), .count = 1};
        const vk::Range tables = memory.take(sizeof(uint32_t));
        const vk::Range partials = partial_bytes == 0 ? vk::Range{} : memory.take(partial_bytes);
        const vk::Range zeros = counters.empty() ? vk::Range{} : memory.put(counters);
        std::vector<Attention> turns(memory.copies(2 * cache_bytes));
        for (Attention& one : turns) {
            one = {.rows = rows,
                   .q = memory.rows(1, q_heads * head_dim),
                   .output = memory.rows(1, q_heads * head_dim),
                   .cache = {.formats = shape.formats,
                             .kv_heads = kv_heads,
                             .head_dim = head_dim,
                             .pages = tokens / page_tokens,
                             .keys = memory.take(cache_bytes),
                             .values = memory.take(cache_bytes)},
                   .tables = {tables},
                   .q_heads = q_heads,
                   .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                   .attend_max = attend_max,
                   .partials = partials,
                   .counters = zeros};
        }
        Library& library = memory.library();
        return [turns, &library](vk::Recorder& recorder, uint32_t repetition) {
            const Attention& operation = turns[repetition % turns.size()];
            attention(library, recorder, operation);
            if (!attention_needs_merge(library.target(), operation))
                return;
            recorder.barrier();
            attention_merge(library, recorder, operation);
        };
    };
    problems.push_back(
        {.name = fmt::format("attention {}, heads of 128, 32 to 8, 1 row, {} tokens", format_name, tokens),
         .bytes = 2 * cache_bytes + 2 * float_bytes(q_heads * head_dim),
         .operations = 4 * uint64_t{q_heads} * head_dim * tokens,
         .pose = pose});
}

} // namespace

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
        add_attention_problem(problems, target, CacheFormat::f16, "f16", tokens);
        add_attention_problem(problems, target, CacheFormat::q8_0, "q8_0", tokens);
    }
    add_step_problems(problems, target);
    return problems;
}

} // namespace etna::kernels
