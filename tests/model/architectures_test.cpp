#include "core/model/blocks/delta_net.hpp"
#include "core/model/blocks/mamba2.hpp"
#include "core/model/blocks/short_convolution.hpp"
#include "core/model/rotary.hpp"
#include "tests/model/config_case.hpp"
#include "tests/model/model_case.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

// The keys specific to each architecture, and the values that are refused.
TEST_CASE("gemma3 has a cache group for full attention and one for sliding windows") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma3);
    options.layers = 8;
    options.window = 100;
    options.window_pattern = 0; // the key is absent: every sixth
    options.rope_base = 1e6F;
    options.rope_scaling = RopeScaling::linear;
    options.attention_softcap = 50;
    options.logit_softcap = 30;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 1, 1, 1, 1, 0, 1, 1});
    REQUIRE(config->cache_groups.size() == 2);
    const model::CacheGroup& full = config->cache_groups[0];
    CHECK(full.window_tokens == 0);
    CHECK(full.rotary.base == 1e6);
    CHECK(full.rotary.scaling == model::RotaryScaling::linear);
    CHECK(full.rotary.factor == 4);
    const model::CacheGroup& window = config->cache_groups[1];
    CHECK(window.window_tokens == 100);
    CHECK(window.rotary.base == 10000);
    CHECK(window.rotary.scaling == model::RotaryScaling::none);
    CHECK(window.rotary.dims == 16);
    CHECK(window.rotary.pairs == kernels::RotaryPairs::halves);
    CHECK(config->embedding_scale == 8);
    CHECK(config->attention_scale == 0.25F);
    CHECK(config->attention_softcap == 50);
    CHECK(config->logit_softcap == 30);
    CHECK(config->gate == kernels::Gate::gelu);
}

TEST_CASE("gemma2 has a window in every second layer, from the first on") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma2);
    options.layers = 5;
    options.window_pattern = 0; // the key is absent
    options.rope_base = 2e4F;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 0, 1, 0, 1});
    CHECK(config->cache_groups[0].window_tokens == 0);
    CHECK(config->cache_groups[1].window_tokens == options.window);
    CHECK(config->cache_groups[1].rotary.base == config->cache_groups[0].rotary.base);
    CHECK(config->attention_softcap == 50);
    CHECK(config->logit_softcap == 30);
    CHECK(config->gate == kernels::Gate::gelu);
    CHECK(config->attention_scale == 1 / std::sqrt(static_cast<float>(options.head_dim)));
    options.layers = 46; // the 27B model
    CHECK(config_of(options)->attention_scale ==
          Approx(std::sqrt(static_cast<float>(options.heads) / static_cast<float>(options.embedding))));
}

TEST_CASE("gpt-oss has a window in every second layer, which rotates as the others do") {
    RandomModelOptions options = options_of(RandomArchitecture::gpt_oss);
    options.layers = 4;
    options.rope_scaling = RopeScaling::yarn;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 0, 1, 0});
    CHECK(config->cache_groups[0].window_tokens == 0);
    CHECK(config->cache_groups[1].window_tokens == options.window);
    CHECK(config->cache_groups[1].rotary.scaling == model::RotaryScaling::yarn);
    CHECK(config->gate == kernels::Gate::clamped_silu);
    CHECK(config->experts.experts_per_token == options.experts_used);
    CHECK(config->feed_forward_norm == "post_attention_norm");
}

namespace {

/// By layer, whether it is recurrent.
std::vector<bool> recurrent_layers(const model::Config& config) {
    std::vector<bool> recurrent;
    recurrent.reserve(config.layers.size());
    for (const model::LayerConfig& layer : config.layers)
        recurrent.push_back(layer.mixer.get_if<model::DeltaNetConfig>() != nullptr);
    return recurrent;
}

} // namespace

