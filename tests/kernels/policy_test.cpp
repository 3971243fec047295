#include "core/kernels/kernel_choices.hpp"
#include "core/kernels/policy.hpp"
#include "tests/support/catch.hpp"

using namespace etna;
using namespace etna::kernels;

namespace {

PlanTarget target(PlanFamily family, uint32_t subgroup, bool arithmetic = true) {
    vk::DeviceProfile profile;
    profile.subgroup_arithmetic = arithmetic;
    profile.subgroup_size = profile.subgroup_size_min = profile.subgroup_size_max = subgroup;
    profile.workgroup_invocations_max = 1024;
    return {.family = family, .profile = profile};
}

} // namespace

TEST_CASE("the name of a family parses to the family") {
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel, PlanFamily::lavapipe})
        REQUIRE(plan_family_named(to_string(family)) == family);
    REQUIRE_FALSE(plan_family_named("voodoo").has_value());
}

TEST_CASE("lavapipe kernels need subgroups of eight; other CPU devices get the plain ones") {
    vk::DeviceProfile profile;
    profile.type = vk::DeviceType::cpu;
    profile.vendor = vk::Vendor::lavapipe;
    profile.subgroup_arithmetic = true;
    profile.subgroup_size = profile.subgroup_size_min = profile.subgroup_size_max = 8;
    REQUIRE(natural_family(profile) == PlanFamily::lavapipe);
    profile.subgroup_size = profile.subgroup_size_min = 4;
    REQUIRE(natural_family(profile) == PlanFamily::nvidia);
    REQUIRE(exact_arrangement({PlanFamily::lavapipe, profile}, Format::f16) == Arrangement::rows);
}

TEST_CASE("a device without subgroup arithmetic reduces in shared memory, under every family") {
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel, PlanFamily::lavapipe}) {
        const ReducePlan plan =
            reduce_plan(target(family, 32, false), shaders::rms_norm(shaders::Reduce::subgroup));
        REQUIRE(plan.reduce == shaders::Reduce::shared);
        REQUIRE((plan.workgroup & (plan.workgroup - 1)) == 0); // the tree halves it
        REQUIRE(plan.one_subgroup == 0);
    }
}

TEST_CASE("the linear plan has the same kernel and order of sums for any number of rows") {
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel, PlanFamily::lavapipe}) {
        PlanTarget plan_target = target(family, 8);
        plan_target.profile.shader_float16 = plan_target.profile.shader_int64 = true;
        const Layout layout{Format::q8_0, matrix_arrangement(plan_target, Format::q8_0, 512)};
        CHECK((layout.arrangement == Arrangement::tiles) == (family != PlanFamily::lavapipe));
        for (const auto path : {RowPath::prefill, RowPath::decode}) {
            const LinearPlan one = linear_plan(plan_target, layout, 4096, 512, path, 1).value();
            for (const uint32_t count : {2U, 3U, 8U, 9U, 500U}) {
                const LinearPlan many = linear_plan(plan_target, layout, 4096, 512, path, count).value();
                REQUIRE(many.kernel == one.kernel);
                REQUIRE((many.workgroup == one.workgroup && many.parts == one.parts));
                REQUIRE(many.reduce == one.reduce);
            }
        }
    }
}

TEST_CASE("weights in lanes arrangement are refused if no kernel can read them") {
    const auto plan = linear_plan(target(PlanFamily::nvidia, 4), {Format::f16, Arrangement::lanes}, 64, 64,
                                  RowPath::decode, 1);
    REQUIRE(plan.error().kind == ErrorKind::unsupported);
}

TEST_CASE("an attention workgroup serves a divisor of the group, with queries of at most 8 KiB") {
    for (const uint32_t group : {1U, 2U, 3U, 4U, 6U, 7U, 8U, 16U}) {
        for (const uint32_t head_dim : {2U, 64U, 80U, 128U, 256U, 512U}) {
            const AttentionShape shape{.q_heads = group * 4, .kv_heads = 4, .head_dim = head_dim};
            const AttentionPlan plan = attention_plan(target(PlanFamily::amd, 64), shape, RowPath::prefill);
            REQUIRE(plan.kernel == AttentionKernel::general);
            REQUIRE(group % plan.heads == 0);
            REQUIRE(plan.heads * head_dim <= 2048);
        }
    }
}

