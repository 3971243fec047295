#include "tests/bench/every_operation.hpp"

#include "core/kernels/matrix_rate.hpp"
#include "core/kernels/operations/altup.hpp"
#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/delta_net.hpp"
#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/halve.hpp"
#include "core/kernels/operations/heads_linear.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/latent_store.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/mamba2.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/operations/suppress.hpp"
#include "core/kernels/policy.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::bench {
namespace {

using namespace kernels;
using Cases = std::vector<OperationCase>;

constexpr uint32_t width = 4096;
constexpr uint32_t batch_rows_max = 64;
constexpr uint32_t context_tokens = 8192; // more than one run of keys: attention_merge follows

/// Address space without memory: recording only uses addresses and sizes.
class Space {
public:
    vk::Range take() {
        constexpr uint64_t bytes = uint64_t{1} << 32U; // more than any case here touches
        next_ += bytes;
        return {.address = next_, .bytes = bytes};
    }

private:
    uint64_t next_ = 0;
};

Activations activations(Space& space, uint32_t columns) {
    return {
        .range = space.take(), .columns = columns, .stride = padded_columns(columns), .halves = space.take()};
}

Matrix matrix(Space& space, Layout layout, uint32_t rows) {
    return {
        .layout = layout, .rows = rows, .columns = width, .weights = space.take(), .scales = space.take()};
}

Rows rows_of(Space& space) {
    return {.infos = space.take(), .first = 0, .count = 1};
}

void add_embed(Cases& cases, Layout layout) {
    cases.push_back({fmt::format("embed {} {}", to_string(layout.format), to_string(layout.arrangement)),
                     [layout](Library& library, vk::Recorder& recorder) {
                         Space space;
                         embed({library, recorder}, {.rows = rows_of(space),
                                                     .slots = space.take(),
                                                     .table = matrix(space, layout, width),
                                                     .output = activations(space, width)});
                     }});
}

void add_linear(Cases& cases, Layout layout, uint32_t rows, RowPath path, uint32_t count) {
    cases.push_back({fmt::format("linear {} {}, {} rows, {} {} columns", to_string(layout.format),
                                 to_string(layout.arrangement), rows, count,
                                 path == RowPath::prefill ? "prompt" : "generation"),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         linear({library, recorder}, {.weight = matrix(space, layout, rows),
                                                      .input = activations(space, width),
                                                      .output = activations(space, rows),
                                                      .count = count,
                                                      .path = path});
                     }});
}

/// q, k and v of a layer with few kv heads.
void add_linear_stack(Cases& cases, Layout layout) {
    cases.push_back({fmt::format("linear_stack {}", to_string(layout.format)),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         std::vector<StackedMatrix> matrices;
                         for (const uint32_t rows : {width, width / 4, width / 4})
                             matrices.push_back(
                                 {.weight = matrix(space, layout, rows), .output = activations(space, rows)});
                         linear_stack({library, recorder}, {.matrices = matrices,
                                                            .input = activations(space, width),
                                                            .count = 1,
                                                            .norm = PendingNorm{.squares = space.take()}});
                     }});
}

void add_fused_linear(Cases& cases, Layout layout, uint32_t count) {
    for (const bool gated : {false, true}) {
        cases.push_back({fmt::format("fused_linear {}{}, {} columns", to_string(layout.format),
                                     gated ? ", gated" : "", count),
                         [=](Library& library, vk::Recorder& recorder) {
                             Space space;
                             FusedLinear operation{.weight = matrix(space, layout, width),
                                                   .input = activations(space, width),
                                                   .output = activations(space, width),
                                                   .halves = space.take(),
                                                   .counters = space.take(),
                                                   .count = count};
                             if (gated)
                                 operation.gated = GatedBy{.up = matrix(space, layout, width)};
                             else
                                 operation.next_norm = NextNorm{.weight = space.take(),
                                                                .squares = space.take(),
                                                                .nan_probe = {.nan_probes = space.take()}};
                             fused_linear({library, recorder}, operation);
                         }});
    }
}

