#include "tests/model/reference_models.hpp"

#include "tests/model/model_case.hpp"
#include "tests/support/vulkan.hpp"

#include <functional>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

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

using M = RandomModelOptions;
using enum kernels::CacheFormat;
using enum RandomArchitecture;

/// One option of a random model and its value: {&M::layers, 5}.
class Setting {
public:
    template <typename Value>
    Setting(Value M::* option, std::type_identity_t<Value> value)
        : apply_([option, value = std::move(value)](M& options) { options.*option = value; }) {}

    void apply(M& options) const { apply_(options); }

private:
    std::function<void(M&)> apply_;
};

M with(M options, std::initializer_list<Setting> settings) {
    for (const Setting& setting : settings)
        setting.apply(options);
    return options;
}

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
    return with(
        blocks(gemma4),
        {{&M::kv_heads, 4}, {&M::window_head_dim, 16}, {&M::window_kv_heads, 2}, {&M::rope_base, 1e6F}});
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
    return with(mixture(qwen3), {{&M::embedding_format, q5_0},
                                 {&M::head_format, q6_k},
                                 {&M::role_formats,
                                  {{"attn_q", q4_1},
                                   {"attn_k", q5_1},
                                   {"attn_v", mxfp4},
                                   {"attn_output", q5_0},
                                   {"ffn_gate", q8_0},
                                   {"ffn_up", q4_k},
                                   {"ffn_down", q6_k}}}});
}

/// A model whose matrices, embedding and head have one format.
Bytes uniform(WeightFormat format, const RandomModelOptions& options) {
    return random_model(
        with(options, {{&M::matrices, format}, {&M::embedding_format, format}, {&M::head_format, format}}));
}