TEST_CASE("GPUs decode common head sizes over a cache in f16 with the decode kernel") {
    constexpr CacheFormats q8_0{CacheFormat::q8_0, CacheFormat::f16};
    const auto kernel_of = [](PlanFamily family, const AttentionShape& shape, RowPath path) {
        return attention_plan(target(family, 8), shape, path).kernel;
    };
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel}) {
        for (const uint32_t head_dim : {64U, 128U, 256U}) {
            const AttentionShape shape{.q_heads = 8, .kv_heads = 4, .head_dim = head_dim};
            CHECK(kernel_of(family, shape, RowPath::decode) == AttentionKernel::decode);
            CHECK(kernel_of(family, shape, RowPath::prefill) == AttentionKernel::general);
        }
        CHECK(kernel_of(family, {.q_heads = 8, .kv_heads = 4, .head_dim = 80}, RowPath::decode) ==
              AttentionKernel::general);
        CHECK(kernel_of(family, {.q_heads = 8, .kv_heads = 4, .head_dim = 64, .formats = q8_0},
                        RowPath::decode) == AttentionKernel::general);
    }
    CHECK(kernel_of(PlanFamily::lavapipe, {.q_heads = 8, .kv_heads = 4, .head_dim = 64}, RowPath::decode) ==
          AttentionKernel::general);
    PlanTarget small = target(PlanFamily::nvidia, 32); // heads of 256 need workgroups of 256
    small.profile.workgroup_invocations_max = 128;
    const AttentionShape large{.q_heads = 8, .kv_heads = 4, .head_dim = 256};
    CHECK(attention_plan(small, large, RowPath::decode).kernel == AttentionKernel::general);
}

namespace {

/// A GPU with matrix units and 48 KiB of shared memory.
PlanTarget matrix_target(PlanFamily family, uint32_t subgroup, vk::MatrixShape shape) {
    PlanTarget gpu = target(family, subgroup);
    gpu.profile.cooperative_matrix = gpu.profile.shader_float16 = gpu.profile.subgroup_shuffle = true;
    gpu.profile.matrix_shape = shape;
    gpu.profile.shared_bytes = 49152;
    return gpu;
}

} // namespace

TEST_CASE("matrix units attend for prompts with heads that their matrices divide") {
    if (shaders::code(shaders::attention_prompt()).words.empty())
        return; // built by an older glslang
    const auto kernel_of = [](const PlanTarget& gpu, const AttentionShape& shape, RowPath path) {
        return attention_plan(gpu, shape, path).kernel;
    };
    const AttentionShape usual{.q_heads = 32, .kv_heads = 8, .head_dim = 128};
    const PlanTarget gpu = matrix_target(PlanFamily::nvidia, 32, {16, 16, 16});
    CHECK(kernel_of(gpu, usual, RowPath::prefill) == AttentionKernel::prompt);
    CHECK(kernel_of(gpu, usual, RowPath::decode) == AttentionKernel::decode);
    AttentionShape shape = usual;
    for (const uint32_t head_dim : {64U, 80U, 96U, 256U}) {
        shape.head_dim = head_dim;
        CHECK(kernel_of(gpu, shape, RowPath::prefill) == AttentionKernel::prompt);
    }
    for (const uint32_t head_dim : {72U, 18U, 512U}) {
        shape.head_dim = head_dim;
        CHECK(kernel_of(gpu, shape, RowPath::prefill) == AttentionKernel::general);
    }
    shape = usual;
    shape.formats = {CacheFormat::q8_0, CacheFormat::f16};
    CHECK(kernel_of(gpu, shape, RowPath::prefill) == AttentionKernel::prompt);
    shape.formats = {CacheFormat::f16, CacheFormat::f32};
    CHECK(kernel_of(gpu, shape, RowPath::prefill) == AttentionKernel::general);
    shape = {.q_heads = 65, .kv_heads = 1, .head_dim = 128}; // more heads than a workgroup has rows
    CHECK(kernel_of(gpu, shape, RowPath::prefill) == AttentionKernel::general);
    PlanTarget other = gpu;
    other.family = PlanFamily::lavapipe;
    CHECK(kernel_of(other, usual, RowPath::prefill) == AttentionKernel::general);
    other.untrusted.add(shaders::attention());
    CHECK(kernel_of(other, usual, RowPath::prefill) == AttentionKernel::prompt);
    other = gpu;
    other.untrusted.add(shaders::attention_prompt());
    CHECK(kernel_of(other, usual, RowPath::prefill) == AttentionKernel::general);
    other = gpu;
    other.profile.cooperative_matrix = false;
    CHECK(kernel_of(other, usual, RowPath::prefill) == AttentionKernel::general);
}