void add_heads_linear(Cases& cases, Layout layout, uint32_t count) {
    cases.push_back({fmt::format("heads_linear {}, {} columns", to_string(layout.format), count),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         constexpr uint32_t head_dim = 128;
                         constexpr uint32_t kv_width = width / 4;
                         const auto head_matrix = [&](uint32_t rows) {
                             return HeadMatrix{.weight = matrix(space, layout, rows)};
                         };
                         heads_linear({library, recorder},
                                      {.q = head_matrix(width),
                                       .k = head_matrix(kv_width),
                                       .v = head_matrix(kv_width),
                                       .input = activations(space, width),
                                       .norm = PendingNorm{.squares = space.take()},
                                       .heads = {.rows = {.infos = space.take(), .count = count},
                                                 .q = activations(space, width),
                                                 .k = activations(space, kv_width),
                                                 .v = activations(space, kv_width),
                                                 .angles = space.take(),
                                                 .cache = {.kv_heads = kv_width / head_dim,
                                                           .head_dim = head_dim,
                                                           .pages = 1,
                                                           .keys = space.take(),
                                                           .values = space.take()},
                                                 .tables = {space.take()},
                                                 .q_heads = width / head_dim,
                                                 .rotated = head_dim,
                                                 .pairs = RotaryPairs::halves},
                                       .counters = space.take()});
                     }});
}

ExpertRouting expert_choice(Space& space, uint32_t rows) {
    return {.experts = space.take(),
            .routing_weights = space.take(),
            .count = 8,
            .experts_per_token = 2,
            .rows = rows};
}

void add_expert_linear(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back({fmt::format("expert_linear {} {}, {} rows", to_string(layout.format),
                                 to_string(layout.arrangement), rows),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const ExpertRouting choice = expert_choice(space, rows);
                         expert_linear(
                             {library, recorder},
                             {.weights = {.matrices = matrix(space, layout, width), .count = choice.count},
                              .input = activations(space, width),
                              .output = activations(space, width),
                              .choice = choice,
                              .groups = ExpertGroups{.range = space.take(),
                                                     .tile_pairs = expert_tile_pairs(
                                                         choice.pairs(), choice.count, layout.arrangement)}});
                     }});
}

/// Qwen3-30B-A3B's, and with biases gpt-oss's gate.
void add_expert_gate_up(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back(
        {fmt::format("expert_gate_up {}, {} rows", to_string(layout.format), rows),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             const ExpertRouting choice = expert_choice(space, rows);
             const MatrixStack stack{.matrices = matrix(space, layout, width), .count = choice.count};
             ExpertGateUp operation{.gate = stack,
                                    .up = stack,
                                    .input = activations(space, width),
                                    .output = activations(space, width),
                                    .halves = true,
                                    .counters = space.take(),
                                    .choice = choice};
             if (rows > 1) {
                 operation.groups = ExpertGroups{
                     .range = space.take(),
                     .tile_pairs = expert_tile_pairs(choice.pairs(), choice.count, layout.arrangement)};
             }
             expert_gate_up({library, recorder}, operation);
             operation.kind = Gate::clamped_silu;
             operation.biases = GateBiases{.gate = space.take(),
                                           .up = space.take(),
                                           .experts = choice.experts,
                                           .expert_count = choice.count};
             expert_gate_up({library, recorder}, operation);
         }});
}

void add_expert_down(Cases& cases, Layout layout) {
    cases.push_back({fmt::format("expert_down {}", to_string(layout.format)),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const ExpertRouting choice = expert_choice(space, 1);
                         ExpertDown operation{
                             .weights = {.matrices = matrix(space, layout, width), .count = choice.count},
                             .input = activations(space, width),
                             .output = activations(space, width),
                             .choice = choice};
                         expert_down({library, recorder}, operation);
                         operation.bias = space.take();
                         expert_down({library, recorder}, operation);
                     }});
}

/// DeepSeek-V3's key up-projections.
void add_heads_product(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back(
        {fmt::format("heads_product {} {}, {} rows", to_string(layout.format), to_string(layout.arrangement),
                     rows),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             constexpr uint32_t heads = 128;
             Matrix one = matrix(space, layout, 512);
             one.columns = 128;
             if (one.columns % block_columns(layout.format) != 0)
                 one.columns = 256;
             heads_product(
                 {library, recorder},
                 {.weights = {.matrices = one, .count = heads},
                  .input = {.rows = activations(space, heads * (one.columns + 64)),
                            .head_dim = one.columns + 64,
                            .columns = one.columns},
                  .output = {.rows = activations(space, heads * 576), .head_dim = 576, .columns = one.rows},
                  .count = rows});
         }});
}

