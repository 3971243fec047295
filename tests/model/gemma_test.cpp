#include "core/model/model.hpp"
#include "tests/model/config_case.hpp"
#include "tests/model/model_case.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

// The keys of Gemma 3n and Gemma 4, and the values that are refused.
namespace {

/// Full layers 1 and 3, of which 3 reads the keys of 1, and windows 0 and 2, of which 2 reads those of 0.
RandomModelOptions gemma4_options() {
    RandomModelOptions options = options_of(RandomArchitecture::gemma4);
    options.layers = 4;
    options.heads = 4;
    options.head_dim = 32;
    options.window_head_dim = 16;
    options.window_kv_heads = 4;
    options.shared_kv_layers = 2;
    options.wide_shared_layers = true;
    options.values_are_keys = true;
    return options;
}

} // namespace

TEST_CASE("gemma4 has head sizes by window, and layers that read the keys of an earlier one") {
    const RandomModelOptions options = gemma4_options();
    const auto config = config_of(random_model_writer(options));
    REQUIRE(config);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 0, 1, 0});
    CHECK(config->cache_groups[0].rotary.dims == 32);
    CHECK(config->cache_groups[0].rotary.has_divisors);
    CHECK(config->cache_groups[1].rotary.dims == 16);
    CHECK(config->cache_groups[1].rotary.base == 5000);
    CHECK_FALSE(config->cache_groups[1].rotary.has_divisors);
    const auto layer = [&](uint32_t index) { return *config->layers[index].attention(); };
    CHECK(layer(0).head_dim == 16);
    CHECK(layer(0).kv_heads == 4);
    CHECK(layer(1).head_dim == 32);
    CHECK(layer(1).kv_heads == 2);
    CHECK_FALSE(layer(0).values_are_keys);
    CHECK(layer(1).values_are_keys);
    CHECK(layer(1).norms_values);
    CHECK_FALSE(layer(0).keys_of.has_value());
    CHECK(layer(2).keys_of == 0U);
    CHECK(layer(3).keys_of == 1U);
    CHECK(config->layers[1].feed_forward == 96);
    CHECK(config->layers[2].feed_forward == 192);
    CHECK(config->per_layer_width == 32);
    CHECK(config->attention_scale == 1);
    CHECK(config->embedding_scale == 8);
}

TEST_CASE("gemma4 may have experts in parallel with the dense block of each layer") {
    RandomModelOptions options = gemma4_options();
    CHECK(config_of(random_model_writer(options))->experts.count == 0);
    options.mixture = true;
    const auto config = config_of(random_model_writer(options));
    REQUIRE(config);
    CHECK(config->experts.count == 5);
    CHECK(config->experts.experts_per_token == 2);
    CHECK(config->experts.feed_forward == 32);
    CHECK(config->experts.normalised);
    CHECK(config->experts.has_dense_branch);
    CHECK_FALSE(config->experts.fused_gate_up);
    CHECK(config->has_experts(0));
    CHECK(config->layers[2].feed_forward == 192);
    options.fused_experts = true;
    CHECK(config_of(random_model_writer(options))->experts.fused_gate_up);
}

TEST_CASE("gemma4 ignores the key weights of layers that read another's keys") {
    GgufWriter writer = random_model_writer(gemma4_options());
    for (const char* name : {"blk.2.attn_k.weight", "blk.2.attn_v.weight"})
        writer.add_tensor({name, 0, {64, 64}, Bytes(64 * 64 * 4)});
    writer.add_tensor({"blk.2.attn_k_norm.weight", 0, {16}, Bytes(64)});
    const Bytes bytes = writer.bytes();
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    CHECK(model::check_model(*file));
}

TEST_CASE("gemma4 refuses keys that contradict each other or are not supported, by name") {
    const auto error_of = [](const RandomModelOptions& options) {
        const auto config = config_of(options);
        REQUIRE(!config);
        return config.error().message;
    };
    RandomModelOptions options = gemma4_options();
    options.per_layer_width = 6;
    CHECK(error_of(options) ==
          "m.gguf: gemma4.embedding_length_per_layer_input = 6: must be a multiple of 4");
    options = gemma4_options();
    options.window_head_dim = 10;
    CHECK(error_of(options) ==
          "m.gguf: gemma4.attention.key_length = 32: one layer has rows of 40 elements, others have another "
          "length: all lengths must be multiples of 256");
    options = gemma4_options();
    options.window_kv_heads = 3;
    CHECK(error_of(options) ==
          "m.gguf: gemma4.attention.head_count_kv = an array: does not divide head_count 4");
    options = gemma4_options();
    options.shared_kv_layers = 3;
    CHECK(error_of(options) ==
          "m.gguf: gemma4.attention.shared_kv_layers = 3: no earlier layer has the same window");
    options = gemma4_options();
    options.mixture = true;
    options.experts_used = 6;
    CHECK(error_of(options) == "m.gguf: gemma4.expert_used_count = 6: above expert_count 5");
}

TEST_CASE(
    "gemma3n has streams, inputs of layers, sparse gates and layers that read the keys of an earlier one") {
    RandomModelOptions options = options_of(RandomArchitecture::gemma3n);
    options.layers = 4;
    options.window = 100;
    options.shared_kv_layers = 2;
    options.wide_shared_layers = true;
    options.feed_forward = 256;
    options.sparse_layers = 2;
    options.laurel_rank = 24;
    const auto config = config_of(random_model_writer(options));
    REQUIRE(config);
    CHECK(config->streams == 4);
    CHECK(config->laurel_rank == 24);
    CHECK(config->per_layer_width == 32);
    CHECK(groups_of(*config) == std::vector<uint32_t>{1, 0, 1, 0});
    CHECK(config->cache_groups[1].window_tokens == 100);
    CHECK(config->cache_groups[1].rotary.base == 10000);
    CHECK(config->layers[2].attention()->keys_of == 0U);
    CHECK(config->layers[3].attention()->keys_of == 1U);
    CHECK(config->layers[0].attention()->norms_values);
    CHECK(config->layers[1].gate_deviations == 1.6448533F);
    CHECK_FALSE(config->layers[2].gate_deviations.has_value());
    CHECK(config->layers[1].feed_forward == 256);
    CHECK(config->layers[2].feed_forward == 512);
    CHECK(config->attention_scale == 1);
    CHECK(config->embedding_scale == 8);
    CHECK(config->logit_softcap == 30);

    Bytes bytes = random_model_keys(options).bytes();
    set_integer(bytes, "gemma3n.altup.active_idx", 1);
    CHECK(config_of(bytes).error().message ==
          "m.gguf: gemma3n.altup.active_idx = 1: only stream 0 may pass through the layers");
    options.streams = 9;
    CHECK(config_of(options).error().message == "m.gguf: gemma3n.altup.num_inputs = 9: outside 2 to 8");
    options.streams = 1;
    CHECK(config_of(options).error().message == "m.gguf: gemma3n.altup.num_inputs = 1: outside 2 to 8");
    options.streams = 2;
    options.per_layer_width = 6;
    CHECK(config_of(options).error().message ==
          "m.gguf: gemma3n.embedding_length_per_layer_input = 6: must be a multiple of 4");
}