TEST_CASE("qwen35 has attention in every fourth layer, and gated delta nets of one shape in the others") {
    RandomModelOptions options = options_of(RandomArchitecture::qwen35);
    options.layers = 5;
    options.attention_interval = 0;
    options.rotated = 4;
    options.delta_value_dim = 24;
    options.predicting_layers = 2;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(recurrent_layers(*config) == std::vector<bool>{true, true, true, false, true});
    CHECK(config->ignored_layers == 2);
    CHECK(config->is_recurrent());
    CHECK(config->feed_forward_norm == "post_attention_norm");
    CHECK(config->layers[3].attention()->output_gate);
    CHECK(config->cache_groups[0].rotary.dims == 4);
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::halves);
    const model::DeltaNetConfig& net = *config->layers[0].mixer.get_if<model::DeltaNetConfig>();
    CHECK(net.convolution_width == 4);
    CHECK(net.shape.key_heads == 2);
    CHECK(net.shape.value_heads == 4);
    CHECK(net.shape.key_dim == 16);
    CHECK(net.shape.value_dim == 24);
    CHECK(net.shape.order == kernels::KeyHeadOrder::tiled);
}

TEST_CASE("qwen35moe and qwen3next have delta nets, and experts of which one is shared") {
    for (const auto architecture : {RandomArchitecture::qwen35moe, RandomArchitecture::qwen3next}) {
        RandomModelOptions options = options_of(architecture);
        options.layers = 4;
        options.attention_interval = 0;
        options.shared_feed_forward = 24;
        const auto config = config_of(options);
        REQUIRE(config);
        CHECK(recurrent_layers(*config) == std::vector<bool>{true, true, true, false});
        CHECK(config->layers[3].attention()->output_gate);
        CHECK(config->feed_forward_norm == "post_attention_norm");
        CHECK(config->experts.count == 5);
        CHECK(config->experts.normalised);
        CHECK(config->experts.shared_feed_forward == 24);
        CHECK(config->experts.shared_row_gate);
        const model::DeltaNetConfig& net = *config->layers[0].mixer.get_if<model::DeltaNetConfig>();
        const bool is_grouped = architecture == RandomArchitecture::qwen3next;
        CHECK(net.fused_gates == is_grouped);
        CHECK_FALSE(net.fused_inputs);
        CHECK(net.shape.order ==
              (is_grouped ? kernels::KeyHeadOrder::grouped : kernels::KeyHeadOrder::tiled));
    }
    Bytes bytes = random_model_keys(options_of(RandomArchitecture::qwen3next)).bytes();
    set_integer(bytes, "qwen3next.expert_shared_feed_forward_length", 0);
    CHECK(config_of(bytes).error().message ==
          "m.gguf: qwen3next.expert_shared_feed_forward_length = 0: outside 1 to 262144");
}

TEST_CASE("lfm2 has attention in the layers with key/value heads, and short convolutions in the others") {
    RandomModelOptions options = options_of(RandomArchitecture::lfm2);
    options.layers = 3;
    options.convolution_width = 3;
    const auto config = config_of(options);
    REQUIRE(config);
    REQUIRE(config->layers[1].attention() != nullptr);
    CHECK(config->layers[1].attention()->kv_heads == 2);
    for (const std::size_t layer : {0, 2}) {
        const auto& mixer = *config->layers[layer].mixer.get_if<model::ShortConvolutionConfig>();
        CHECK(mixer.channels == options.embedding);
        CHECK(mixer.width == 3);
    }
    CHECK(config->is_recurrent());
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::halves);
    CHECK(config->output_norm == "token_embd_norm");

    options.attention_interval = 4;
    CHECK(config_of(options).error().message ==
          "m.gguf: lfm2.attention.head_count_kv = an array: 0 in every layer is not supported");
}

TEST_CASE("granitehybrid has attention in the layers with key/value heads, and Mamba 2 in the others") {
    RandomModelOptions options = options_of(RandomArchitecture::granitehybrid);
    options.layers = 3;
    options.rotates = false;
    options.norm_epsilon = 1e-5F;
    const auto config = config_of(options);
    REQUIRE(config);
    REQUIRE(config->layers[1].attention() != nullptr);
    CHECK_FALSE(config->layers[1].attention()->rotates);
    const auto& mamba = *config->layers[2].mixer.get_if<model::Mamba2Config>();
    CHECK(mamba.shape.heads == 4);
    CHECK(mamba.shape.groups == 2);
    CHECK(mamba.shape.head_dim == 16);
    CHECK(mamba.shape.state_dim == 16);
    CHECK(mamba.convolution_width == 4);
    CHECK(mamba.epsilon == 1e-5F);                 // not of the scaled residual
    CHECK(config->rms_epsilon == Approx(6.25e-5)); // 1e-5 / 0.4^2
    CHECK(config->experts.count == 0);

    options.mamba_groups = 3;
    CHECK(config_of(options).error().message ==
          "m.gguf: granitehybrid.ssm.time_step_rank = 4: not a multiple of group_count 3");
}

