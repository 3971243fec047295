#include "tests/model/reference_models.hpp"

#include "tests/model/model_case.hpp"
#include "tests/support/vulkan.hpp"

namespace etna::test {

RandomModelOptions odd(RandomArchitecture architecture) {
    return {.architecture = architecture,
            .layers = 2,
            .embedding = 50,
            .heads = 6,
            .kv_heads = 2,
            .head_dim = 10,
            .feed_forward = 77,
            .vocabulary = 263,
            .tokenizer = RandomTokenizer::none};
}

namespace {

/// Head of models whose many random layers multiply each rounding to f16 on matrix units: with logits of the
/// default deviation (4), an input that rounds the other way in the twin moves log-probabilities by up to
/// 0.03.
float deep_head_scale() {
    return gpu().device.profile().cooperative_matrix ? 2 : RandomModelOptions().head_scale;
}

/// Rows that Q8_0 can store: multiples of 32 that are not powers of two.
RandomModelOptions blocks(RandomArchitecture architecture) {
    return {.architecture = architecture,
            .layers = 2,
            .embedding = 96,
            .heads = 4,
            .kv_heads = 1,
            .head_dim = 24,
            .feed_forward = 160,
            .vocabulary = 301,
            .matrices = WeightFormat::q8_0,
            .embedding_format = WeightFormat::q8_0,
            .head_format = WeightFormat::q8_0,
            .tokenizer = RandomTokenizer::none};
}

/// Heads of 24 in full layers and of 16 in windows, whose widths are multiples of 32.
RandomModelOptions gemma4_blocks() {
    RandomModelOptions options = blocks(RandomArchitecture::gemma4);
    options.kv_heads = 4;
    options.window_head_dim = 16;
    options.window_kv_heads = 2;
    options.rope_base = 1e6F;
    return options;
}

/// Every matrix of a layer in another format, in rows of a multiple of 256.
RandomModelOptions mixture(RandomArchitecture architecture) {
    using enum WeightFormat;
    return {.architecture = architecture,
            .layers = 2,
            .embedding = 256,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 64,
            .feed_forward = 512,
            .vocabulary = 301,
            .embedding_format = q6_k,
            .head_format = q5_k,
            .role_formats = {{"attn_q", q4_k},
                             {"attn_k", q5_k},
                             {"attn_v", q3_k},
                             {"attn_output", q2_k},
                             {"ffn_gate", iq4_xs},
                             {"ffn_up", q4_0},
                             {"ffn_down", iq4_nl}},
            .tokenizer = RandomTokenizer::none};
}

RandomModelOptions other_mixture() {
    using enum WeightFormat;
    RandomModelOptions options = mixture(RandomArchitecture::qwen3);
    options.embedding_format = q5_0;
    options.head_format = q6_k;
    options.role_formats = {{"attn_q", q4_1},   {"attn_k", q5_1}, {"attn_v", mxfp4}, {"attn_output", q5_0},
                            {"ffn_gate", q8_0}, {"ffn_up", q4_k}, {"ffn_down", q6_k}};
    return options;
}

Bytes with_formats(RandomModelOptions options, WeightFormat format) {
    options.matrices = format;
    options.embedding_format = format;
    options.head_format = format;
    return random_model(options);
}

/// Biases on q, k and v, and heads of which only the first part rotates.
Bytes biased_and_partly_rotated() {
    RandomModelOptions options = odd(RandomArchitecture::llama);
    options.matrices = WeightFormat::f16;
    GgufWriter writer = random_model_writer(options);
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
        for (const auto& [name, size] :
             {std::pair{"attn_q", 60U}, std::pair{"attn_k", 20U}, std::pair{"attn_v", 20U}}) {
            Bytes values;
            for (uint32_t i = 0; i < size; ++i)
                append(values, 0.25F * static_cast<float>(i % 7) - 0.75F);
            writer.add_tensor({"blk." + std::to_string(layer) + "." + name + ".bias", 0, {size}, values});
        }
    }
    Bytes bytes = writer.bytes();
    set_integer(bytes, "llama.rope.dimension_count", 6);
    return bytes;
}

} // namespace

