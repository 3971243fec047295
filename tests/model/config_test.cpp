#include "core/model/arch/registry.hpp"
#include "core/model/config.hpp"
#include "core/model/model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// The minimum that describes a model, without one key and with another value of one.
GgufWriter least_keys(std::string_view without = "") {
    GgufWriter writer;
    writer.add("general.architecture", "llama");
    const auto add = [&](const std::string& key, uint32_t value) {
        if (key != without)
            writer.add("llama." + key, value);
    };
    add("block_count", 3);
    add("context_length", 777);
    add("embedding_length", 48);
    add("feed_forward_length", 100);
    add("attention.head_count", 6);
    if (without != "attention.layer_norm_rms_epsilon")
        writer.add("llama.attention.layer_norm_rms_epsilon", 1e-6F);
    writer.add("llama.vocab_size", 99U);
    return writer;
}

Result<model::Config> llama_config(const GgufWriter& writer) {
    static Bytes bytes;
    bytes = writer.bytes();
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    return model::read_config(*file, "llama", kernels::RotaryPairs::adjacent);
}

const model::RotaryConfig& rotary_of(const Result<model::Config>& config) {
    return config->cache_groups.at(0).rotary;
}

std::string error_of(const GgufWriter& writer) {
    const auto config = llama_config(writer);
    REQUIRE(!config);
    return config.error().message;
}

template <class T>
std::string error_with(const std::string& key, const T& value, const std::string& replaced = "") {
    GgufWriter writer = least_keys(replaced);
    writer.add("llama." + key, value);
    return error_of(writer);
}

} // namespace

TEST_CASE("absent keys take the defaults of the GGUF specification") {
    const auto config = llama_config(least_keys());
    REQUIRE(config);
    CHECK(config->layer_count() == 3);
    CHECK(config->context == 777);
    CHECK(config->vocabulary == 99);
    CHECK(config->layers[0].attention()->q_heads == 6);
    CHECK(config->layers[0].attention()->kv_heads == 6);
    CHECK(config->layers[0].attention()->head_dim == 8);
    CHECK(rotary_of(config).dims == 8);
    CHECK(rotary_of(config).base == 10000);
    CHECK(rotary_of(config).scaling == model::RotaryScaling::none);
    CHECK(config->rms_epsilon == Approx(1e-6));
    REQUIRE(config->cache_groups.size() == 1);
    CHECK(config->cache_groups[0].window_tokens == 0);
}

TEST_CASE("given keys are read") {
    GgufWriter writer = least_keys();
    writer.add("llama.attention.head_count_kv", 2U);
    writer.add("llama.attention.key_length", 10U);
    writer.add("llama.attention.value_length", 10U);
    writer.add("llama.rope.dimension_count", 6U);
    writer.add("llama.rope.freq_base", 5e5F);
    writer.add("llama.rope.scaling.type", "yarn");
    writer.add("llama.rope.scaling.factor", 8.0F);
    writer.add("llama.rope.scaling.original_context_length", 256U);
    writer.add("llama.rope.scaling.attn_factor", 0.5F);
    const auto config = llama_config(writer);
    REQUIRE(config);
    CHECK(config->layers[0].attention()->kv_heads == 2);
    CHECK(config->layers[0].attention()->q_width() == 60);
    CHECK(config->layers[0].attention()->kv_width() == 20);
    CHECK(rotary_of(config).dims == 6);
    CHECK(rotary_of(config).base == 5e5);
    CHECK(rotary_of(config).scaling == model::RotaryScaling::yarn);
    CHECK(rotary_of(config).factor == 8);
    CHECK(rotary_of(config).original_context == 256);
    CHECK(rotary_of(config).attention_factor == 0.5);
}

TEST_CASE("a scaling factor without a type is linear") {
    GgufWriter writer = least_keys();
    writer.add("llama.rope.scale_linear", 4.0F);
    const auto config = llama_config(writer);
    REQUIRE(config);
    CHECK(rotary_of(config).scaling == model::RotaryScaling::linear);
    CHECK(rotary_of(config).factor == 4);
}

TEST_CASE("a scaling factor of 0 means none") {
    GgufWriter writer = least_keys();
    writer.add("llama.rope.scaling.factor", 0.0F);
    CHECK(rotary_of(llama_config(writer)).factor == 1);
}

TEST_CASE("missing keys are named") {
    for (const std::string key : {"block_count", "context_length", "embedding_length", "feed_forward_length",
                                  "attention.head_count", "attention.layer_norm_rms_epsilon"})
        CHECK(error_of(least_keys(key)) == "m.gguf: llama." + key + ": the key is missing");
}