TEST_CASE("a block of falcon-h1 is a layer of attention and one of Mamba 2 over the same norm") {
    RandomModelOptions options = options_of(RandomArchitecture::falcon_h1);
    options.layers = 3;
    auto config = config_of(random_model_writer(options));
    REQUIRE(config);
    REQUIRE(config->layer_count() == 6);
    CHECK(config->is_recurrent());
    for (uint32_t block = 0; block < 3; ++block) {
        CHECK(config->layers[2 * block].attention() != nullptr);
        CHECK(config->layers[2 * block].feed_forward == 0);
        const auto& mamba = *config->layers[2 * block + 1].mixer.get_if<model::Mamba2Config>();
        CHECK(mamba.shape.heads == 4);
        CHECK(mamba.shares_norm);
        CHECK(mamba.has_output_norm);
        CHECK(config->layers[2 * block + 1].feed_forward == 96);
    }
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::halves);
    options.mamba_norm = false;
    config = config_of(random_model_writer(options));
    REQUIRE(config);
    CHECK_FALSE(config->layers[1].mixer.get_if<model::Mamba2Config>()->has_output_norm);
}

TEST_CASE("mamba2 has Mamba 2 in every layer, and neither keys nor feed-forward blocks") {
    RandomModelOptions options = options_of(RandomArchitecture::mamba2);
    options.layers = 3;
    const auto config = config_of(options);
    REQUIRE(config);
    REQUIRE(config->layer_count() == 3);
    CHECK(config->is_recurrent());
    CHECK(config->context == options.context);
    for (const model::LayerConfig& layer : config->layers) {
        const auto& mamba = *layer.mixer.get_if<model::Mamba2Config>();
        CHECK(mamba.shape.heads == 4);
        CHECK(mamba.shape.groups == 2);
        CHECK(mamba.shape.head_dim == 16);
        CHECK(mamba.shape.state_dim == 16);
        CHECK(mamba.convolution_width == 4);
        CHECK(mamba.epsilon == config->rms_epsilon);
        CHECK(layer.feed_forward == 0);
    }
    REQUIRE(config->cache_groups.size() == 1); // pages without bytes
    CHECK(config->cache_groups[0].rotary.dims == 0);

    options.mamba_groups = 3;
    CHECK(config_of(options).error().message ==
          "m.gguf: mamba2.ssm.time_step_rank = 4: not a multiple of group_count 3");
}

TEST_CASE("nemotron_h has one block in each layer") {
    RandomModelOptions options = options_of(RandomArchitecture::nemotron_h_moe);
    options.layers = 6;
    const auto config = config_of(options);
    REQUIRE(config);
    for (const uint32_t layer : {0U, 3U}) {
        CHECK(config->layers[layer].mixer.get_if<model::Mamba2Config>() != nullptr);
        CHECK(config->layers[layer].feed_forward == 0);
        CHECK_FALSE(config->has_experts(layer));
    }
    for (const uint32_t layer : {1U, 4U}) {
        REQUIRE(config->layers[layer].attention() != nullptr);
        CHECK_FALSE(config->layers[layer].attention()->rotates);
        CHECK_FALSE(config->has_experts(layer));
    }
    for (const uint32_t layer : {2U, 5U}) {
        CHECK(config->layers[layer].mixer.empty());
        CHECK(config->has_experts(layer));
    }
    CHECK_FALSE(config->experts.gated);
    CHECK(config->gate == kernels::Gate::relu);
    CHECK(config->feed_forward_norm == "attn_norm");
    CHECK(error_with(options, "nemotron_h_moe.moe_latent_size", 64U) ==
          "m.gguf: nemotron_h_moe.moe_latent_size = 64: experts of a latent size are not supported");
}