std::vector<NamedModel> models() {
    using enum kernels::CacheFormat;
    const RandomModelOptions llama = odd(RandomArchitecture::llama);
    const RandomModelOptions qwen2 = odd(RandomArchitecture::qwen2);
    const RandomModelOptions qwen3 = odd(RandomArchitecture::qwen3);
    RandomModelOptions linear = llama;
    linear.rope_scaling = RopeScaling::linear;
    RandomModelOptions longrope = llama;
    longrope.rope_scaling = RopeScaling::longrope;
    RandomModelOptions llama3 = blocks(RandomArchitecture::llama);
    llama3.rope_scaling = RopeScaling::llama3;
    RandomModelOptions yarn = blocks(RandomArchitecture::qwen3);
    yarn.rope_scaling = RopeScaling::yarn;
    yarn.head = HeadKind::tied;
    RandomModelOptions yarn_qwen2 = yarn;
    yarn_qwen2.architecture = RandomArchitecture::qwen2;
    RandomModelOptions ministral = odd(RandomArchitecture::mistral3);
    ministral.rope_scaling = RopeScaling::yarn;
    ministral.yarn_log_multiplier = 0.7F;
    ministral.original_context = 20; // several periods
    ministral.temperature_scale = 0.3F;
    RandomModelOptions mistral = blocks(RandomArchitecture::mistral3);
    mistral.head = HeadKind::tied;
    RandomModelOptions smollm3 = odd(RandomArchitecture::smollm3);
    smollm3.layers = 5;
    RandomModelOptions deep_smollm3 = blocks(RandomArchitecture::smollm3);
    deep_smollm3.layers = 4;
    deep_smollm3.head = HeadKind::tied;
    RandomModelOptions granite = odd(RandomArchitecture::granite);
    granite.layers = 3;
    RandomModelOptions no_rotation = blocks(RandomArchitecture::granite);
    no_rotation.rotates = false;
    no_rotation.head = HeadKind::tied;
    no_rotation.residual_scale = no_rotation.embedding_scale = no_rotation.attention_scale = 0;
    no_rotation.logit_scale = 3;
    RandomModelOptions glm4 = odd(RandomArchitecture::glm4);
    glm4.rotated = 6;
    RandomModelOptions permuted_glm4 = blocks(RandomArchitecture::glm4);
    permuted_glm4.rotated = 12;
    permuted_glm4.coordinates = true;
    permuted_glm4.predicting_layers = 1;
    RandomModelOptions qwen3vl = blocks(RandomArchitecture::qwen3vl);
    qwen3vl.head = HeadKind::tied;
    RandomModelOptions tied = llama;
    tied.head = HeadKind::tied;
    return {
        {"llama F32", random_model(llama), f32},
        {"llama F16, linear scaling", with_formats(linear, WeightFormat::f16), f16},
        {"llama BF16, tied", with_formats(tied, WeightFormat::bf16), f32},
        {"llama Q8_0, llama3 scaling", random_model(llama3), f16},
        {"llama F32, LongRoPE", random_model(longrope), f32},
        {"llama F16, biases, partial rotation", biased_and_partly_rotated(), f32},
        {"qwen2 F32, biases", random_model(qwen2), f32},
        {"qwen2 Q8_0, tied, YaRN", random_model(yarn_qwen2), f16},
        {"qwen3 F32", random_model(qwen3), f16},
        {"qwen3 BF16", with_formats(qwen3, WeightFormat::bf16), f32},
        {"qwen3 Q8_0, tied, YaRN", random_model(yarn), f32},
        {"llama of a mixture of formats", random_model(mixture(RandomArchitecture::llama)), f32},
        {"qwen3 of another mixture", random_model(other_mixture()), f16},
        {"llama Q4_K, in tiles", random_model(tiled_model(RandomArchitecture::llama, WeightFormat::q4_k)),
         f32},
        {"qwen2 Q8_0, in tiles, biases",
         random_model(tiled_model(RandomArchitecture::qwen2, WeightFormat::q8_0)), f16},
        {"mistral3 F32, YaRN, temperature", random_model(ministral), f32},
        {"mistral3 Q8_0, tied", random_model(mistral), f16},
        {"smollm3 BF16, five layers", with_formats(smollm3, WeightFormat::bf16), f32},
        {"smollm3 Q8_0, tied, four layers", random_model(deep_smollm3), f16},
        {"granite F32, three layers", random_model(granite), f32},
        {"granite Q8_0, tied, no rotation", random_model(no_rotation), f16},
        {"glm4 F32", random_model(glm4), f32},
        {"glm4 Q8_0, coordinates, one more ignored", random_model(permuted_glm4), f16},
        {"qwen2vl F32", random_model(odd(RandomArchitecture::qwen2vl)), f32},
        {"qwen3vl Q8_0, tied", random_model(qwen3vl), f16},
    };
}