/// Whether any plan loads weights in this layout.
bool is_possible(const PlanTarget& target, Layout layout) {
    switch (layout.arrangement) {
    case Arrangement::rows:
        return true;
    case Arrangement::lanes:
        return lanes_usable(target.profile);
    case Arrangement::tiles:
        return layout.format != Format::f32 &&
               usable(shaders::linear_tiles(static_cast<shaders::Format>(layout.format)), target.profile);
    }
    return false;
}

/// Every arrangement, whichever the target prefers: --plan-as may ask for another.
void add_weights(Cases& cases, const PlanTarget& target) {
    for (uint32_t index = 0; index < format_count; ++index) {
        for (const Arrangement arrangement : {Arrangement::rows, Arrangement::lanes, Arrangement::tiles}) {
            const Layout layout{.format = static_cast<Format>(index), .arrangement = arrangement};
            if (layout.format != Format::f32 || arrangement != Arrangement::tiles)
                add_embed(cases, layout);
            if (!is_possible(target, layout))
                continue;
            for (const uint32_t rows : {1024U, width}) { // few and many, as linear_plan sees them
                for (const uint32_t count : {1U, 2U, 4U, 8U})
                    add_linear(cases, layout, rows, RowPath::decode, count);
                add_linear(cases, layout, rows, RowPath::prefill, batch_rows_max);
            }
            if (arrangement == Arrangement::tiles) {
                for (const uint32_t count : {batch_rows_max, 2 * batch_rows_max}) // the largest tiles of sums
                    add_linear(cases, layout, 4 * width, RowPath::prefill, count);
                add_linear_stack(cases, layout);
                for (const uint32_t count : {1U, 2U, 4U})
                    add_fused_linear(cases, layout, count);
                for (const uint32_t count : {1U, 2U, 4U}) {
                    if (target.profile.large_push_constants)
                        add_heads_linear(cases, layout, count);
                }
            }
            for (const uint32_t rows : {4U, 8U, 16U, 32U}) // 1, 2, 4, 8 pairs for each of 8 experts
                add_expert_linear(cases, layout, rows);
            if (arrangement != Arrangement::tiles) {
                for (const uint32_t rows : {1U, 2U, 4U, 8U})
                    add_heads_product(cases, layout, rows);
                continue;
            }
            for (const uint32_t rows : {1U, 4U, 8U, 16U}) // not grouped; 1, 2, 4 pairs
                add_expert_gate_up(cases, layout, rows);
            add_expert_down(cases, layout);
        }
    }
}

void add_halve(Cases& cases, const PlanTarget& target) {
    if (!reads_halves(target, width))
        return;
    cases.push_back({"halve", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         halve({library, recorder}, {.rows = activations(space, width), .count = 1});
                     }});
}

void add_experts(Cases& cases) {
    cases.push_back(
        {"experts", [](Library& library, vk::Recorder& recorder) {
             Space space;
             const ExpertRouting choice = expert_choice(space, 1);
             expert_route({library, recorder},
                          {.router = activations(space, choice.count), .choice = choice});
             Matrix router = matrix(space, {}, choice.count);
             if (expert_router_usable(library.target(), router)) {
                 for (const uint32_t rows : {1U, 2U, 4U}) {
                     expert_router({library, recorder}, {.weight = router,
                                                         .input = activations(space, width),
                                                         .router = activations(space, choice.count),
                                                         .choice = expert_choice(space, rows),
                                                         .counters = space.take()});
                 }
             }
             expert_group({library, recorder}, choice, {.range = space.take()});
             ExpertSum sum{
                 .input = activations(space, width), .output = activations(space, width), .choice = choice};
             expert_sum({library, recorder}, sum);
             sum.bias = space.take();
             expert_sum({library, recorder}, sum);
         }});
}

struct HeadShape {
    uint32_t head_dim = 0;
    uint32_t q_heads = 0;
    static constexpr uint32_t kv_heads = 8;
};