TEST_CASE("errors name bad values and their key") {
    CHECK(error_with("block_count", 0U, "block_count") == "m.gguf: llama.block_count = 0: outside 1 to 1024");
    CHECK(error_with("block_count", 5000U, "block_count") ==
          "m.gguf: llama.block_count = 5000: outside 1 to 1024");
    CHECK(error_with("embedding_length", uint64_t{1} << 40U, "embedding_length") ==
          "m.gguf: llama.embedding_length = 1099511627776: outside 1 to 262144");
    CHECK(error_with("embedding_length", "wide", "embedding_length") ==
          "m.gguf: llama.embedding_length = `wide`: not an integer");
    CHECK(
        error_with("attention.head_count", 7U, "attention.head_count") ==
        "m.gguf: llama.attention.head_count = 7: does not split embedding_length 48 into heads of 2 to 512");
    CHECK(error_with("attention.head_count_kv", 4U) ==
          "m.gguf: llama.attention.head_count_kv = 4: does not divide head_count 6");
    CHECK(error_with("attention.key_length", 7U) ==
          "m.gguf: llama.attention.key_length = 7: heads of 7 elements: the size must be even");
    CHECK(error_with("attention.key_length", 1024U) ==
          "m.gguf: llama.attention.key_length = 1024: outside 2 to 512");
    CHECK(error_with("attention.value_length", 4U) ==
          "m.gguf: llama.attention.value_length = 4: must equal the key length 8");
    CHECK(error_with("rope.dimension_count", 10U) ==
          "m.gguf: llama.rope.dimension_count = 10: above the head size 8");
    CHECK(error_with("rope.dimension_count", 5U) == "m.gguf: llama.rope.dimension_count = 5: must be even");
    CHECK(error_with("rope.freq_base", NAN) ==
          "m.gguf: llama.rope.freq_base = nan: must be above 1 and at most 1000000000000");
    CHECK(error_with("rope.freq_base", 1.0F) ==
          "m.gguf: llama.rope.freq_base = 1: must be above 1 and at most 1000000000000");
    CHECK(error_with("rope.scaling.factor", -1.0F) ==
          "m.gguf: llama.rope.scaling.factor = -1: must be at least 0 and at most 1000000");
    CHECK(error_with("rope.scaling.type", std::string(100000, 'x')) ==
          "m.gguf: llama.rope.scaling.type = `" + std::string(100, 'x') +
              "...`: must be none, linear, yarn or longrope");
    CHECK(error_with("rope.scaling.type", "dynamic") ==
          "m.gguf: llama.rope.scaling.type = `dynamic`: must be none, linear, yarn or longrope");
    CHECK(error_with("expert_count", 8U) ==
          "m.gguf: llama.expert_count = 8: mixtures of experts are not supported");
    CHECK(error_with("attention.layer_norm_rms_epsilon", 0.0F, "attention.layer_norm_rms_epsilon") ==
          "m.gguf: llama.attention.layer_norm_rms_epsilon = 0: must be above 0 and at most 0.1");
}

TEST_CASE("head counts that differ by layer are refused, with an explanation") {
    GgufWriter writer = least_keys("attention.head_count");
    writer.add_array("llama.attention.head_count", std::vector<uint32_t>{6, 6, 3});
    const auto config = llama_config(writer);
    REQUIRE(!config);
    CHECK(config.error().kind == ErrorKind::unsupported);
    CHECK(config.error().message == "m.gguf: llama.attention.head_count = an array: values that differ from "
                                    "layer to layer are not supported");
}

TEST_CASE("a list with the same value for each layer is that number") {
    GgufWriter writer = least_keys("attention.head_count");
    writer.add_array("llama.attention.head_count", std::vector<uint32_t>{8, 8, 8});
    const auto config = llama_config(writer);
    REQUIRE(config);
    CHECK(config->layers[0].attention()->q_heads == 8);
    GgufWriter differing = least_keys("attention.head_count");
    differing.add_array("llama.attention.head_count", std::vector<uint32_t>{8, 4, 8});
    CHECK(error_of(differing).find("differ from layer to layer") != std::string::npos);
    GgufWriter negative = least_keys("attention.head_count");
    negative.add_array("llama.attention.head_count", std::vector<int32_t>{-8, -8, -8});
    CHECK(error_of(negative).find("attention.head_count") != std::string::npos);
}

TEST_CASE("the error for a file without tensors reports that it has only a vocabulary") {
    const Bytes bytes = least_keys().bytes();
    const auto file = gguf::File::parse(bytes, "words.gguf");
    REQUIRE(file);
    const auto plan = model::plan_model(*file, {}, {.matrix_part_bytes = 1U << 30U});
    REQUIRE(!plan);
    CHECK(plan.error().message == "words.gguf: holds a vocabulary alone, no weights");
    CHECK(!plan.error().hint.empty());
}

TEST_CASE("errors in the metadata have a hint") {
    for (const char* key : {"block_count", "embedding_length", "attention.head_count"}) {
        CAPTURE(key);
        const auto config = llama_config(least_keys(key));
        REQUIRE(!config);
        CHECK(!config.error().hint.empty());
    }
}

TEST_CASE("with experts, the width of a dense layer is optional") {
    GgufWriter writer = least_keys("feed_forward_length");
    writer.add("llama.expert_feed_forward_length", 64U);
    CHECK(llama_config(writer).has_value());
}