TEST_CASE("lists of key/value heads hold zeros and one other number, a value for each layer") {
    const auto error_with = [&](const std::vector<int32_t>& heads) {
        GgufWriter writer;
        writer.add("general.architecture", "lfm2");
        for (const auto& [key, value] : {std::pair{"block_count", 3U},
                                         {"context_length", 64U},
                                         {"embedding_length", 64U},
                                         {"feed_forward_length", 64U},
                                         {"attention.head_count", 4U},
                                         {"vocab_size", 300U},
                                         {"shortconv.l_cache", 3U}})
            writer.add(std::string("lfm2.") + key, value);
        writer.add("lfm2.attention.layer_norm_rms_epsilon", 1e-5F);
        writer.add_array("lfm2.attention.head_count_kv", heads);
        return config_of(writer.bytes()).error().message;
    };
    CHECK(error_with({0, 2}) ==
          "m.gguf: lfm2.attention.head_count_kv = an array: must hold 3 integers that are not negative");
    CHECK(error_with({0, 2, -1}) ==
          "m.gguf: lfm2.attention.head_count_kv = an array: must hold 3 integers that are not negative");
    CHECK(error_with({0, 2, 4097}) ==
          "m.gguf: lfm2.attention.head_count_kv = an array: has values outside 0 to 4096");
    CHECK(error_with({1, 0, 2}) ==
          "m.gguf: lfm2.attention.head_count_kv = an array: values above 0 that differ are not supported");
}

TEST_CASE("qwen35 may list its recurrent layers") {
    RandomModelOptions options = options_of(RandomArchitecture::qwen35);
    options.layers = 3;
    const std::string key = "qwen35.attention.recurrent_layers";
    GgufWriter writer = random_model_keys(options);
    writer.add_array(key, std::vector<bool>{false, true, true});
    CHECK(recurrent_layers(*config_of(writer)) == std::vector<bool>{false, true, true});
    GgufWriter wrong = random_model_keys(options);
    wrong.add_array(key, std::vector<bool>{false, true});
    CHECK(config_of(wrong).error().message == "m.gguf: " + key + " = an array: must hold 3 truth values");
    GgufWriter none = random_model_keys(options);
    none.add_array(key, std::vector<bool>{true, true, true});
    CHECK(config_of(none).error().message == "m.gguf: qwen35.block_count = 3: no layer has attention");
}

TEST_CASE("inconsistent sizes of gated delta nets are refused") {
    RandomModelOptions options = options_of(RandomArchitecture::qwen35);
    options.delta_value_heads = 3;
    CHECK(config_of(options).error().message ==
          "m.gguf: qwen35.ssm.time_step_rank = 3: not a multiple of group_count 2");
    options = options_of(RandomArchitecture::qwen35);
    options.delta_key_dim = 257;
    CHECK(config_of(options).error().message == "m.gguf: qwen35.ssm.state_size = 257: outside 1 to 256");
    options = options_of(RandomArchitecture::qwen35);
    options.convolution_width = 9;
    CHECK(config_of(options).error().message == "m.gguf: qwen35.ssm.conv_kernel = 9: outside 2 to 8");
    options = options_of(RandomArchitecture::qwen35);
    Bytes bytes = random_model_keys(options).bytes();
    set_integer(bytes, "qwen35.ssm.inner_size", 66);
    CHECK(config_of(bytes).error().message ==
          "m.gguf: qwen35.ssm.inner_size = 66: not a multiple of time_step_rank 4");
    CHECK(error_with(options, "qwen35.nextn_predict_layers", 2U) ==
          "m.gguf: qwen35.nextn_predict_layers = 2: outside 0 to 1");
    CHECK(error_with(options, "qwen35.expert_count", 8U) ==
          "m.gguf: qwen35.expert_count = 8: mixtures of experts are not supported");
}

TEST_CASE("gemma3 may list the layers with a window") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma3);
    options.layers = 4;
    options.window = 100;
    options.window_pattern = 0;
    const std::string key = "gemma3.attention.sliding_window_pattern";
    GgufWriter writer = random_model_keys(options);
    writer.add_array(key, std::vector<bool>{true, false, false, true});
    const auto config = config_of(writer);
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 0, 0, 1});
    CHECK(config->cache_groups.size() == 2);
    for (const std::vector<bool>& other : {std::vector<bool>(3), std::vector<bool>(5)}) {
        GgufWriter wrong = random_model_keys(options);
        wrong.add_array(key, other);
        CHECK(config_of(wrong).error().message == "m.gguf: " + key + " = an array: must hold 4 truth values");
    }
    CHECK(error_with(options, key, "every other") == "m.gguf: " + key + " = `every other`: not an integer");
}