std::string_view name_of(CacheFormat format) {
    constexpr std::string_view names[] = {"f32", "f16", "q8_0"};
    return names[static_cast<size_t>(format)];
}

std::string name_of(CacheFormats formats) {
    return fmt::format("{} {}", name_of(formats.keys), name_of(formats.values));
}

LayerCache layer_cache(Space& space, CacheFormats formats, const HeadShape& heads) {
    return {.formats = formats,
            .kv_heads = HeadShape::kv_heads,
            .head_dim = heads.head_dim,
            .pages = context_tokens / page_tokens,
            .keys = space.take(),
            .values = space.take()};
}

void add_rotary_store(Cases& cases, CacheFormats formats, const HeadShape& heads, RotaryPairs pairs,
                      bool norms) {
    cases.push_back({fmt::format("rotary_store {}, heads of {}{}{}", name_of(formats), heads.head_dim,
                                 pairs == RotaryPairs::halves ? ", halves" : "", norms ? ", norms" : ""),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         RotaryStore operation{.rows = rows_of(space),
                                               .q = activations(space, heads.q_heads * heads.head_dim),
                                               .k = activations(space, HeadShape::kv_heads * heads.head_dim),
                                               .v = activations(space, HeadShape::kv_heads * heads.head_dim),
                                               .angles = space.take(),
                                               .cache = layer_cache(space, formats, heads),
                                               .tables = {space.take()},
                                               .q_heads = heads.q_heads,
                                               .rotated = heads.head_dim,
                                               .pairs = pairs};
                         if (norms) {
                             operation.q_norm = space.take();
                             operation.k_norm = space.take();
                         }
                         rotary_store({library, recorder}, operation);
                     }});
}

void add_attention(Cases& cases, CacheFormats formats, const HeadShape& heads, bool sinks = false) {
    cases.push_back({fmt::format("attention {}, heads of {}, {} to {}{}", name_of(formats), heads.head_dim,
                                 heads.q_heads, HeadShape::kv_heads, sinks ? ", sinks" : ""),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         Attention operation{.rows = rows_of(space),
                                             .q = activations(space, heads.q_heads * heads.head_dim),
                                             .output = activations(space, heads.q_heads * heads.head_dim),
                                             .cache = layer_cache(space, formats, heads),
                                             .tables = {space.take()},
                                             .q_heads = heads.q_heads,
                                             .attend_max = {.end = context_tokens, .keys = context_tokens},
                                             .partials = space.take(),
                                             .counters = space.take()};
                         if (sinks)
                             operation.sinks = space.take();
                         for (const RowPath path : {RowPath::prefill, RowPath::decode}) {
                             operation.path = path;
                             attention({library, recorder}, operation);
                         }
                         operation.halves = attention_writes_halves(library.target(), operation.shape());
                         if (operation.halves) {
                             attention({library, recorder}, operation);
                         }
                         attention_merge({library, recorder}, operation);
                     }});
}

/// DeepSeek-V3's heads, and DeepSeek-V2-Lite's.
void add_latents(Cases& cases, CacheFormat format, uint32_t q_heads) {
    cases.push_back({fmt::format("latent attention {}, {} heads", name_of(format), q_heads),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         constexpr uint32_t latent_dim = 512;
                         constexpr uint32_t rotated = 64;
                         constexpr uint32_t unrotated = 128;
                         const LayerCache cache{.formats = {format, format},
                                                .kv_heads = 1,
                                                .head_dim = latent_dim + rotated,
                                                .pages = context_tokens / page_tokens,
                                                .keys = space.take(),
                                                .latent_dim = latent_dim};
                         Attention operation{.rows = rows_of(space),
                                             .q = activations(space, q_heads * cache.head_dim),
                                             .output = activations(space, q_heads * latent_dim),
                                             .cache = cache,
                                             .tables = {space.take()},
                                             .q_heads = q_heads,
                                             .attend_max = {.end = context_tokens, .keys = context_tokens},
                                             .partials = space.take(),
                                             .counters = space.take()};
                         latent_store({library, recorder},
                                      {.rows = operation.rows,
                                       .q = activations(space, q_heads * (unrotated + rotated)),
                                       .output = operation.q,
                                       .kv = activations(space, cache.head_dim),
                                       .norm = space.take(),
                                       .angles = space.take(),
                                       .cache = cache,
                                       .tables = operation.tables,
                                       .q_heads = q_heads,
                                       .unrotated = unrotated,
                                       .rotated = rotated});
                         for (const RowPath path : {RowPath::prefill, RowPath::decode}) {
                             operation.path = path;
                             attention({library, recorder}, operation);
                         }
                         attention_merge({library, recorder}, operation);
                     }});
}