/// Windows of which the first ends within a page, the second at a page's end and one position beyond it.
std::vector<NamedModel> windowed_models() {
    using enum kernels::CacheFormat;
    RandomModelOptions long_phi3 = odd(RandomArchitecture::phi3);
    long_phi3.rope_scaling = RopeScaling::longrope;
    RandomModelOptions short_phi3 = blocks(RandomArchitecture::phi3);
    short_phi3.rope_scaling = RopeScaling::longrope;
    short_phi3.original_context = short_phi3.context;
    short_phi3.window = 0;
    short_phi3.head = HeadKind::tied;
    RandomModelOptions plain_phi3 = odd(RandomArchitecture::phi3);
    plain_phi3.window = 32;
    RandomModelOptions gemma3 = odd(RandomArchitecture::gemma3);
    gemma3.head = HeadKind::tied;
    gemma3.rope_scaling = RopeScaling::linear;
    gemma3.rope_base = 1e6F;
    RandomModelOptions deep_gemma3 = blocks(RandomArchitecture::gemma3);
    deep_gemma3.layers = 7;
    deep_gemma3.window = 33;
    deep_gemma3.window_pattern = 0;
    RandomModelOptions capped_gemma3 = odd(RandomArchitecture::gemma3);
    capped_gemma3.layers = 3;
    capped_gemma3.window_pattern = 3;
    capped_gemma3.attention_softcap = 2;
    capped_gemma3.logit_softcap = 3;
    RandomModelOptions gemma2 = odd(RandomArchitecture::gemma2);
    gemma2.head = HeadKind::tied;
    RandomModelOptions deep_gemma2 = blocks(RandomArchitecture::gemma2);
    deep_gemma2.layers = 5;
    deep_gemma2.window = 31;
    deep_gemma2.window_pattern = 0;
    deep_gemma2.attention_softcap = 3;
    deep_gemma2.logit_softcap = 4;
    RandomModelOptions gemma4 = gemma4_blocks(); // as the smallest: shared keys, wider blocks there
    gemma4.layers = 5;
    gemma4.shared_kv_layers = 2;
    gemma4.wide_shared_layers = true;
    gemma4.logit_softcap = 3;
    gemma4.head = HeadKind::tied;
    RandomModelOptions plain_gemma4 = gemma4_blocks(); // as the largest: keys as values, no inputs of layers
    plain_gemma4.layers = 4;
    plain_gemma4.window = 33;
    plain_gemma4.window_pattern = 3;
    plain_gemma4.per_layer_width = 0;
    plain_gemma4.output_scales = false;
    plain_gemma4.values_are_keys = true;
    RandomModelOptions odd_gemma4 = odd(RandomArchitecture::gemma4);
    odd_gemma4.layers = 3;
    odd_gemma4.per_layer_width = 12;
    odd_gemma4.values_are_keys = true;
    RandomModelOptions tiled_gemma4 = tiled_model(RandomArchitecture::gemma4, WeightFormat::q8_0);
    tiled_gemma4.layers = 4;
    tiled_gemma4.head_dim = 512;
    tiled_gemma4.window_head_dim = 256;
    tiled_gemma4.shared_kv_layers = 1;
    tiled_gemma4.wide_shared_layers = true;
    tiled_gemma4.per_layer_width = 256;
    RandomModelOptions gemma3n = gemma4_blocks(); // shared keys
    gemma3n.architecture = RandomArchitecture::gemma3n;
    gemma3n.layers = 5;
    gemma3n.shared_kv_layers = 2;
    gemma3n.wide_shared_layers = true;
    gemma3n.sparse_layers = 3;
    gemma3n.head = HeadKind::tied;
    gemma3n.embedding = 64;
    RandomModelOptions odd_gemma3n = odd(RandomArchitecture::gemma3n);
    odd_gemma3n.layers = 3;
    odd_gemma3n.streams = 3;
    odd_gemma3n.laurel_rank = 7;
    odd_gemma3n.per_layer_width = 12;
    odd_gemma3n.logit_softcap = 5;
    RandomModelOptions tiled_gemma3n = tiled_model(RandomArchitecture::gemma3n, WeightFormat::q8_0);
    tiled_gemma3n.streams = 2;
    tiled_gemma3n.laurel_rank = 32;
    tiled_gemma3n.per_layer_width = 256;
    return {
        {"gemma3n F32, shared keys", with_formats(gemma3n, WeightFormat::f32), f32},
        {"gemma3n F32, three streams, odd sizes", random_model(odd_gemma3n), f32},
        {"gemma3n Q8_0, two streams, in tiles", random_model(tiled_gemma3n), f32},
        {"gemma4 F32, shared keys", with_formats(gemma4, WeightFormat::f32), f32},
        {"gemma4 Q8_0, keys as values", random_model(plain_gemma4), f16},
        {"gemma4 F32, odd sizes", random_model(odd_gemma4), f32},
        {"gemma4 Q8_0, heads of 256 and 512, in tiles", random_model(tiled_gemma4), f32},
        {"gemma2 F32, tied, caps by default", random_model(gemma2), f32},
        {"gemma2 Q8_0, five layers, soft caps", random_model(deep_gemma2), f16},
        {"phi3 F32, long divisors", random_model(long_phi3), f32},
        {"phi3 Q8_0, tied, short divisors, no window", random_model(short_phi3), f16},
        {"phi3 BF16, window of a page", with_formats(plain_phi3, WeightFormat::bf16), f32},
        {"gemma3 F32, tied, linear scaling", random_model(gemma3), f32},
        {"gemma3 Q8_0, seven layers", random_model(deep_gemma3), f16},
        {"gemma3 F16, soft caps", with_formats(capped_gemma3, WeightFormat::f16), f32},
        {"gemma3 Q6_K, in tiles", random_model(tiled_model(RandomArchitecture::gemma3, WeightFormat::q6_k)),
         f32},
    };
}