TEST_CASE("tiles of sums suit rows and columns, matrices, registers and shared memory") {
    if (shaders::code(shaders::matrix_tiles(shaders::Format::q4_k)).words.empty())
        return; // built by an older glslang
    const Layout tiles{Format::q4_k, Arrangement::tiles};
    const auto plan_of = [&](const PlanTarget& gpu, uint32_t rows, uint32_t count) {
        return linear_plan(gpu, tiles, rows, 4096, RowPath::prefill, count).value();
    };
    const auto has_tile = [&](const PlanTarget& gpu, uint32_t rows, uint32_t count, uint32_t tile_rows,
                              uint32_t tile_columns) {
        const LinearPlan plan = plan_of(gpu, rows, count);
        return plan.kernel == LinearKernel::matrix_tiles && plan.rows_each == tile_rows &&
               plan.columns_each == tile_columns;
    };
    PlanTarget gpu = matrix_target(PlanFamily::nvidia, 32, {16, 16, 16});
    gpu.profile.shader_int64 = true;
    CHECK(has_tile(gpu, 14336, 512, 128, 128));
    CHECK(has_tile(gpu, 14336, 65, 128, 64));  // 112 workgroups of the largest do not fill a device
    CHECK(has_tile(gpu, 1024, 512, 128, 128)); // 32 workgroups for each of four parts of k
    CHECK(has_tile(gpu, 512, 512, 128, 64));
    CHECK(has_tile(gpu, 256, 512, 64, 64));
    CHECK(has_tile(gpu, 128256, 17, 64, 32));
    CHECK(plan_of(gpu, 14336, 512).workgroup == 128);
    CHECK(plan_of(gpu, 14336, 512).splits == 1);
    for (const uint32_t count : {1U, 512U, 4096U}) // by the shape alone
        CHECK(plan_of(gpu, 4096, count).splits == 2);
    CHECK(linear_plan(gpu, tiles, 4096, 14336, RowPath::prefill, 512).value().splits == 4);
    CHECK(linear_plan(gpu, tiles, 256, 1792, RowPath::prefill, 512).value().splits == 1);
    CHECK(prompts_read_packed(gpu));

    PlanTarget other = gpu;
    other.profile.shared_bytes = 32768;
    CHECK(has_tile(other, 14336, 512, 128, 64));
    other = gpu;
    other.profile.matrix_shape = {8, 8, 8}; // at most four by four matrices
    CHECK(has_tile(other, 14336, 512, 64, 64));
    other = gpu;
    other.untrusted.add(shaders::matrix_tiles(shaders::Format::q4_k));
    CHECK(plan_of(other, 14336, 512).kernel == LinearKernel::prompt);
    other = gpu;
    other.profile.matrix_shape = {};
    CHECK(plan_of(other, 14336, 512).kernel == LinearKernel::prompt);
    CHECK_FALSE(prompts_read_packed(other));
    CHECK(linear_plan(gpu, tiles, 14336, 4096, RowPath::prefill, 512, OperandPrecision::f32).value().kernel ==
          LinearKernel::prompt);
}