void add_heads(Cases& cases) {
    constexpr CacheFormats all[] = {{CacheFormat::f32, CacheFormat::f32},
                                    {CacheFormat::f16, CacheFormat::f16},
                                    {CacheFormat::q8_0, CacheFormat::q8_0},
                                    {CacheFormat::q8_0, CacheFormat::f16},
                                    {CacheFormat::f16, CacheFormat::q8_0}};
    for (const CacheFormat format : {CacheFormat::f32, CacheFormat::f16, CacheFormat::q8_0}) {
        for (const uint32_t q_heads : {16U, 128U})
            add_latents(cases, format, q_heads);
    }
    for (const CacheFormats& formats : all) {
        add_attention(cases, formats, {.head_dim = 64, .q_heads = 8 * HeadShape::kv_heads}, true);
        for (const uint32_t head_dim : {64U, 128U, 256U}) {
            for (const uint32_t group : {1U, 4U, 8U})
                add_attention(cases, formats, {.head_dim = head_dim, .q_heads = group * HeadShape::kv_heads});
            for (const RotaryPairs pairs : {RotaryPairs::adjacent, RotaryPairs::halves}) {
                for (const bool norms : {false, true})
                    add_rotary_store(cases, formats, {.head_dim = head_dim, .q_heads = 32}, pairs, norms);
            }
        }
    }
}

void add_gate_multiply(Cases& cases, Gate gate, bool biases, bool halves = false) {
    constexpr std::string_view names[] = {"silu", "gelu", "clamped silu", "sigmoid", "relu"};
    cases.push_back({fmt::format("gate_multiply {}{}{}", names[static_cast<size_t>(gate)],
                                 biases ? ", biases" : "", halves ? ", halves" : ""),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         GateMultiply operation{.gate = activations(space, width),
                                                .up = activations(space, width),
                                                .count = 1,
                                                .kind = gate,
                                                .halves = halves};
                         if (biases) {
                             operation.biases = GateBiases{.gate = space.take(),
                                                           .up = space.take(),
                                                           .experts = space.take(),
                                                           .expert_count = 8};
                         }
                         gate_multiply({library, recorder}, operation);
                     }});
}

void add_elementwise(Cases& cases, const PlanTarget& target) {
    for (const bool halves : {false, true}) {
        if (halves && !reads_halves(target, width))
            continue;
        cases.push_back(
            {halves ? "rms_norm, halves" : "rms_norm", [=](Library& library, vk::Recorder& recorder) {
                 Space space;
                 rms_norm({library, recorder}, {.input = activations(space, width),
                                                .output = activations(space, width),
                                                .weight = space.take(),
                                                .count = 1,
                                                .halves = halves});
             }});
    }
    for (const Gate gate : {Gate::silu, Gate::gelu, Gate::clamped_silu, Gate::sigmoid, Gate::relu})
        add_gate_multiply(cases, gate, false);
    add_gate_multiply(cases, Gate::clamped_silu, true);
    if (reads_halves(target, width))
        add_gate_multiply(cases, Gate::silu, false, true);
    cases.push_back({"soft_cap", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         soft_cap({library, recorder},
                                  {.values = activations(space, width), .count = 1, .cap = 30});
                     }});
}

void add_suppress(Cases& cases) {
    cases.push_back({"suppress", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         constexpr std::array<uint32_t, 2> ids{5, 6};
                         suppress({library, recorder},
                                  {.logits = activations(space, width), .count = 1, .ids = ids});
                     }});
}

Sequences one_sequence(Space& space) {
    return {.infos = space.take(), .count = 1, .rows = 1};
}