/// More experts than a small step uses, and few enough that a prompt fills every tile.
std::vector<NamedModel> expert_models() {
    using enum kernels::CacheFormat;
    RandomModelOptions const gpt_oss = odd(RandomArchitecture::gpt_oss);
    RandomModelOptions deep_gpt_oss = blocks(RandomArchitecture::gpt_oss);
    deep_gpt_oss.layers = 5;
    deep_gpt_oss.window = 33;
    deep_gpt_oss.rope_scaling = RopeScaling::yarn;
    deep_gpt_oss.role_formats = {{"ffn_gate_exps", WeightFormat::mxfp4},
                                 {"ffn_up_exps", WeightFormat::mxfp4},
                                 {"ffn_down_exps", WeightFormat::mxfp4}};
    RandomModelOptions few = odd(RandomArchitecture::qwen3moe);
    few.experts = 3;
    few.expert_feed_forward = 27;
    RandomModelOptions many = odd(RandomArchitecture::qwen3moe);
    many.experts = 37;
    many.experts_used = 5;
    many.expert_feed_forward = 13;
    RandomModelOptions unnormalised = odd(RandomArchitecture::qwen2moe);
    unnormalised.experts = 7;
    unnormalised.experts_used = 3;
    unnormalised.expert_feed_forward = 27;
    unnormalised.shared_feed_forward = 45;
    RandomModelOptions qwen2moe = blocks(RandomArchitecture::qwen2moe);
    qwen2moe.experts_used = 4;
    qwen2moe.expert_feed_forward = 64;
    qwen2moe.shared_feed_forward = 128;
    RandomModelOptions mixtral = odd(RandomArchitecture::llama);
    mixtral.mixture = true;
    mixtral.experts = 8;
    RandomModelOptions deep_mixtral = blocks(RandomArchitecture::llama);
    deep_mixtral.mixture = true;
    deep_mixtral.layers = 3;
    RandomModelOptions granitemoe = odd(RandomArchitecture::granitemoe);
    granitemoe.shared_feed_forward = 45;
    RandomModelOptions unshared = blocks(RandomArchitecture::granitemoe);
    unshared.shared_feed_forward = 0;
    RandomModelOptions vision = odd(RandomArchitecture::qwen3vlmoe);
    vision.expert_feed_forward = 33;
    RandomModelOptions all = blocks(RandomArchitecture::qwen3moe);
    all.experts = 4;
    all.experts_used = 4;
    all.expert_feed_forward = 64;
    RandomModelOptions one = odd(RandomArchitecture::qwen3moe);
    one.experts = 9;
    one.experts_used = 1;
    RandomModelOptions mixed = blocks(RandomArchitecture::qwen3moe);
    mixed.embedding = 256;
    mixed.expert_feed_forward = 256;
    mixed.role_formats = {{"ffn_gate_inp", WeightFormat::f32},
                          {"ffn_gate_exps", WeightFormat::q4_k},
                          {"ffn_up_exps", WeightFormat::q5_0},
                          {"ffn_down_exps", WeightFormat::q6_k}};
    RandomModelOptions tiled = mixed; // gate and up in one dispatch, with halves for down
    tiled.experts = 9;
    tiled.experts_used = 4;
    if (gpu().device.profile().cooperative_matrix)
        tiled.seed = 2; // with 1, a choice of experts at one position is a tie within the rounding of units
    tiled.expert_feed_forward = 512;
    tiled.role_formats = {{"ffn_gate_inp", WeightFormat::f32},
                          {"ffn_gate_exps", WeightFormat::q4_k},
                          {"ffn_up_exps", WeightFormat::q4_k},
                          {"ffn_down_exps", WeightFormat::q6_k}};
    RandomModelOptions half_tiled = mixed; // down in rows
    half_tiled.expert_feed_forward = 160;
    half_tiled.role_formats = {{"ffn_gate_inp", WeightFormat::f32}};
    RandomModelOptions tiled_gpt_oss = deep_gpt_oss;
    tiled_gpt_oss.layers = 2;
    tiled_gpt_oss.embedding = 256;
    tiled_gpt_oss.expert_feed_forward = 256;
    RandomModelOptions glm4moe = odd(RandomArchitecture::glm4moe);
    glm4moe.layers = 3;
    glm4moe.rotated = 6;
    glm4moe.experts = 7;
    glm4moe.experts_used = 3;
    glm4moe.expert_feed_forward = 27;
    glm4moe.expert_scale = 2.5F;
    RandomModelOptions deep_glm4moe = blocks(RandomArchitecture::glm4moe);
    deep_glm4moe.layers = 4;
    deep_glm4moe.dense_layers = 2;
    deep_glm4moe.experts = 6;
    deep_glm4moe.expert_groups = 3;
    deep_glm4moe.expert_groups_used = 2;
    deep_glm4moe.shared_experts = 2;
    deep_glm4moe.head_norms = false;
    deep_glm4moe.experts_normalised = false;
    deep_glm4moe.coordinates = true;
    deep_glm4moe.predicting_layers = 1;
    RandomModelOptions unshared_glm4moe = tiled;
    unshared_glm4moe.architecture = RandomArchitecture::glm4moe;
    unshared_glm4moe.shared_experts = 0;
    RandomModelOptions lfm2moe = odd(RandomArchitecture::lfm2moe);
    lfm2moe.layers = 4;
    lfm2moe.experts = 6;
    lfm2moe.experts_used = 4;
    lfm2moe.expert_feed_forward = 27;
    RandomModelOptions deep_lfm2moe = blocks(RandomArchitecture::lfm2moe);
    deep_lfm2moe.layers = 4;
    deep_lfm2moe.attention_interval = 4;
    deep_lfm2moe.dense_layers = 0;
    RandomModelOptions gemma4 = odd(RandomArchitecture::gemma4);
    gemma4.mixture = true;
    gemma4.experts_used = 3;
    gemma4.expert_feed_forward = 27;
    gemma4.per_layer_width = 12;
    RandomModelOptions fused_gemma4 = gemma4_blocks();
    fused_gemma4.layers = 3;
    fused_gemma4.mixture = fused_gemma4.fused_experts = true;
    fused_gemma4.values_are_keys = true;
    fused_gemma4.shared_kv_layers = 1;
    fused_gemma4.wide_shared_layers = true;
    fused_gemma4.per_layer_width = 0;
    fused_gemma4.expert_scales = false;
    RandomModelOptions tiled_gemma4 = tiled_model(RandomArchitecture::gemma4, WeightFormat::q8_0);
    tiled_gemma4.mixture = tiled_gemma4.fused_experts = true;
    tiled_gemma4.expert_feed_forward = 256;
    tiled_gemma4.per_layer_width = 0;
    tiled_gemma4.role_formats = {{"ffn_gate_inp", WeightFormat::f32}};
    return {
        {"gemma4 F32, 3 of 5 experts", random_model(gemma4), f32},
        {"gemma4 Q8_0, fused experts", random_model(fused_gemma4), f16},
        {"gemma4 Q8_0, fused experts in tiles", random_model(tiled_gemma4), f32},
        {"glm4moe F32, 3 of 7 experts, scaled", random_model(glm4moe), f32},
        {"glm4moe Q8_0, groups, two dense layers, one more ignored", random_model(deep_glm4moe), f16},
        {"glm4moe Q4_K and Q6_K in tiles, none shared", random_model(unshared_glm4moe), f32},
        {"lfm2moe F16, 4 of 6 experts", with_formats(lfm2moe, WeightFormat::f16), f32},
        {"lfm2moe Q8_0, no dense layer", random_model(deep_lfm2moe), f16},
        {"gpt-oss F32", random_model(gpt_oss), f32},
        {"gpt-oss, MXFP4 experts in tiles", random_model(tiled_gpt_oss), f32},
        {"qwen3moe Q4_K and Q6_K, 4 of 9 experts in tiles", random_model(tiled), f32},
        {"qwen3moe Q8_0, gate and up in tiles", random_model(half_tiled), f32},
        {"gpt-oss, five layers, YaRN, MXFP4 experts", random_model(deep_gpt_oss), f32},
        {"qwen3moe F32, 2 of 3 experts", random_model(few), f32},
        {"qwen3moe BF16, 5 of 37 experts", with_formats(many, WeightFormat::bf16), f32},
        {"qwen3moe Q8_0, all of 4 experts", random_model(all), f16},
        {"qwen3moe F16, 1 of 9 experts", with_formats(one, WeightFormat::f16), f32},
        {"qwen3moe Q4_K, Q5_0 and Q6_K experts", random_model(mixed), f32},
        {"qwen2moe F32, 3 of 7 experts, one shared", random_model(unnormalised), f32},
        {"qwen2moe Q8_0, 4 of 5 experts, one shared", random_model(qwen2moe), f16},
        {"llama F32, 2 of 8 experts", random_model(mixtral), f32},
        {"llama Q8_0, three layers, 2 of 5 experts", random_model(deep_mixtral), f16},
        {"granitemoe BF16, one shared", with_formats(granitemoe, WeightFormat::bf16), f32},
        {"granitemoe Q8_0, none shared", random_model(unshared), f16},
        {"qwen3vlmoe BF16", with_formats(vision, WeightFormat::bf16), f32},
    };
}