TEST_CASE("gemma3 without a window has full-attention layers only, with one set of RoPE parameters") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma3);
    options.layers = 3;
    options.window = 0;
    options.rope_base = 1e6F;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{0, 0, 0});
    REQUIRE(config->cache_groups.size() == 1);
    CHECK(config->cache_groups[0].window_tokens == 0);
    CHECK(config->cache_groups[0].rotary.base == 1e6);
}

TEST_CASE("gemma3 of 62 layers scales its scores by width / heads") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma3);
    options.layers = 62;
    options.heads = 2;
    CHECK(config_of(options)->attention_scale == Approx(1 / std::sqrt(32.0)));
}

TEST_CASE("phi3 may have a window; without the key it has full attention") {
    RandomModelOptions options = options_of(RandomArchitecture::phi3);
    options.window = 255;
    CHECK(config_of(options)->cache_groups[0].window_tokens == 255);
    options.window = 0;
    CHECK(config_of(options)->cache_groups[0].window_tokens == 0);
}

TEST_CASE("qwen3moe has experts") {
    const auto config = config_of(options_of(RandomArchitecture::qwen3moe));
    REQUIRE(config);
    CHECK(config->experts.count == 5);
    CHECK(config->experts.experts_per_token == 2);
    CHECK(config->experts.feed_forward == 32);
}

TEST_CASE("inconsistent numbers of experts are refused") {
    RandomModelOptions options = options_of(RandomArchitecture::qwen3moe);
    options.experts_used = 6;
    CHECK(config_of(options).error().message ==
          "m.gguf: qwen3moe.expert_used_count = 6: above expert_count 5");
    options.experts = 40;
    options.experts_used = 33;
    CHECK(config_of(options).error().message == "m.gguf: qwen3moe.expert_used_count = 33: outside 1 to 32");
    options.experts = 2000;
    CHECK(config_of(options).error().message == "m.gguf: qwen3moe.expert_count = 2000: outside 1 to 1024");
    options.experts = 0;
    CHECK(config_of(options).error().message == "m.gguf: qwen3moe.expert_count = 0: outside 1 to 1024");
    for (const auto architecture :
         {RandomArchitecture::gemma3, RandomArchitecture::phi3, RandomArchitecture::qwen2,
          RandomArchitecture::qwen2vl, RandomArchitecture::qwen3, RandomArchitecture::qwen3vl,
          RandomArchitecture::smollm3}) {
        const std::string key = std::string(to_string(architecture)) + ".expert_count";
        CHECK(error_with(options_of(architecture), key, 8U) ==
              "m.gguf: " + key + " = 8: mixtures of experts are not supported");
    }
}

TEST_CASE("glm4moe and lfm2moe choose experts by biased sigmoids, after dense layers") {
    for (const auto architecture : {RandomArchitecture::glm4moe, RandomArchitecture::lfm2moe}) {
        RandomModelOptions options = options_of(architecture);
        options.layers = 3;
        options.dense_layers = 2;
        options.expert_scale = 2.5F;
        options.shared_experts = 3;
        const auto config = config_of(options);
        REQUIRE(config);
        CHECK(config->experts.scores == kernels::RoutingRule::Scores::sigmoid);
        CHECK(config->experts.selection_bias);
        CHECK(config->experts.normalised);
        CHECK(config->experts.scale == 2.5F);
        CHECK_FALSE(config->has_experts(1));
        CHECK(config->has_experts(2));
        const bool is_glm = architecture == RandomArchitecture::glm4moe;
        CHECK(config->experts.shared_feed_forward == (is_glm ? 3 * options.expert_feed_forward : 0));
        CHECK_FALSE(config->experts.shared_row_gate);

        const std::string prefix = "m.gguf: " + std::string(to_string(architecture)) + ".";
        const std::string name = prefix.substr(8);
        Bytes softmax = random_model_keys(options).bytes();
        set_integer(softmax, name + "expert_gating_func", 1);
        CHECK(config_of(softmax).error().message ==
              prefix + "expert_gating_func = 1: only sigmoid (2) is supported");
        options.experts = 6;
        options.expert_groups = 1; // its keys are added below
        CHECK(error_with(options, name + "expert_group_count", 4U) ==
              prefix + "expert_group_count = 4: does not divide expert_count 6");
        GgufWriter grouped = random_model_keys(options);
        grouped.add(name + "expert_group_count", 3U);
        grouped.add(name + "expert_group_used_count", 2U);
        const auto groups = config_of(grouped);
        REQUIRE(groups);
        CHECK(groups->experts.groups == 3);
        CHECK(groups->experts.groups_used == 2);
        options.experts_used = 3;
        GgufWriter few = random_model_keys(options);
        few.add(name + "expert_group_count", 3U);
        few.add(name + "expert_group_used_count", 1U);
        CHECK(config_of(few).error().message == prefix +
                                                    "expert_group_used_count = 1: groups with fewer experts "
                                                    "than expert_used_count 3");
    }
}