/// Biases on q, k and v, and heads of which only the first part rotates.
Bytes biased_and_partly_rotated() {
    const RandomModelOptions options = with(odd(llama), {{&M::matrices, WeightFormat::f16}});
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

/// Dense layers, rotation and its scalings, biases, formats of matrices.
std::vector<NamedModel> llama_models() {
    const M yarn = with(blocks(qwen3), {{&M::rope_scaling, RopeScaling::yarn}, {&M::head, HeadKind::tied}});
    return {
        {"llama F32", f32, random_model(odd(llama))},
        {"llama F16, linear scaling", f16,
         uniform(WeightFormat::f16, with(odd(llama), {{&M::rope_scaling, RopeScaling::linear}}))},
        {"llama BF16, tied", f32,
         uniform(WeightFormat::bf16, with(odd(llama), {{&M::head, HeadKind::tied}}))},
        {"llama Q8_0, llama3 scaling", f16,
         random_model(with(blocks(llama), {{&M::rope_scaling, RopeScaling::llama3}}))},
        {"llama F32, LongRoPE", f32,
         random_model(with(odd(llama), {{&M::rope_scaling, RopeScaling::longrope}}))},
        {"llama F16, biases, partial rotation", f32, biased_and_partly_rotated()},
        {"qwen2 F32, biases", f32, random_model(odd(qwen2))},
        {"qwen2 Q8_0, tied, YaRN", f16, random_model(with(yarn, {{&M::architecture, qwen2}}))},
        {"qwen3 F32", f16, random_model(odd(qwen3))},
        {"qwen3 BF16", f32, uniform(WeightFormat::bf16, odd(qwen3))},
        {"qwen3 Q8_0, tied, YaRN", f32, random_model(yarn)},
        {"llama of a mixture of formats", f32, random_model(mixture(llama))},
        {"qwen3 of another mixture", f16, random_model(other_mixture())},
        {"llama Q4_K, in tiles", f32, random_model(tiled_model(llama, WeightFormat::q4_k))},
        {"qwen2 Q8_0, in tiles, biases", f16, random_model(tiled_model(qwen2, WeightFormat::q8_0))},
    };
}

/// Dense layers with scales, without a rotation, or with a rotation by coordinates.
std::vector<NamedModel> scaled_models() {
    return {
        {"mistral3 F32, YaRN, temperature", f32,
         random_model(with(odd(mistral3), {{&M::rope_scaling, RopeScaling::yarn},
                                           {&M::yarn_log_multiplier, 0.7F},
                                           {&M::original_context, 20}, // several periods
                                           {&M::temperature_scale, 0.3F}}))},
        {"mistral3 Q8_0, tied", f16, random_model(with(blocks(mistral3), {{&M::head, HeadKind::tied}}))},
        {"smollm3 BF16, five layers", f32,
         uniform(WeightFormat::bf16, with(odd(smollm3), {{&M::layers, 5}}))},
        {"smollm3 Q8_0, tied, four layers", f16,
         random_model(with(blocks(smollm3), {{&M::layers, 4}, {&M::head, HeadKind::tied}}))},
        {"granite F32, three layers", f32, random_model(with(odd(granite), {{&M::layers, 3}}))},
        {"granite Q8_0, tied, no rotation", f16,
         random_model(with(blocks(granite), {{&M::rotates, false},
                                             {&M::head, HeadKind::tied},
                                             {&M::residual_scale, 0},
                                             {&M::embedding_scale, 0},
                                             {&M::attention_scale, 0},
                                             {&M::logit_scale, 3}}))},
        {"glm4 F32", f32, random_model(with(odd(glm4), {{&M::rotated, 6}}))},
        {"glm4 Q8_0, coordinates, one more ignored", f16,
         random_model(
             with(blocks(glm4), {{&M::rotated, 12}, {&M::coordinates, true}, {&M::predicting_layers, 1}}))},
        {"qwen2vl F32", f32, random_model(odd(qwen2vl))},
        {"qwen3vl Q8_0, tied", f16, random_model(with(blocks(qwen3vl), {{&M::head, HeadKind::tied}}))},
    };
}

std::vector<NamedModel> gemma3n_models() {
    return {
        {"gemma3n F32, shared keys", f32,
         uniform(WeightFormat::f32, with(gemma4_blocks(), {{&M::architecture, gemma3n},
                                                           {&M::layers, 5},
                                                           {&M::shared_kv_layers, 2},
                                                           {&M::wide_shared_layers, true},
                                                           {&M::sparse_layers, 3},
                                                           {&M::head, HeadKind::tied},
                                                           {&M::embedding, 64}}))},
        {"gemma3n F32, three streams, odd sizes", f32,
         random_model(with(odd(gemma3n), {{&M::layers, 3},
                                          {&M::streams, 3},
                                          {&M::laurel_rank, 7},
                                          {&M::per_layer_width, 12},
                                          {&M::logit_softcap, 5}}))},
        {"gemma3n Q8_0, two streams, in tiles", f32,
         random_model(with(tiled_model(gemma3n, WeightFormat::q8_0),
                           {{&M::streams, 2}, {&M::laurel_rank, 32}, {&M::per_layer_width, 256}}))},
    };
}

std::vector<NamedModel> gemma4_models() {
    return {
        // as the smallest: shared keys, wider blocks there
        {"gemma4 F32, shared keys", f32,
         uniform(WeightFormat::f32, with(gemma4_blocks(), {{&M::layers, 5},
                                                           {&M::shared_kv_layers, 2},
                                                           {&M::wide_shared_layers, true},
                                                           {&M::logit_softcap, 3},
                                                           {&M::head, HeadKind::tied}}))},
        // as the largest: keys as values, no inputs of layers
        {"gemma4 Q8_0, keys as values", f16,
         random_model(with(gemma4_blocks(), {{&M::layers, 4},
                                             {&M::window, 33},
                                             {&M::window_pattern, 3},
                                             {&M::per_layer_width, 0},
                                             {&M::output_scales, false},
                                             {&M::values_are_keys, true}}))},
        {"gemma4 F32, odd sizes", f32,
         random_model(
             with(odd(gemma4), {{&M::layers, 3}, {&M::per_layer_width, 12}, {&M::values_are_keys, true}}))},
        {"gemma4 Q8_0, heads of 256 and 512, in tiles", f32,
         random_model(with(tiled_model(gemma4, WeightFormat::q8_0), {{&M::layers, 4},
                                                                     {&M::head_dim, 512},
                                                                     {&M::window_head_dim, 256},
                                                                     {&M::shared_kv_layers, 1},
                                                                     {&M::wide_shared_layers, true},
                                                                     {&M::per_layer_width, 256}}))},
    };
}

std::vector<NamedModel> gemma2_and_phi3_models() {
    return {
        {"gemma2 F32, tied, caps by default", f32,
         random_model(with(odd(gemma2), {{&M::head, HeadKind::tied}}))},
        {"gemma2 Q8_0, five layers, soft caps", f16,
         random_model(with(blocks(gemma2), {{&M::layers, 5},
                                            {&M::window, 31},
                                            {&M::window_pattern, 0},
                                            {&M::attention_softcap, 3},
                                            {&M::logit_softcap, 4}}))},
        {"phi3 F32, long divisors", f32,
         random_model(with(odd(phi3), {{&M::rope_scaling, RopeScaling::longrope}}))},
        {"phi3 Q8_0, tied, short divisors, no window", f16,
         random_model(with(blocks(phi3), {{&M::rope_scaling, RopeScaling::longrope},
                                          {&M::original_context, M().context},
                                          {&M::window, 0},
                                          {&M::head, HeadKind::tied}}))},
        {"phi3 BF16, window of a page", f32,
         uniform(WeightFormat::bf16, with(odd(phi3), {{&M::window, 32}}))},
    };
}

std::vector<NamedModel> gemma3_models() {
    return {
        {"gemma3 F32, tied, linear scaling", f32,
         random_model(with(
             odd(gemma3),
             {{&M::head, HeadKind::tied}, {&M::rope_scaling, RopeScaling::linear}, {&M::rope_base, 1e6F}}))},
        {"gemma3 Q8_0, seven layers", f16,
         random_model(with(blocks(gemma3), {{&M::layers, 7}, {&M::window, 33}, {&M::window_pattern, 0}}))},
        {"gemma3 F16, soft caps", f32,
         uniform(WeightFormat::f16, with(odd(gemma3), {{&M::layers, 3},
                                                       {&M::window_pattern, 3},
                                                       {&M::attention_softcap, 2},
                                                       {&M::logit_softcap, 3}}))},
        {"gemma3 Q6_K, in tiles", f32, random_model(tiled_model(gemma3, WeightFormat::q6_k))},
    };
}

std::vector<NamedModel> gemma4_expert_models() {
    return {
        {"gemma4 F32, 3 of 5 experts", f32,
         random_model(with(odd(gemma4), {{&M::mixture, true},
                                         {&M::experts_used, 3},
                                         {&M::expert_feed_forward, 27},
                                         {&M::per_layer_width, 12}}))},
        {"gemma4 Q8_0, fused experts", f16,
         random_model(with(gemma4_blocks(), {{&M::layers, 3},
                                             {&M::mixture, true},
                                             {&M::fused_experts, true},
                                             {&M::values_are_keys, true},
                                             {&M::shared_kv_layers, 1},
                                             {&M::wide_shared_layers, true},
                                             {&M::per_layer_width, 0},
                                             {&M::expert_scales, false}}))},
        {"gemma4 Q8_0, fused experts in tiles", f32,
         random_model(with(tiled_model(gemma4, WeightFormat::q8_0),
                           {{&M::mixture, true},
                            {&M::fused_experts, true},
                            {&M::expert_feed_forward, 256},
                            {&M::per_layer_width, 0},
                            {&M::role_formats, {{"ffn_gate_inp", WeightFormat::f32}}}}))},
    };
}

/// Every projection of the experts in a format of its own.
M mixed_experts() {
    return with(blocks(qwen3moe), {{&M::embedding, 256},
                                   {&M::expert_feed_forward, 256},
                                   {&M::role_formats,
                                    {{"ffn_gate_inp", WeightFormat::f32},
                                     {"ffn_gate_exps", WeightFormat::q4_k},
                                     {"ffn_up_exps", WeightFormat::q5_0},
                                     {"ffn_down_exps", WeightFormat::q6_k}}}});
}

/// Gate and up in one dispatch, which stores the input of down in f16.
M tiled_experts() {
    // with 1, a choice of experts at one position is a tie within the rounding of units
    const uint64_t seed = gpu().device.profile().cooperative_matrix ? 2 : M().seed;
    return with(mixed_experts(), {{&M::experts, 9},
                                  {&M::experts_used, 4},
                                  {&M::seed, seed},
                                  {&M::expert_feed_forward, 512},
                                  {&M::role_formats,
                                   {{"ffn_gate_inp", WeightFormat::f32},
                                    {"ffn_gate_exps", WeightFormat::q4_k},
                                    {"ffn_up_exps", WeightFormat::q4_k},
                                    {"ffn_down_exps", WeightFormat::q6_k}}}});
}

std::vector<NamedModel> glm4moe_and_lfm2moe_models() {
    return {
        {"glm4moe F32, 3 of 7 experts, scaled", f32,
         random_model(with(odd(glm4moe), {{&M::layers, 3},
                                          {&M::rotated, 6},
                                          {&M::experts, 7},
                                          {&M::experts_used, 3},
                                          {&M::expert_feed_forward, 27},
                                          {&M::expert_scale, 2.5F}}))},
        {"glm4moe Q8_0, groups, two dense layers, one more ignored", f16,
         random_model(with(blocks(glm4moe), {{&M::layers, 4},
                                             {&M::dense_layers, 2},
                                             {&M::experts, 6},
                                             {&M::expert_groups, 3},
                                             {&M::expert_groups_used, 2},
                                             {&M::shared_experts, 2},
                                             {&M::head_norms, false},
                                             {&M::experts_normalised, false},
                                             {&M::coordinates, true},
                                             {&M::predicting_layers, 1}}))},
        {"glm4moe Q4_K and Q6_K in tiles, none shared", f32,
         random_model(with(tiled_experts(), {{&M::architecture, glm4moe}, {&M::shared_experts, 0}}))},
        {"lfm2moe F16, 4 of 6 experts", f32,
         uniform(WeightFormat::f16, with(odd(lfm2moe), {{&M::layers, 4},
                                                        {&M::experts, 6},
                                                        {&M::experts_used, 4},
                                                        {&M::expert_feed_forward, 27}}))},
        {"lfm2moe Q8_0, no dense layer", f16,
         random_model(
             with(blocks(lfm2moe), {{&M::layers, 4}, {&M::attention_interval, 4}, {&M::dense_layers, 0}}))},
    };
}

std::vector<NamedModel> gpt_oss_and_qwen3moe_models() {
    const M deep_gpt_oss = with(blocks(gpt_oss), {{&M::layers, 5},
                                                  {&M::window, 33},
                                                  {&M::rope_scaling, RopeScaling::yarn},
                                                  {&M::role_formats,
                                                   {{"ffn_gate_exps", WeightFormat::mxfp4},
                                                    {"ffn_up_exps", WeightFormat::mxfp4},
                                                    {"ffn_down_exps", WeightFormat::mxfp4}}}});
    return {
        {"gpt-oss F32", f32, random_model(odd(gpt_oss))},
        {"gpt-oss, MXFP4 experts in tiles", f32,
         random_model(
             with(deep_gpt_oss, {{&M::layers, 2}, {&M::embedding, 256}, {&M::expert_feed_forward, 256}}))},
        {"qwen3moe Q4_K and Q6_K, 4 of 9 experts in tiles", f32, random_model(tiled_experts())},
        {"qwen3moe Q8_0, gate and up in tiles", f32, // down in rows
         random_model(with(mixed_experts(), {{&M::expert_feed_forward, 160},
                                             {&M::role_formats, {{"ffn_gate_inp", WeightFormat::f32}}}}))},
        {"gpt-oss, five layers, YaRN, MXFP4 experts", f32, random_model(deep_gpt_oss)},
        {"qwen3moe F32, 2 of 3 experts", f32,
         random_model(with(odd(qwen3moe), {{&M::experts, 3}, {&M::expert_feed_forward, 27}}))},
        {"qwen3moe BF16, 5 of 37 experts", f32,
         uniform(
             WeightFormat::bf16,
             with(odd(qwen3moe), {{&M::experts, 37}, {&M::experts_used, 5}, {&M::expert_feed_forward, 13}}))},
        {"qwen3moe Q8_0, all of 4 experts", f16,
         random_model(with(blocks(qwen3moe),
                           {{&M::experts, 4}, {&M::experts_used, 4}, {&M::expert_feed_forward, 64}}))},
        {"qwen3moe F16, 1 of 9 experts", f32,
         uniform(WeightFormat::f16, with(odd(qwen3moe), {{&M::experts, 9}, {&M::experts_used, 1}}))},
        {"qwen3moe Q4_K, Q5_0 and Q6_K experts", f32, random_model(mixed_experts())},
    };
}

std::vector<NamedModel> shared_expert_models() {
    return {
        {"qwen2moe F32, 3 of 7 experts, one shared", f32,
         random_model(with(odd(qwen2moe), {{&M::experts, 7},
                                           {&M::experts_used, 3},
                                           {&M::expert_feed_forward, 27},
                                           {&M::shared_feed_forward, 45}}))},
        {"qwen2moe Q8_0, 4 of 5 experts, one shared", f16,
         random_model(
             with(blocks(qwen2moe),
                  {{&M::experts_used, 4}, {&M::expert_feed_forward, 64}, {&M::shared_feed_forward, 128}}))},
        {"llama F32, 2 of 8 experts", f32,
         random_model(with(odd(llama), {{&M::mixture, true}, {&M::experts, 8}}))},
        {"llama Q8_0, three layers, 2 of 5 experts", f16,
         random_model(with(blocks(llama), {{&M::mixture, true}, {&M::layers, 3}}))},
        {"granitemoe BF16, one shared", f32,
         uniform(WeightFormat::bf16, with(odd(granitemoe), {{&M::shared_feed_forward, 45}}))},
        {"granitemoe Q8_0, none shared", f16,
         random_model(with(blocks(granitemoe), {{&M::shared_feed_forward, 0}}))},
        {"qwen3vlmoe BF16", f32,
         uniform(WeightFormat::bf16, with(odd(qwen3vlmoe), {{&M::expert_feed_forward, 33}}))},
    };
}

/// Six Mamba 2 heads of odd sizes.
M odd_mamba(RandomArchitecture architecture, uint32_t layers) {
    return with(
        odd(architecture),
        {{&M::layers, layers}, {&M::mamba_heads, 6}, {&M::mamba_head_dim, 18}, {&M::mamba_state_dim, 20}});
}

std::vector<NamedModel> mamba2_and_falcon_h1_models() {
    return {
        {"mamba2 F32, three groups", f32, random_model(with(odd_mamba(mamba2, 3), {{&M::mamba_groups, 3}}))},
        {"mamba2 Q8_0, tied, five layers", f16,
         random_model(
             with(blocks(mamba2), {{&M::head, HeadKind::tied}, {&M::layers, 5}, {&M::mamba_groups, 1}}))},
        {"mamba2 Q4_K, in tiles", f32,
         random_model(with(tiled_model(mamba2, WeightFormat::q4_k),
                           // with 4, inputs rounded to f16 move log-probabilities by 0.023
                           {{&M::mamba_head_dim, 64}, {&M::head_scale, 2}}))},
        {"falcon-h1 F32, three groups", f32,
         random_model(with(odd_mamba(falcon_h1, 3), {{&M::mamba_groups, 3}}))},
        {"falcon-h1 Q8_0, without a norm", f16,
         random_model(with(blocks(falcon_h1),
                           {{&M::mamba_norm, false}, {&M::convolution_bias, false}, {&M::mamba_groups, 1}}))},
        {"falcon-h1 Q4_K, in tiles", f32,
         random_model(with(tiled_model(falcon_h1, WeightFormat::q4_k),
                           {{&M::mamba_head_dim, 64}, {&M::mamba_norm, false}}))},
    };
}

/// Delta nets of six heads on three, of odd sizes.
M odd_heads() {
    return with(odd(qwen35), {{&M::layers, 3},
                              {&M::rotated, 6},
                              {&M::delta_key_heads, 3},
                              {&M::delta_value_heads, 6},
                              {&M::delta_key_dim, 20},
                              {&M::delta_value_dim, 18},
                              {&M::convolution_width, 3}});
}

M odd_heads_with_experts(RandomArchitecture architecture) {
    return with(odd_heads(), {{&M::architecture, architecture},
                              {&M::experts_used, 3},
                              {&M::expert_feed_forward, 27},
                              {&M::shared_feed_forward, 45}});
}

M five_delta_layers() {
    return with(blocks(qwen35), {{&M::layers, 5},
                                 {&M::attention_interval, 0}, // every fourth by default
                                 {&M::rotated, 8},
                                 {&M::head, HeadKind::tied},
                                 {&M::delta_key_dim, 36},
                                 {&M::delta_value_dim, 24},
                                 {&M::delta_value_heads, 8},
                                 {&M::predicting_layers, 1},
                                 {&M::head_scale, deep_head_scale()}});
}

std::vector<NamedModel> qwen35_and_lfm2_models() {
    return {
        {"qwen35 F32, 6 heads on 3", f32, random_model(odd_heads())},
        {"qwen35 Q8_0, tied, five layers, one more ignored", f16, random_model(five_delta_layers())},
        {"qwen35 BF16, one head", f32,
         uniform(WeightFormat::bf16,
                 with(odd(qwen35),
                      {{&M::delta_key_heads, 1}, {&M::delta_value_heads, 1}, {&M::convolution_width, 8}}))},
        {"qwen35 Q5_K, in tiles", f32, random_model(tiled_model(qwen35, WeightFormat::q5_k))},
        {"qwen35moe F32, 3 of 5 experts, one shared", f32, random_model(odd_heads_with_experts(qwen35moe))},
        {"qwen35moe Q8_0, five layers, one more ignored", f16,
         random_model(
             with(five_delta_layers(), {{&M::architecture, qwen35moe}, {&M::shared_feed_forward, 64}}))},
        {"lfm2 F32, odd", f32, random_model(with(odd(lfm2), {{&M::convolution_width, 3}}))},
        {"lfm2 Q8_0, tied, five layers", f16,
         random_model(with(blocks(lfm2), {{&M::layers, 5},
                                          {&M::attention_interval, 4},
                                          {&M::head, HeadKind::tied},
                                          {&M::head_scale, deep_head_scale()}}))},
        {"lfm2 Q4_K, in tiles", f32, random_model(tiled_model(lfm2, WeightFormat::q4_k))},
    };
}

std::vector<NamedModel> hybrid_mamba_models() {
    return {
        {"granitehybrid F32, three groups, no rotation", f32,
         random_model(with(odd_mamba(granitehybrid, 3),
                           {{&M::mamba_groups, 3}, {&M::convolution_width, 3}, {&M::rotates, false}}))},
        {"granitehybrid Q8_0, tied, five layers, experts", f16,
         random_model(with(blocks(granitehybrid), {{&M::layers, 5},
                                                   {&M::attention_interval, 4},
                                                   {&M::mixture, true},
                                                   {&M::shared_feed_forward, 64},
                                                   {&M::head, HeadKind::tied},
                                                   {&M::mamba_groups, 1},
                                                   {&M::convolution_bias, false}}))},
        {"nemotron_h BF16, six layers", f32, uniform(WeightFormat::bf16, odd_mamba(nemotron_h, 6))},
        {"nemotron_h Q5_K, in tiles", f32,
         random_model(
             with(tiled_model(nemotron_h, WeightFormat::q5_k), {{&M::layers, 4}, {&M::mamba_head_dim, 64}}))},
        {"nemotron_h_moe F32, 3 of 7 experts, one shared", f32,
         random_model(with(odd(nemotron_h_moe), {{&M::layers, 6},
                                                 {&M::experts, 7},
                                                 {&M::experts_used, 3},
                                                 {&M::expert_feed_forward, 27},
                                                 {&M::shared_feed_forward, 45},
                                                 {&M::expert_scale, 2.5F}}))},
        {"nemotron_h_moe Q4_K and Q6_K experts in tiles", f16,
         random_model(with(blocks(nemotron_h_moe), {{&M::layers, 4},
                                                    {&M::embedding, 256},
                                                    {&M::expert_feed_forward, 256},
                                                    {&M::shared_feed_forward, 256},
                                                    {&M::mamba_head_dim, 64},
                                                    {&M::head_scale, deep_head_scale()},
                                                    {&M::role_formats,
                                                     {{"ffn_gate_inp", WeightFormat::f32},
                                                      {"ffn_up_exps", WeightFormat::q4_k},
                                                      {"ffn_down_exps", WeightFormat::q6_k}}}}))},
    };
}

std::vector<NamedModel> qwen3next_models() {
    return {
        {"qwen3next F16, 6 heads on 3", f32, uniform(WeightFormat::f16, odd_heads_with_experts(qwen3next))},
        {"qwen3next F32, ssm_in, odd heads", f32,
         random_model(with(odd_heads_with_experts(qwen3next), {{&M::fused_inputs, true}}))},
        {"qwen3next Q8_0, ssm_in, five layers", f16,
         random_model(with(five_delta_layers(), {{&M::architecture, qwen3next},
                                                 {&M::shared_feed_forward, 64},
                                                 {&M::fused_inputs, true},
                                                 {&M::predicting_layers, 0}}))},
        {"qwen3next Q8_0, ssm_in, rows of 256", f32,
         random_model(with(blocks(qwen3next), {{&M::embedding, 256},
                                               {&M::shared_feed_forward, 256},
                                               {&M::expert_feed_forward, 256},
                                               {&M::fused_inputs, true}}))},
    };
}

std::vector<NamedModel> joined(std::initializer_list<std::vector<NamedModel>> lists) {
    std::vector<NamedModel> all;
    for (const std::vector<NamedModel>& list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

} // namespace

std::vector<NamedModel> models() {
    return joined({llama_models(), scaled_models()});
}

/// Windows of which the first ends within a page, the second at a page's end and one position beyond it.
std::vector<NamedModel> windowed_models() {
    return joined({gemma3n_models(), gemma4_models(), gemma2_and_phi3_models(), gemma3_models()});
}

/// More experts than a small step uses, and few enough that a prompt fills every tile.
std::vector<NamedModel> expert_models() {
    return joined({gemma4_expert_models(), glm4moe_and_lfm2moe_models(), gpt_oss_and_qwen3moe_models(),
                   shared_expert_models()});
}

/// Gated delta nets of odd sizes, and attention of which a part rotates.
std::vector<NamedModel> recurrent_models() {
    return joined(
        {mamba2_and_falcon_h1_models(), qwen35_and_lfm2_models(), hybrid_mamba_models(), qwen3next_models()});
}

RandomModelOptions latent() {
    return with(odd(deepseek2), {{&M::heads, 3},
                                 {&M::latent_rank, 96},
                                 {&M::query_rank, 45},
                                 {&M::layers, 3},
                                 {&M::experts, 7},
                                 {&M::experts_used, 3},
                                 {&M::expert_feed_forward, 27}});
}

std::vector<NamedModel> latent_models() {
    return {
        {"deepseek2 F32", f32, random_model(latent())},
        {"deepseek2 BF16, biased groups, YaRN", f32, // as DeepSeek-V3
         uniform(WeightFormat::bf16, with(latent(), {{&M::experts, 12},
                                                     {&M::expert_groups, 4},
                                                     {&M::expert_groups_used, 2},
                                                     {&M::expert_scale, 2.5F},
                                                     {&M::rope_scaling, RopeScaling::yarn},
                                                     {&M::yarn_log_multiplier, 0.1F}}))},
        {"deepseek2 Q8_0, queries without a latent, softmax, YaRN", f16, // as DeepSeek-V2-Lite
         random_model(with(blocks(deepseek2), {{&M::query_rank, 0},
                                               {&M::softmax_experts, true},
                                               {&M::experts_normalised, false},
                                               {&M::shared_experts, 2},
                                               {&M::rope_scaling, RopeScaling::yarn},
                                               {&M::yarn_log_multiplier, 0.0707F}}))},
        {"deepseek2 Q8_0, groups by their best, one more ignored", f32,
         random_model(with(blocks(deepseek2), {{&M::layers, 4},
                                               {&M::dense_layers, 2},
                                               {&M::unrotated, 64},
                                               {&M::latent_value_dim, 96},
                                               {&M::softmax_experts, true},
                                               {&M::experts, 6},
                                               {&M::expert_groups, 3},
                                               {&M::expert_groups_used, 2},
                                               {&M::expert_scale, 16},
                                               {&M::experts_normalised, false},
                                               {&M::predicting_layers, 1},
                                               {&M::shared_experts, 0}}))},
        {"deepseek2 F16, latents of 512, fused experts", f16, // the heads of DeepSeek-V3
         uniform(WeightFormat::f16, with(latent(), {{&M::latent_rank, 512},
                                                    {&M::unrotated, 128},
                                                    {&M::rotated, 64},
                                                    {&M::latent_value_dim, 128},
                                                    {&M::selection_bias, false},
                                                    {&M::fused_experts, true}}))},
        {"deepseek2 Q4_K, Q8_0 and Q6_K in tiles, fused experts", f32,
         random_model(
             with(tiled_model(deepseek2, WeightFormat::q4_k), {{&M::latent_rank, 256},
                                                               {&M::query_rank, 256},
                                                               {&M::latent_value_dim, 64},
                                                               {&M::fused_experts, true},
                                                               {&M::expert_feed_forward, 256},
                                                               {&M::role_formats,
                                                                {{"ffn_gate_inp", WeightFormat::f32},
                                                                 {"attn_k_b", WeightFormat::q8_0},
                                                                 {"attn_v_b", WeightFormat::q6_k},
                                                                 {"ffn_down_exps", WeightFormat::q6_k}}}}))},
    };
}

} // namespace etna::test