/// Gated delta nets of odd sizes, and attention of which a part rotates.
std::vector<NamedModel> recurrent_models() {
    using enum kernels::CacheFormat;
    RandomModelOptions odd_heads = odd(RandomArchitecture::qwen35);
    odd_heads.layers = 3;
    odd_heads.rotated = 6;
    odd_heads.delta_key_heads = 3;
    odd_heads.delta_value_heads = 6;
    odd_heads.delta_key_dim = 20;
    odd_heads.delta_value_dim = 18;
    odd_heads.convolution_width = 3;
    RandomModelOptions deep = blocks(RandomArchitecture::qwen35);
    deep.layers = 5;
    deep.attention_interval = 0; // every fourth by default
    deep.rotated = 8;
    deep.head = HeadKind::tied;
    deep.delta_key_dim = 36;
    deep.delta_value_dim = 24;
    deep.delta_value_heads = 8;
    deep.predicting_layers = 1;
    deep.head_scale = deep_head_scale();
    RandomModelOptions with_experts = deep;
    with_experts.architecture = RandomArchitecture::qwen35moe;
    with_experts.shared_feed_forward = 64;
    RandomModelOptions odd_experts = odd_heads;
    odd_experts.architecture = RandomArchitecture::qwen35moe;
    odd_experts.experts_used = 3;
    odd_experts.expert_feed_forward = 27;
    odd_experts.shared_feed_forward = 45;
    RandomModelOptions grouped = odd_experts;
    grouped.architecture = RandomArchitecture::qwen3next;
    RandomModelOptions older = grouped;
    older.fused_inputs = true;
    RandomModelOptions older_deep = with_experts;
    older_deep.architecture = RandomArchitecture::qwen3next;
    older_deep.fused_inputs = true;
    older_deep.predicting_layers = 0;
    RandomModelOptions wide = blocks(RandomArchitecture::qwen3next);
    wide.embedding = 256;
    wide.shared_feed_forward = 256;
    wide.expert_feed_forward = 256;
    wide.fused_inputs = true;
    RandomModelOptions lfm2 = odd(RandomArchitecture::lfm2);
    lfm2.convolution_width = 3;
    RandomModelOptions deep_lfm2 = blocks(RandomArchitecture::lfm2);
    deep_lfm2.layers = 5;
    deep_lfm2.attention_interval = 4;
    deep_lfm2.head = HeadKind::tied;
    deep_lfm2.head_scale = deep_head_scale();
    RandomModelOptions granite = odd(RandomArchitecture::granitehybrid);
    granite.layers = 3;
    granite.mamba_heads = 6;
    granite.mamba_groups = 3;
    granite.mamba_head_dim = 18;
    granite.mamba_state_dim = 20;
    granite.convolution_width = 3;
    granite.rotates = false;
    RandomModelOptions deep_granite = blocks(RandomArchitecture::granitehybrid);
    deep_granite.layers = 5;
    deep_granite.attention_interval = 4;
    deep_granite.mixture = true;
    deep_granite.shared_feed_forward = 64;
    deep_granite.head = HeadKind::tied;
    deep_granite.mamba_groups = 1;
    deep_granite.convolution_bias = false;
    RandomModelOptions nemotron = odd(RandomArchitecture::nemotron_h);
    nemotron.layers = 6;
    nemotron.mamba_heads = 6;
    nemotron.mamba_head_dim = 18;
    nemotron.mamba_state_dim = 20;
    RandomModelOptions tiled_nemotron = tiled_model(RandomArchitecture::nemotron_h, WeightFormat::q5_k);
    tiled_nemotron.layers = 4;
    tiled_nemotron.mamba_head_dim = 64;
    RandomModelOptions nemotron_experts = odd(RandomArchitecture::nemotron_h_moe);
    nemotron_experts.layers = 6;
    nemotron_experts.experts = 7;
    nemotron_experts.experts_used = 3;
    nemotron_experts.expert_feed_forward = 27;
    nemotron_experts.shared_feed_forward = 45;
    nemotron_experts.expert_scale = 2.5F;
    RandomModelOptions tiled_experts = blocks(RandomArchitecture::nemotron_h_moe);
    tiled_experts.layers = 4;
    tiled_experts.embedding = 256;
    tiled_experts.expert_feed_forward = 256;
    tiled_experts.shared_feed_forward = 256;
    tiled_experts.mamba_head_dim = 64;
    tiled_experts.head_scale = deep_head_scale();
    tiled_experts.role_formats = {{"ffn_gate_inp", WeightFormat::f32},
                                  {"ffn_up_exps", WeightFormat::q4_k},
                                  {"ffn_down_exps", WeightFormat::q6_k}};
    RandomModelOptions plain = odd(RandomArchitecture::qwen35);
    plain.delta_key_heads = plain.delta_value_heads = 1;
    plain.convolution_width = 8;
    RandomModelOptions falcon = odd(RandomArchitecture::falcon_h1);
    falcon.layers = 3;
    falcon.mamba_heads = 6;
    falcon.mamba_groups = 3;
    falcon.mamba_head_dim = 18;
    falcon.mamba_state_dim = 20;
    RandomModelOptions plain_falcon = blocks(RandomArchitecture::falcon_h1);
    plain_falcon.mamba_norm = false;
    plain_falcon.convolution_bias = false;
    plain_falcon.mamba_groups = 1;
    RandomModelOptions tiled_falcon = tiled_model(RandomArchitecture::falcon_h1, WeightFormat::q4_k);
    tiled_falcon.mamba_head_dim = 64;
    tiled_falcon.mamba_norm = false;
    RandomModelOptions mamba = odd(RandomArchitecture::mamba2);
    mamba.layers = 3;
    mamba.mamba_heads = 6;
    mamba.mamba_groups = 3;
    mamba.mamba_head_dim = 18;
    mamba.mamba_state_dim = 20;
    RandomModelOptions tied_mamba = blocks(RandomArchitecture::mamba2);
    tied_mamba.head = HeadKind::tied;
    tied_mamba.layers = 5;
    tied_mamba.mamba_groups = 1;
    RandomModelOptions tiled_mamba = tiled_model(RandomArchitecture::mamba2, WeightFormat::q4_k);
    tiled_mamba.mamba_head_dim = 64;
    tiled_mamba.head_scale = 2; // with 4, inputs rounded to f16 move log-probabilities by 0.023
    return {
        {"mamba2 F32, three groups", random_model(mamba), f32},
        {"mamba2 Q8_0, tied, five layers", random_model(tied_mamba), f16},
        {"mamba2 Q4_K, in tiles", random_model(tiled_mamba), f32},
        {"falcon-h1 F32, three groups", random_model(falcon), f32},
        {"falcon-h1 Q8_0, without a norm", random_model(plain_falcon), f16},
        {"falcon-h1 Q4_K, in tiles", random_model(tiled_falcon), f32},
        {"qwen35 F32, 6 heads on 3", random_model(odd_heads), f32},
        {"qwen35 Q8_0, tied, five layers, one more ignored", random_model(deep), f16},
        {"qwen35 BF16, one head", with_formats(plain, WeightFormat::bf16), f32},
        {"qwen35 Q5_K, in tiles", random_model(tiled_model(RandomArchitecture::qwen35, WeightFormat::q5_k)),
         f32},
        {"qwen35moe F32, 3 of 5 experts, one shared", random_model(odd_experts), f32},
        {"qwen35moe Q8_0, five layers, one more ignored", random_model(with_experts), f16},
        {"lfm2 F32, odd", random_model(lfm2), f32},
        {"lfm2 Q8_0, tied, five layers", random_model(deep_lfm2), f16},
        {"lfm2 Q4_K, in tiles", random_model(tiled_model(RandomArchitecture::lfm2, WeightFormat::q4_k)), f32},
        {"granitehybrid F32, three groups, no rotation", random_model(granite), f32},
        {"granitehybrid Q8_0, tied, five layers, experts", random_model(deep_granite), f16},
        {"nemotron_h BF16, six layers", with_formats(nemotron, WeightFormat::bf16), f32},
        {"nemotron_h Q5_K, in tiles", random_model(tiled_nemotron), f32},
        {"nemotron_h_moe F32, 3 of 7 experts, one shared", random_model(nemotron_experts), f32},
        {"nemotron_h_moe Q4_K and Q6_K experts in tiles", random_model(tiled_experts), f16},
        {"qwen3next F16, 6 heads on 3", with_formats(grouped, WeightFormat::f16), f32},
        {"qwen3next F32, ssm_in, odd heads", random_model(older), f32},
        {"qwen3next Q8_0, ssm_in, five layers", random_model(older_deep), f16},
        {"qwen3next Q8_0, ssm_in, rows of 256", random_model(wide), f32},
    };
}