TEST_CASE("qwen2moe does not normalise its routing weights, and shares an expert") {
    RandomModelOptions options = options_of(RandomArchitecture::qwen2moe);
    options.shared_feed_forward = 48;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK_FALSE(config->experts.normalised);
    CHECK(config->experts.feed_forward == 32);
    CHECK(config->experts.shared_feed_forward == 48);
    CHECK(config->experts.shared_row_gate);
}

TEST_CASE("llama and mistral3 may have experts, as wide as a dense block") {
    for (const auto architecture : {RandomArchitecture::llama, RandomArchitecture::mistral3}) {
        RandomModelOptions options = options_of(architecture);
        CHECK(config_of(options)->experts.count == 0);
        options.mixture = true;
        const auto config = config_of(options);
        REQUIRE(config);
        CHECK(config->experts.count == 5);
        CHECK(config->experts.experts_per_token == 2);
        CHECK(config->experts.feed_forward == 96);
        CHECK(config->experts.normalised);
        CHECK(config->experts.shared_feed_forward == 0);
    }
}

TEST_CASE("mistral3 scales queries by position, in periods of the original context") {
    RandomModelOptions options = options_of(RandomArchitecture::mistral3);
    const auto plain = config_of(options);
    REQUIRE(plain);
    CHECK(plain->temperature_scale == 0);
    CHECK(plain->cache_groups[0].rotary.pairs == kernels::RotaryPairs::adjacent);
    options.rope_scaling = RopeScaling::yarn;
    options.yarn_log_multiplier = 0.5F;
    options.temperature_scale = 0.25F;
    options.original_context = 48;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(config->temperature_scale == 0.25F);
    CHECK(config->temperature_tokens == 48);
    const model::Rotary rotary(config->cache_groups[0].rotary, 256);
    CHECK(rotary.magnitude() == Approx((1 + 0.1 * std::log(4.0)) / (1 + 0.05 * std::log(4.0))));
    CHECK(
        error_with(options_of(RandomArchitecture::mistral3), "mistral3.attention.temperature_scale", -1.0F) ==
        "m.gguf: mistral3.attention.temperature_scale = -1: must be at least 0 and at most 100");
}

TEST_CASE("every fourth layer of smollm3 does not rotate") {
    RandomModelOptions options = options_of(RandomArchitecture::smollm3);
    options.layers = 9;
    const auto config = config_of(options);
    REQUIRE(config);
    std::vector<bool> rotates;
    rotates.reserve(config->layers.size());
    for (const model::LayerConfig& layer : config->layers)
        rotates.push_back(layer.attention()->rotates);
    CHECK(rotates == std::vector<bool>{true, true, true, false, true, true, true, false, true});
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::adjacent);
}

TEST_CASE("granite scales embeddings, scores and logits, and the residual through its epsilon") {
    RandomModelOptions options = options_of(RandomArchitecture::granite);
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(config->embedding_scale == Approx(3 / 0.4));
    CHECK(config->embedding_input_scale == config->embedding_scale);
    CHECK(config->rms_epsilon == Approx(1e-5 / 0.16));
    CHECK(config->attention_scale == 0.3F);
    CHECK(config->logit_scale == 0.5F);
    CHECK(config->layers[1].attention()->rotates);
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::adjacent);
    options.residual_scale = options.embedding_scale = options.attention_scale = 0;
    CHECK(error_with(options, "granite.residual_scale", 0.0F) ==
          "m.gguf: granite.residual_scale = 0: must be above 1e-06 and at most 1000000");
    CHECK(error_with(options, "granite.rope.scaling.finetuned", 1U) ==
          "m.gguf: granite.rope.scaling.finetuned = 1: not a truth value");
    options.rotates = false;
    const auto plain = config_of(options);
    REQUIRE(plain);
    CHECK(plain->embedding_scale == 1);
    CHECK(plain->rms_epsilon == 1e-5F);
    CHECK(plain->attention_scale == 0.25F);
    CHECK_FALSE(plain->layers[1].attention()->rotates);
}

