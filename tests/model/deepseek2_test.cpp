#include "core/model/arch/registry.hpp"
#include "core/model/config.hpp"
#include "core/model/rotary.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <cmath>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

RandomModelOptions deepseek2_options() {
    return {.architecture = RandomArchitecture::deepseek2, .tokenizer = RandomTokenizer::none};
}

Result<model::Config> deepseek2_config(const Bytes& bytes) {
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto architecture = model::find_architecture(*file);
    REQUIRE(architecture);
    return (*architecture)->read_config(*file);
}

Result<model::Config> deepseek2_config(const GgufWriter& writer) {
    return deepseek2_config(writer.bytes());
}

/// Of a file without tensors.
Result<model::Config> deepseek2_config(const RandomModelOptions& options) {
    return deepseek2_config(random_model_keys(options));
}

} // namespace

TEST_CASE("deepseek2 has latent attention, and a scale of its scores with YaRN") {
    RandomModelOptions options = deepseek2_options();
    options.layers = 3;
    options.latent_value_dim = 64;
    const auto config = deepseek2_config(random_model(options));
    REQUIRE(config);
    const model::AttentionConfig& attention = *config->layers[2].attention();
    REQUIRE(attention.latent);
    CHECK(attention.kv_heads == 1);
    CHECK(attention.head_dim == 64 + 32);
    CHECK(attention.latent->rank == 64);
    CHECK(attention.latent->query_rank == 32);
    CHECK(attention.latent->unrotated == 32);
    CHECK(attention.latent->rotated == 32);
    CHECK(attention.latent->value_dim == 64);
    CHECK(config->attention_scale == Approx(1 / std::sqrt(64.0)));
    CHECK(config->cache_groups[0].rotary.dims == 32);
    CHECK(config->experts.scores == kernels::RoutingRule::Scores::sigmoid);
    CHECK(config->experts.selection_bias);
    CHECK_FALSE(config->has_experts(0));
    CHECK(config->has_experts(1));

    options.rope_scaling = RopeScaling::yarn; // by 4
    options.yarn_log_multiplier = 0.0707F;
    const auto scaled = deepseek2_config(options);
    REQUIRE(scaled);
    CHECK(scaled->attention_scale == Approx(std::pow(1 + 0.0707 * std::log(4.0), 2) / 8));
    std::vector<float> angles(32);
    model::Rotary(scaled->cache_groups[0].rotary, 256).angles(0, angles);
    CHECK(angles[0] == Approx(1)); // the rotation has no magnitude
    options.yarn_log_multiplier = 0;
    const auto rotated = deepseek2_config(options);
    REQUIRE(rotated);
    CHECK(rotated->attention_scale == Approx(1 / 8.0));
    model::Rotary(rotated->cache_groups[0].rotary, 256).angles(0, angles);
    CHECK(angles[0] == Approx(1 + 0.1 * std::log(4.0)));
}

TEST_CASE("deepseek2 has softmax experts without a key or a selection bias") {
    RandomModelOptions options = deepseek2_options();
    options.softmax_experts = true;
    options.experts_normalised = false;
    options.query_rank = 0;
    const auto config = deepseek2_config(random_model(options));
    REQUIRE(config);
    CHECK(config->experts.scores == kernels::RoutingRule::Scores::softmax);
    CHECK_FALSE(config->experts.selection_bias);
    CHECK_FALSE(config->experts.normalised);
    CHECK(config->layers[0].attention()->latent->query_rank == 0);
    Bytes unknown = random_model_keys(options).bytes();
    set_integer(unknown, "deepseek2.expert_gating_func", 3);
    CHECK(deepseek2_config(unknown).error().message ==
          "m.gguf: deepseek2.expert_gating_func = 3: must be softmax (1) or sigmoid (2)");
}

TEST_CASE("deepseek2 refuses what latent attention does not have") {
    const RandomModelOptions options = deepseek2_options();
    GgufWriter old = random_model_keys(options);
    old.add_tensor({"blk.0.attn_kv_b.weight", 0, {64, 256}, Bytes(std::size_t{64} * 256 * 4)});
    const auto unabsorbed = deepseek2_config(old);
    REQUIRE_FALSE(unabsorbed);
    CHECK(unabsorbed.error().kind == ErrorKind::unsupported);
    CHECK(unabsorbed.error().message ==
          "m.gguf: keys and values in one projection (tensor blk.0.attn_kv_b.weight) are not supported");
    CHECK(
        unabsorbed.error().hint ==
        "convert the model again with a current tool, or fetch a newer conversion: its layers have attn_k_b "
        "and attn_v_b");
    GgufWriter warm = random_model_keys(options);
    warm.add("deepseek2.attention.temperature_scale", 0.1F);
    CHECK(deepseek2_config(warm).error().message ==
          "m.gguf: deepseek2.attention.temperature_scale = 0.1: queries scaled by position are not supported "
          "with latent attention");
    RandomModelOptions odd = options;
    odd.latent_value_dim = 40;
    CHECK(deepseek2_config(odd).error().message ==
          "m.gguf: deepseek2.attention.value_length_mla = 40: must be a multiple of 32");
    Bytes heads = random_model_keys(options).bytes();
    set_integer(heads, "deepseek2.attention.head_count_kv", 4);
    CHECK(deepseek2_config(heads).error().message ==
          "m.gguf: deepseek2.attention.head_count_kv = 4: must be 1: all heads attend to one latent");
    Bytes rotated = random_model_keys(options).bytes();
    set_integer(rotated, "deepseek2.rope.dimension_count", 64);
    CHECK(deepseek2_config(rotated).error().message ==
          "m.gguf: deepseek2.rope.dimension_count = 64: not below key_length_mla 64");
}