TEST_CASE("sizes of attention for prompts fit subgroups, matrices, registers and shared memory") {
    if (shaders::code(shaders::attention_prompt()).words.empty())
        return; // built by an older glslang
    struct Gpu {
        PlanFamily family;
        uint32_t subgroup_min;
        uint32_t subgroup_max;
        vk::MatrixShape shape;
        uint32_t subgroup; ///< expected
    };
    for (const Gpu& one :
         {Gpu{PlanFamily::nvidia, 32, 32, {16, 16, 16}, 32}, Gpu{PlanFamily::nvidia, 32, 32, {16, 8, 16}, 32},
          Gpu{PlanFamily::amd, 32, 64, {16, 16, 16}, 64}, Gpu{PlanFamily::amd, 32, 32, {16, 16, 16}, 32},
          Gpu{PlanFamily::intel, 16, 32, {8, 16, 16}, 16}, Gpu{PlanFamily::intel, 8, 32, {8, 8, 16}, 16},
          Gpu{PlanFamily::nvidia, 8, 8, {8, 8, 8}, 8}}) {
        for (const uint32_t shared_bytes : {32768U, 49152U, 65536U}) {
            for (const uint32_t head_dim : {64U, 80U, 96U, 128U, 256U}) {
                for (const uint32_t group : {1U, 4U, 7U, 16U}) {
                    PlanTarget gpu = matrix_target(one.family, one.subgroup_min, one.shape);
                    gpu.profile.subgroup_size_max = one.subgroup_max;
                    gpu.profile.shared_bytes = shared_bytes;
                    const AttentionPlan plan = attention_plan(
                        gpu, {.q_heads = 2 * group, .kv_heads = 2, .head_dim = head_dim}, RowPath::prefill);
                    REQUIRE(plan.kernel == AttentionKernel::prompt);
                    CHECK(plan.subgroup == one.subgroup);
                    CHECK(plan.heads == group);
                    CHECK(plan.blocks * plan.held <= 128);
                    CHECK(plan.tile == (head_dim > 128 ? 16 : 32));
                    CHECK(plan.rows_each() * group <=
                          plan.workgroup / plan.subgroup * plan.blocks * one.shape.rows);
                }
            }
        }
    }
    PlanTarget small = matrix_target(PlanFamily::nvidia, 32, {16, 16, 16});
    const AttentionShape usual{.q_heads = 32, .kv_heads = 8, .head_dim = 128};
    small.profile.shared_bytes = 16384;
    CHECK(attention_plan(small, usual, RowPath::prefill).tile == 16);
    small.profile.shared_bytes = 8192;
    CHECK(attention_plan(small, usual, RowPath::prefill).kernel == AttentionKernel::general);
}

TEST_CASE("a workgroup over latents serves up to eight heads, as shared memory allows") {
    const auto plan = [](PlanFamily family, uint32_t heads, uint32_t shared_bytes) {
        PlanTarget some = target(family, 32);
        some.profile.shared_bytes = shared_bytes;
        const AttentionShape shape{.q_heads = heads, .kv_heads = 1, .head_dim = 576, .latent_dim = 512};
        const AttentionPlan prompt = attention_plan(some, shape, RowPath::prefill);
        CHECK(prompt == attention_plan(some, shape, RowPath::decode));
        CHECK(prompt.kernel == AttentionKernel::general);
        return prompt;
    };
    CHECK(plan(PlanFamily::nvidia, 128, 32768).heads == 8);
    CHECK(plan(PlanFamily::amd, 16, 32768).heads == 8);
    CHECK(plan(PlanFamily::amd, 20, 32768).heads == 5);
    CHECK(plan(PlanFamily::intel, 16, 16384).heads == 4);
    CHECK(plan(PlanFamily::nvidia, 1, 32768).heads == 1);
    CHECK(plan(PlanFamily::lavapipe, 16, 32768).heads == 2);
}