TEST_CASE("granitemoe has experts as wide as a dense block, and may share one without a row gate") {
    RandomModelOptions options = options_of(RandomArchitecture::granitemoe);
    options.shared_feed_forward = 40;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(config->experts.count == 5);
    CHECK(config->experts.feed_forward == 96);
    CHECK(config->experts.shared_feed_forward == 40);
    CHECK_FALSE(config->experts.shared_row_gate);
    options.shared_feed_forward = 0;
    CHECK(config_of(options)->experts.shared_feed_forward == 0);
}

TEST_CASE("glm4 rotates neighbours, or halves in files with coordinates of an image") {
    RandomModelOptions options = options_of(RandomArchitecture::glm4);
    options.layers = 3;
    options.rotated = 8;
    options.predicting_layers = 1;
    const auto config = config_of(options);
    REQUIRE(config);
    CHECK(config->layer_count() == 3);
    CHECK(config->ignored_layers == 1);
    CHECK(config->cache_groups[0].rotary.dims == 8);
    CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::adjacent);
    options.coordinates = true;
    CHECK(config_of(options)->cache_groups[0].rotary.pairs == kernels::RotaryPairs::halves);
}

TEST_CASE("the text models of Qwen's vision models rotate as for equal coordinates") {
    for (const auto architecture :
         {RandomArchitecture::qwen2vl, RandomArchitecture::qwen3vl, RandomArchitecture::qwen3vlmoe}) {
        const auto config = config_of(options_of(architecture));
        REQUIRE(config);
        CHECK(config->cache_groups[0].rotary.pairs == kernels::RotaryPairs::halves);
        CHECK(config->cache_groups[0].rotary.dims == 16);
        CHECK(config->experts.count == (architecture == RandomArchitecture::qwen3vlmoe ? 5 : 0));
    }
}

TEST_CASE("suppressed tokens are read of every architecture, in order and within the vocabulary") {
    constexpr const char* key = "tokenizer.ggml.suppress_tokens";
    const RandomModelOptions options = options_of(RandomArchitecture::gemma4);
    CHECK(config_of(options)->suppressed_tokens.empty());
    GgufWriter writer = random_model_keys(options);
    writer.add_array(key, std::vector<int32_t>{7, 3, -1, 7, 1 << 30});
    const auto config = config_of(writer);
    REQUIRE(config);
    CHECK(config->suppressed_tokens == std::vector<uint32_t>{3, 7});
    CHECK(error_with(options, key, 5U) ==
          "m.gguf: tokenizer.ggml.suppress_tokens = 5: must be a list of token ids");
    GgufWriter all = random_model_keys(options);
    std::vector<uint32_t> ids(config->vocabulary);
    std::iota(ids.begin(), ids.end(), 0U);
    all.add_array(key, ids);
    CHECK(config_of(all).error().message.ends_with(": leaves no token"));
}

TEST_CASE("errors name bad values of architecture-specific keys") {
    const RandomModelOptions phi3 = options_of(RandomArchitecture::phi3);
    CHECK(error_with(phi3, "phi3.rope.scaling.type", "dynamic") ==
          "m.gguf: phi3.rope.scaling.type = `dynamic`: must be none, linear, yarn or longrope");
    const RandomModelOptions gemma3 = options_of(RandomArchitecture::gemma3);
    CHECK(error_with(gemma3, "gemma3.rope.freq_base_swa", 0.5F) ==
          "m.gguf: gemma3.rope.freq_base_swa = 0.5: must be above 1 and at most 1000000000000");
    CHECK(error_with(gemma3, "gemma3.final_logit_softcapping", -1.0F) ==
          "m.gguf: gemma3.final_logit_softcapping = -1: must be at least 0 and at most 1000000");
}