RandomModelOptions latent() {
    RandomModelOptions options = odd(RandomArchitecture::deepseek2);
    options.heads = 3;
    options.latent_rank = 96;
    options.query_rank = 45;
    options.layers = 3;
    options.experts = 7;
    options.experts_used = 3;
    options.expert_feed_forward = 27;
    return options;
}

std::vector<NamedModel> latent_models() {
    using enum kernels::CacheFormat;
    RandomModelOptions grouped = latent(); // as DeepSeek-V3
    grouped.experts = 12;
    grouped.expert_groups = 4;
    grouped.expert_groups_used = 2;
    grouped.expert_scale = 2.5F;
    grouped.rope_scaling = RopeScaling::yarn;
    grouped.yarn_log_multiplier = 0.1F;
    RandomModelOptions lite = blocks(RandomArchitecture::deepseek2); // as DeepSeek-V2-Lite
    lite.query_rank = 0;
    lite.softmax_experts = true;
    lite.experts_normalised = false;
    lite.shared_experts = 2;
    lite.rope_scaling = RopeScaling::yarn;
    lite.yarn_log_multiplier = 0.0707F;
    RandomModelOptions deep = blocks(RandomArchitecture::deepseek2);
    deep.layers = 4;
    deep.dense_layers = 2;
    deep.unrotated = 64;
    deep.latent_value_dim = 96;
    deep.softmax_experts = true;
    deep.experts = 6;
    deep.expert_groups = 3;
    deep.expert_groups_used = 2;
    deep.expert_scale = 16;
    deep.experts_normalised = false;
    deep.predicting_layers = 1;
    deep.shared_experts = 0;
    RandomModelOptions wide = latent(); // the heads of DeepSeek-V3
    wide.latent_rank = 512;
    wide.unrotated = 128;
    wide.rotated = 64;
    wide.latent_value_dim = 128;
    wide.selection_bias = false;
    wide.fused_experts = true;
    RandomModelOptions tiled = tiled_model(RandomArchitecture::deepseek2, WeightFormat::q4_k);
    tiled.latent_rank = 256;
    tiled.query_rank = 256;
    tiled.latent_value_dim = 64;
    tiled.fused_experts = true;
    tiled.expert_feed_forward = 256;
    tiled.role_formats = {{"ffn_gate_inp", WeightFormat::f32},
                          {"attn_k_b", WeightFormat::q8_0},
                          {"attn_v_b", WeightFormat::q6_k},
                          {"ffn_down_exps", WeightFormat::q6_k}};
    return {
        {"deepseek2 F32", random_model(latent()), f32},
        {"deepseek2 BF16, biased groups, YaRN", with_formats(grouped, WeightFormat::bf16), f32},
        {"deepseek2 Q8_0, queries without a latent, softmax, YaRN", random_model(lite), f16},
        {"deepseek2 Q8_0, groups by their best, one more ignored", random_model(deep), f32},
        {"deepseek2 F16, latents of 512, fused experts", with_formats(wide, WeightFormat::f16), f16},
        {"deepseek2 Q4_K, Q8_0 and Q6_K in tiles, fused experts", random_model(tiled), f32},
    };
}

} // namespace etna::test