TEST_CASE("an untrusted attention kernel is replaced on decode rows if the other one is trusted") {
    constexpr AttentionShape shape{.q_heads = 8, .kv_heads = 4, .head_dim = 128};
    PlanTarget gpu = target(PlanFamily::amd, 64);
    gpu.untrusted.add(shaders::attention_decode());
    CHECK(attention_plan(gpu, shape, RowPath::decode).kernel == AttentionKernel::general);
    gpu.untrusted.add(shaders::attention()); // then none is right
    CHECK(attention_plan(gpu, shape, RowPath::decode).kernel == AttentionKernel::general);
    PlanTarget cpu = target(PlanFamily::lavapipe, 8);
    cpu.untrusted.add(shaders::attention());
    CHECK(attention_plan(cpu, shape, RowPath::decode).kernel == AttentionKernel::decode);
}

TEST_CASE("a workgroup of the decode kernel serves 1, 2 or 4 heads of a group, as shared memory allows") {
    const auto heads_of = [](PlanFamily family, uint32_t group, uint32_t head_dim, uint32_t shared_bytes) {
        PlanTarget gpu = target(family, 32);
        gpu.profile.shared_bytes = shared_bytes;
        const AttentionShape shape{.q_heads = 2 * group, .kv_heads = 2, .head_dim = head_dim};
        return attention_plan(gpu, shape, RowPath::decode).heads;
    };
    constexpr uint32_t shared_bytes = 49152;
    for (const uint32_t group : {1U, 3U, 7U})
        CHECK(heads_of(PlanFamily::nvidia, group, 128, shared_bytes) == 1);
    CHECK(heads_of(PlanFamily::nvidia, 6, 128, shared_bytes) == 2);
    CHECK(heads_of(PlanFamily::nvidia, 8, 128, shared_bytes) == 4);
    CHECK(heads_of(PlanFamily::nvidia, 8, 256, shared_bytes) == 4);
    CHECK(heads_of(PlanFamily::nvidia, 8, 256, 32768) == 2);
    for (const auto family : {PlanFamily::amd, PlanFamily::intel}) {
        CHECK(heads_of(family, 8, 64, shared_bytes) == 4);
        CHECK(heads_of(family, 8, 128, shared_bytes) == 2);
    }
    CHECK(heads_of(PlanFamily::nvidia, 8, 128, 16384) == 2); // what every Vulkan device has
    CHECK(heads_of(PlanFamily::nvidia, 8, 256, 16384) == 1);
}

TEST_CASE(
    "a row has at most 64 KV splits in the decode kernel, of a tile or the least power of two of tiles") {
    CHECK(decode_kv_split_tokens(1) == 64);
    CHECK(decode_kv_split_tokens(4096) == 64);
    CHECK(decode_kv_split_tokens(4097) == 128);
    CHECK(decode_kv_split_tokens(8192) == 128);
    CHECK(decode_kv_split_tokens(8193) == 256);
    CHECK(decode_kv_split_tokens(1U << 26) == 1U << 20);
}

