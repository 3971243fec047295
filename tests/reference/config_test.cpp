#include "tests/reference/config.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

using namespace etna;
using namespace etna::reference;

namespace {

// Only the keys without a default.
test::GgufWriter smallest(const std::string& architecture) {
    test::GgufWriter writer;
    writer.add("general.architecture", architecture);
    writer.add(architecture + ".block_count", uint32_t{3});
    writer.add(architecture + ".embedding_length", uint32_t{48});
    writer.add(architecture + ".feed_forward_length", uint32_t{100});
    writer.add(architecture + ".context_length", uint32_t{2048});
    writer.add(architecture + ".attention.head_count", uint32_t{6});
    writer.add(architecture + ".attention.layer_norm_rms_epsilon", 0.5F);
    return writer;
}

Result<Config> read(const test::GgufWriter& writer) {
    const test::Bytes bytes = writer.bytes();
    ETNA_TRY(const gguf::File file, gguf::File::parse(bytes, "case"));
    return read_config(file);
}

} // namespace

TEST_CASE("absent keys have the defaults of the convention") {
    const auto config = read(smallest("llama"));
    REQUIRE(config.has_value());
    CHECK(config->layers == 3);
    CHECK(config->width == 48);
    CHECK(config->feed_forward == 100);
    CHECK(config->heads == 6);
    CHECK(config->kv_heads == 6);
    CHECK(config->head_length == 8);
    CHECK(config->epsilon == 0.5);
    CHECK(config->pairing == Pairing::adjacent);
    CHECK(config->rotary.rotated == 8);
    CHECK(config->rotary.base == 10000);
    CHECK(config->rotary.factor == 1);
    CHECK(config->rotary.attention_factor == 1);
    CHECK_FALSE(config->rotary.yarn.has_value());
}

TEST_CASE("present keys replace the defaults") {
    test::GgufWriter writer = smallest("qwen3");
    writer.add("qwen3.attention.head_count_kv", uint32_t{2});
    writer.add("qwen3.attention.key_length", uint32_t{20});
    writer.add("qwen3.attention.value_length", uint32_t{20});
    writer.add("qwen3.rope.dimension_count", uint32_t{10});
    writer.add("qwen3.rope.freq_base", 500.0F);
    writer.add("qwen3.rope.scaling.type", "yarn");
    writer.add("qwen3.rope.scaling.factor", 4.0F);
    writer.add("qwen3.rope.scaling.attn_factor", 0.75F);
    writer.add("qwen3.rope.scaling.original_context_length", uint32_t{512});
    writer.add("qwen3.rope.scaling.yarn_beta_fast", 16.0F);
    writer.add("qwen3.rope.scaling.yarn_beta_slow", 2.0F);
    const auto config = read(writer);
    REQUIRE(config.has_value());
    CHECK(config->kv_heads == 2);
    CHECK(config->head_length == 20);
    CHECK(config->pairing == Pairing::half_split);
    CHECK(config->rotary.rotated == 10);
    CHECK(config->rotary.base == 500);
    CHECK(config->rotary.factor == 4);
    CHECK(config->rotary.attention_factor == 0.75);
    REQUIRE(config->rotary.yarn.has_value());
    CHECK(config->rotary.yarn->original_context_tokens == 512);
    CHECK(config->rotary.yarn->beta_fast == 16);
    CHECK(config->rotary.yarn->beta_slow == 2);
}

TEST_CASE("YaRN's own defaults are the context length, 32 and 1; a factor without a type is linear") {
    test::GgufWriter writer = smallest("llama");
    writer.add("llama.rope.scaling.factor", 4.0F);
    const auto linear = read(writer);
    REQUIRE(linear.has_value());
    CHECK(linear->rotary.factor == 4);
    CHECK_FALSE(linear->rotary.yarn.has_value());
    writer.add("llama.rope.scaling.type", "yarn");
    const auto yarn = read(writer);
    REQUIRE(yarn.has_value());
    REQUIRE(yarn->rotary.yarn.has_value());
    CHECK(yarn->rotary.yarn->original_context_tokens == 2048);
    CHECK(yarn->rotary.yarn->beta_fast == 32);
    CHECK(yarn->rotary.yarn->beta_slow == 1);
}

TEST_CASE("metadata that cannot be computed is refused") {
    CHECK(read(smallest("mamba")).error().kind == ErrorKind::unsupported);
    test::GgufWriter writer = smallest("llama");
    SECTION("a default never hides a value of the wrong type") {
        writer.add("llama.rope.freq_base", "ten thousand");
        CHECK(read(writer).error().message == "case: key `llama.rope.freq_base` is not a positive number");
    }
    SECTION("zero heads") {
        writer.add("llama.attention.head_count_kv", uint32_t{0});
        CHECK(read(writer).error().kind == ErrorKind::corrupt);
    }
    SECTION("kv heads that do not divide heads") {
        writer.add("llama.attention.head_count_kv", uint32_t{4});
        CHECK(read(writer).error().kind == ErrorKind::corrupt);
    }
    SECTION("more rotated elements than a head has") {
        writer.add("llama.rope.dimension_count", uint32_t{10});
        CHECK(read(writer).error().kind == ErrorKind::corrupt);
    }
    SECTION("another kind of scaling") {
        writer.add("llama.rope.scaling.type", "dynamic");
        CHECK(read(writer).error().kind == ErrorKind::unsupported);
    }
}