/// A layer of Granite 4 H Tiny.
void add_mamba2(Cases& cases) {
    constexpr Mamba2Shape shape{.heads = 48, .groups = 1, .head_dim = 64, .state_dim = 128};
    cases.push_back({"mamba2", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         mamba2({library, recorder},
                                {.sequences = one_sequence(space),
                                 .shape = shape,
                                 .xbc = activations(space, shape.xbc_columns()),
                                 .dt = activations(space, shape.heads),
                                 .decay = space.take(),
                                 .dt_bias = space.take(),
                                 .skip = space.take(),
                                 .states = {.states = space.take(), .pending = space.take(), .slots = 1},
                                 .output = activations(space, shape.output_columns())});
                     }});
}

/// Qwen3.5-35B-A3B's layer.
void add_delta_net(Cases& cases) {
    constexpr DeltaShape shape{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
    cases.push_back({"short_convolution", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         short_convolution({library, recorder},
                                           {.sequences = one_sequence(space),
                                            .input = activations(space, shape.qkv_columns()),
                                            .output = activations(space, shape.qkv_columns()),
                                            .weight = space.take(),
                                            .ring = {.range = space.take(), .slots = 1, .length = 16}});
                     }});
    cases.push_back({"delta_net", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         delta_net({library, recorder},
                                   {.sequences = one_sequence(space),
                                    .shape = shape,
                                    .qkv = activations(space, shape.qkv_columns()),
                                    .a = {.rows = activations(space, shape.value_heads)},
                                    .b = {.rows = activations(space, shape.value_heads)},
                                    .decay = space.take(),
                                    .dt_bias = space.take(),
                                    .states = {.states = space.take(), .pending = space.take(), .slots = 1},
                                    .output = activations(space, shape.output_columns())});
                     }});
    cases.push_back({"gated_rms_norm", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         gated_rms_norm({library, recorder},
                                        {.values = activations(space, shape.output_columns()),
                                         .gate = activations(space, shape.output_columns()),
                                         .weight = space.take(),
                                         .head_dim = shape.value_dim,
                                         .count = 1});
                     }});
}

/// Gemma 3n.
void add_altup(Cases& cases) {
    cases.push_back({"altup", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const AltUp operation{.active = activations(space, width),
                                               .streams = activations(space, width),
                                               .prediction = activations(space, width),
                                               .count = 1,
                                               .inputs = 4,
                                               .router = space.take(),
                                               .norm = space.take(),
                                               .coefficients = space.take()};
                         altup_predict({library, recorder}, operation);
                         altup_correct({library, recorder}, operation, space.take(),
                                       activations(space, width));
                     }});
    cases.push_back({"match_rms", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         match_rms({library, recorder}, {.input = activations(space, width),
                                                         .target = activations(space, width),
                                                         .output = activations(space, width),
                                                         .count = 1});
                     }});
    cases.push_back({"statistical_top_k", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         statistical_top_k({library, recorder},
                                           {.values = activations(space, width), .count = 1});
                     }});
}

void add_sample(Cases& cases) {
    cases.push_back({"sample", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const Sample operation{.logits = activations(space, 32000),
                                                .count = 1,
                                                .infos = space.take(),
                                                .slots = space.take(),
                                                .partials = space.take(),
                                                .results = space.take()};
                         sample_partial({library, recorder}, operation);
                         sample_finish({library, recorder}, operation);
                     }});
}

void add_rates(Cases& cases, const PlanTarget& target) {
    for (const RateUnits units : {RateUnits::arithmetic, RateUnits::matrix}) {
        if (units == RateUnits::matrix && !usable(shaders::matrix_rate(), target.profile))
            continue;
        cases.push_back({units == RateUnits::matrix ? "matrix_rate" : "arithmetic_rate",
                         [=](Library& library, vk::Recorder& recorder) {
                             Space space;
                             rate({library, recorder}, {.units = units, .output = space.take()});
                         }});
    }
}

} // namespace

std::vector<OperationCase> every_operation(const PlanTarget& target) {
    Cases cases;
    add_weights(cases, target);
    add_halve(cases, target);
    add_experts(cases);
    add_heads(cases);
    add_elementwise(cases, target);
    add_suppress(cases);
    add_mamba2(cases);
    add_delta_net(cases);
    add_altup(cases);
    add_sample(cases);
    add_rates(cases, target);
    return cases;
}

} // namespace etna::bench