TEST_CASE("an untrusted kernel is replaced by the next, for any number of rows") {
    constexpr auto q4_0 = shaders::Format::q4_0;
    constexpr Layout rows{Format::q4_0, Arrangement::rows};
    const auto plans = [&](const PlanTarget& plan_target, RowPath path) {
        const LinearPlan one = linear_plan(plan_target, rows, 4096, 4096, path, 1).value();
        for (const uint32_t count : {2U, 9U, 500U}) {
            const LinearPlan many = linear_plan(plan_target, rows, 4096, 4096, path, count).value();
            REQUIRE((many.kernel == one.kernel && many.reduce == one.reduce));
        }
        return linear_variant(one, rows);
    };
    PlanTarget gpu = target(PlanFamily::nvidia, 32);
    gpu.untrusted.add(shaders::linear_prompt(q4_0, shaders::Arrangement::rows));
    CHECK(plans(gpu, RowPath::prefill) == shaders::linear_rows(q4_0, shaders::Reduce::subgroup));
    gpu.untrusted.add(shaders::linear_rows(q4_0, shaders::Reduce::subgroup));
    CHECK(plans(gpu, RowPath::prefill) == shaders::linear_rows(q4_0, shaders::Reduce::shared));
    CHECK(plans(gpu, RowPath::decode) == shaders::linear_rows(q4_0, shaders::Reduce::shared));

    PlanTarget without_rows = target(PlanFamily::amd, 64);
    without_rows.untrusted.add(shaders::linear_rows(q4_0, shaders::Reduce::subgroup));
    without_rows.untrusted.add(shaders::linear_rows(q4_0, shaders::Reduce::shared));
    CHECK(plans(without_rows, RowPath::decode) == shaders::linear_prompt(q4_0, shaders::Arrangement::rows));

    // Only this format and this shader.
    CHECK(linear_plan(gpu, {Format::q4_1, Arrangement::rows}, 64, 64, RowPath::prefill, 1).value().kernel ==
          LinearKernel::prompt);
    CHECK(reduce_plan(gpu, shaders::rms_norm(shaders::Reduce::subgroup)).reduce == shaders::Reduce::subgroup);
    gpu.untrusted.add(shaders::rms_norm(shaders::Reduce::subgroup));
    const ReducePlan shared = reduce_plan(gpu, shaders::rms_norm(shaders::Reduce::subgroup));
    CHECK((shared.reduce == shaders::Reduce::shared && shared.one_subgroup == 0));
}

TEST_CASE("a format does not use the lanes arrangement if any of its lanes kernels is untrusted") {
    using shaders::Format::q6_k;
    for (const auto wrong : {shaders::linear_lanes(q6_k), shaders::expert_lanes(q6_k),
                             shaders::embed(q6_k, shaders::Arrangement::lanes)}) {
        PlanTarget cpu = target(PlanFamily::lavapipe, 8);
        CHECK(matrix_arrangement(cpu, Format::q6_k, 256) == Arrangement::lanes);
        cpu.untrusted.add(wrong);
        CHECK(matrix_arrangement(cpu, Format::q6_k, 256) == Arrangement::rows);
        CHECK(matrix_arrangement(cpu, Format::q5_k, 256) == Arrangement::lanes);
        for (const KernelUse& use : kernel_uses(cpu))
            CHECK(use.variant != wrong);
    }
}

TEST_CASE("a matrix is tiled if all of its kernels run and are trusted and its width fits") {
    using shaders::Format::q6_k;
    PlanTarget gpu = target(PlanFamily::amd, 64);
    CHECK(matrix_arrangement(gpu, Format::q6_k, 256) == Arrangement::rows);
    gpu.profile.shader_float16 = gpu.profile.shader_int64 = true;
    CHECK(matrix_arrangement(gpu, Format::q6_k, 512) == Arrangement::tiles);
    CHECK(matrix_arrangement(gpu, Format::f32, 512) == Arrangement::rows);
    CHECK(matrix_arrangement(gpu, Format::q8_0, 576) == Arrangement::rows);
    CHECK(exact_arrangement(gpu, Format::q6_k) == Arrangement::rows);
    CHECK(reads_packed(gpu, 512));
    CHECK_FALSE(reads_packed(target(PlanFamily::amd, 64), 512)); // nothing would read them
    CHECK(stack_arrangement(gpu, Format::mxfp4, 512) == Arrangement::tiles);
    CHECK(stack_arrangement(gpu, Format::mxfp4, 2880) == Arrangement::rows);
    CHECK(stack_arrangement(gpu, Format::f32, 512) == Arrangement::rows);
    for (const auto wrong : {shaders::expert_tiles(q6_k), shaders::expert_down(q6_k)}) {
        PlanTarget faulty = gpu;
        faulty.untrusted.add(wrong);
        CHECK(stack_arrangement(faulty, Format::q6_k, 512) == Arrangement::rows);
        CHECK(matrix_arrangement(faulty, Format::q6_k, 512) == Arrangement::tiles);
    }
    for (const uint32_t invocations : {128U, 256U, 1024U}) {
        PlanTarget limited = gpu;
        limited.profile.workgroup_invocations_max = invocations;
        for (const uint32_t columns : {256U, 4096U, 28672U}) {
            const Layout tiles{Format::q6_k, Arrangement::tiles};
            const LinearPlan plan = linear_plan(limited, tiles, 4096, columns, RowPath::decode, 1).value();
            CHECK(plan.workgroup <= invocations);
            CHECK(plan.workgroup % (8 * plan.parts) == 0);
        }
    }
    for (const auto wrong :
         {shaders::linear_tiles(q6_k), shaders::linear_prompt(q6_k, shaders::Arrangement::tiles),
          shaders::embed(q6_k, shaders::Arrangement::tiles), shaders::pack()}) {
        PlanTarget faulty = gpu;
        faulty.untrusted.add(wrong);
        CHECK(matrix_arrangement(faulty, Format::q6_k, 512) == Arrangement::rows);
    }
}

TEST_CASE("a device is refused only if no kernel can replace a wrong one that the model needs") {
    // A dense model with a table in F16 and matrices in Q8_0.
    const NeededKernels needed = [](const PlanTarget& planned) -> Result<VariantSet> {
        VariantSet variants;
        for (const KernelUse& use : kernel_uses(planned)) {
            const bool is_table = use.operation->name == "embed";
            const Format format = is_table ? Format::f16 : Format::q8_0;
            const bool is_of_experts = use.operation->name.starts_with("expert_");
            if (!is_of_experts && (!use.layout || use.layout->format == format))
                variants.add(use.variant);
        }
        return variants;
    };
    PlanTarget gpu = target(PlanFamily::nvidia, 32);
    gpu.profile.name = "Example GPU";
    gpu.profile.driver = "example 1.2";
    gpu.untrusted.add(shaders::rms_norm(shaders::Reduce::subgroup));                              // replaced
    gpu.untrusted.add(shaders::linear_prompt(shaders::Format::q8_0, shaders::Arrangement::rows)); // replaced
    gpu.untrusted.add(shaders::embed(shaders::Format::q8_0, shaders::Arrangement::rows));
    gpu.untrusted.add(shaders::expert_sum()); // not asked for
    CHECK(require_trusted(gpu, needed).has_value());
    gpu.untrusted.add(shaders::embed(shaders::Format::f16, shaders::Arrangement::rows));
    const Status refused = require_trusted(gpu, needed);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().message ==
          "kernel embed_f16_rows computes wrongly on Example GPU (example 1.2), and no "
          "other kernel can replace it");
    CHECK(refused.error().hint.find("driver") != std::string::npos);
}

TEST_CASE("the name of a variant parses to the variant") {
    VariantSet all;
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        CHECK(variant_named(shaders::code(variant).name) == variant);
        all.add(variant);
    }
    CHECK(all.names().size() == shaders::variant_count);
    CHECK_FALSE(variant_named("linear_guess").has_value());
}

TEST_CASE("the list of chosen kernels names the selections of the plans, for every format") {
    const auto variant_of = [](const PlanTarget& plan_target, std::string_view operation) {
        std::string_view found;
        for (const ChosenKernel& one : chosen_kernels(plan_target)) {
            if (one.operation == operation) {
                REQUIRE(found.empty());
                found = one.variant;
            }
        }
        return found;
    };
    const PlanTarget gpu = target(PlanFamily::nvidia, 32);
    CHECK(variant_of(gpu, "linear q4_k, prefill") == "linear_prompt_q4_k_rows");
    CHECK(variant_of(gpu, "linear q4_k, decode") == "linear_rows_q4_k_subgroup");
    CHECK(variant_of(gpu, "embed f16") == "embed_f16_rows");
    CHECK(variant_of(target(PlanFamily::amd, 64, false), "rms_norm") == "rms_norm_shared");
    const PlanTarget cpu = target(PlanFamily::lavapipe, 8);
    for (uint32_t index = 0; index < format_count; ++index) {
        const std::string format(to_string(static_cast<Format>(index)));
        for (const char* path : {", prefill", ", decode"})
            CHECK(variant_of(cpu, "linear " + format + path) == "linear_lanes_" + format);
    }
}
