#include "tests/reference/config.hpp"
#include "tests/reference/model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/tensor_content.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::reference;

// What sets architectures apart, against definitions and by properties that need no second implementation.
namespace {

constexpr std::array<TokenId, 12> twelve_tokens{3, 200, 17, 17, 45, 260, 1, 99, 150, 7, 31, 250};

Config config_of(const test::RandomModelOptions& options) {
    const test::Bytes bytes = test::random_model(options);
    const auto file = gguf::File::parse(bytes, "case");
    REQUIRE(file);
    const auto config = read_config(*file);
    if (!config)
        FAIL(config.error().message);
    return *config;
}

Vector last_logits(const test::RandomModelOptions& options, std::size_t context_tokens = 0) {
    const test::Bytes bytes = test::random_model(options);
    const auto file = gguf::File::parse(bytes, "case");
    REQUIRE(file);
    const auto model = ReferenceModel::load(*file, context_tokens);
    if (!model)
        FAIL(model.error().message);
    return model->run(twelve_tokens).back();
}

double largest_difference(const Vector& a, const Vector& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

test::RandomModelOptions plain(test::RandomArchitecture architecture) {
    return {.architecture = architecture, .tokenizer = test::RandomTokenizer::none};
}

/// The one expert of each layer as the tensors of a dense network, without the router.
test::Bytes as_dense(const gguf::File& file, const test::RandomModelOptions& options) {
    test::GgufWriter writer = test::random_model_keys(options);
    for (const gguf::Tensor& tensor : file.tensors()) {
        std::string name = tensor.name;
        if (name.find("ffn_gate_inp") != std::string::npos)
            continue;
        if (const auto suffix = name.find("_exps"); suffix != std::string::npos)
            name.erase(suffix, 5);
        writer.add_tensor({name,
                           static_cast<uint32_t>(tensor.type),
                           {tensor.shape[0], tensor.shape[1]},
                           test::tensor_content(file, tensor)});
    }
    return writer.bytes();
}

} // namespace

TEST_CASE("GELU by tanh has its published values, and differs from its mirror image by its argument") {
    CHECK(geglu(Vector{0, 1, -1, 3}, Vector{5, 1, 1, 2})[0] == 0);
    CHECK(geglu(Vector{1}, Vector{1})[0] == Approx(0.8411919906082768).epsilon(1e-12));
    CHECK(geglu(Vector{3}, Vector{2})[0] == Approx(2 * 2.996362607918227).epsilon(1e-9));
    for (const double z : {0.1, 0.7, 2.0, 5.0})
        CHECK(geglu(Vector{z}, Vector{1})[0] - geglu(Vector{-z}, Vector{1})[0] == Approx(z).epsilon(1e-12));
}

TEST_CASE("a soft cap leaves small numbers nearly alone and never passes the cap") {
    CHECK(soft_cap(0.01, 50) == Approx(0.01).epsilon(1e-7));
    CHECK(soft_cap(50, 50) == Approx(50 * 0.7615941559557649));
    CHECK(soft_cap(1e9, 50) == 50);
    CHECK(soft_cap(-1e9, 50) == -50);
}

TEST_CASE("experts are the most probable ones, with shares in the ratio of their probabilities") {
    const Vector router{std::log(2.0), std::log(6.0), 0, std::log(6.0), std::log(3.0)};
    const auto chosen = choose_experts(router, 3);
    REQUIRE(chosen.size() == 3);
    CHECK(chosen[0].expert == 1); // before 3, its equal
    CHECK(chosen[1].expert == 3);
    CHECK(chosen[2].expert == 4);
    CHECK(chosen[0].share == Approx(6.0 / 15));
    CHECK(chosen[1].share == Approx(6.0 / 15));
    CHECK(chosen[2].share == Approx(3.0 / 15));
    CHECK(choose_experts(router, 1)[0].share == 1);
    CHECK(choose_experts(router, 3, {.is_normalised = false})[2].share ==
          Approx(3.0 / 18)); // 2 + 6 + 1 + 6 + 3
}

TEST_CASE("sigmoid scores choose experts with a bias, which their shares do not have") {
    const Vector router{std::log(3.0), 0, -std::log(3.0)}; // sigmoids 3/4, 1/2, 1/4
    RoutingRule rule{.is_sigmoid = true, .scale = 3, .selection_bias = {0, 0, 0.4}};
    const auto chosen = choose_experts(router, 2, rule);
    CHECK(chosen[0].expert == 0);
    CHECK(chosen[1].expert == 2);
    CHECK(chosen[0].share == Approx(3 * 0.75));
    CHECK(chosen[1].share == Approx(3 * 0.25));
    rule.is_normalised = false;
    rule.selection_bias = {};
    const auto largest = choose_experts(router, 2, rule);
    CHECK(largest[1].expert == 1);
    CHECK(largest[1].share == Approx(3 * 0.5));
}

TEST_CASE(
    "gemma3: every sixth layer sees everything, the others have a window and rotate by their own base") {
    test::RandomModelOptions options = plain(test::RandomArchitecture::gemma3);
    options.layers = 13;
    options.window = 9;
    options.window_pattern = 0;
    options.rope_base = 1e6F;
    options.rope_scaling = test::RopeScaling::linear;
    options.attention_softcap = 50;
    options.logit_softcap = 30;
    const Config config = config_of(options);
    CHECK(config.windows == std::vector<std::size_t>{9, 9, 9, 9, 9, 0, 9, 9, 9, 9, 9, 0, 9});
    CHECK(config.rotary.base == 1e6);
    CHECK(config.rotary.factor == 4);
    REQUIRE(config.window_rotary);
    CHECK(config.window_rotary->base == 10000);
    CHECK(config.window_rotary->factor == 1);
    CHECK(config.embedding_scale == 8); // sqrt(64)
    CHECK(config.attention_scale == 0.25);
    CHECK(config.attention_soft_cap == 50);
    CHECK(config.logit_soft_cap == 30);
    CHECK(config.gate == GateKind::gelu);
    options.layers = 62;
    options.heads = 2;
    CHECK(config_of(options).attention_scale == Approx(1 / std::sqrt(32.0))); // 64 / 2 heads
}

TEST_CASE("a window no shorter than the sequence changes nothing, a shorter one does") {
    for (const auto architecture : {test::RandomArchitecture::phi3, test::RandomArchitecture::gemma3}) {
        test::RandomModelOptions options = plain(architecture);
        options.window = 12;
        const Vector whole = last_logits(options);
        options.window = 100;
        CHECK(largest_difference(last_logits(options), whole) == 0);
        options.window = 11;
        CHECK(largest_difference(last_logits(options), whole) > 1e-4);
    }
}

TEST_CASE("LongRoPE takes its long divisors above the original context") {
    for (const auto architecture : {test::RandomArchitecture::phi3, test::RandomArchitecture::llama}) {
        test::RandomModelOptions options = plain(architecture);
        options.rope_scaling = test::RopeScaling::longrope;
        options.original_context = 64;
        options.context = 256;
        const Vector within = last_logits(options, 64);
        const Vector above = last_logits(options, 65);
        CHECK(largest_difference(above, within) > 1e-3);
        CHECK(largest_difference(last_logits(options), above) == 0);
    }
}

TEST_CASE("with one expert the mixture is that expert as a dense network, whatever the router says") {
    test::RandomModelOptions options = plain(test::RandomArchitecture::qwen3moe);
    options.experts = 1;
    options.experts_used = 1;
    const test::Bytes bytes = test::random_model(options);
    const auto file = gguf::File::parse(bytes, "case");
    REQUIRE(file);
    test::RandomModelOptions dense_options = options;
    dense_options.architecture = test::RandomArchitecture::qwen3;
    dense_options.feed_forward = options.expert_feed_forward;
    const auto dense_bytes = as_dense(*file, dense_options);
    const auto dense_file = gguf::File::parse(dense_bytes, "dense");
    REQUIRE(dense_file);
    const auto mixture = ReferenceModel::load(*file);
    const auto dense = ReferenceModel::load(*dense_file);
    REQUIRE(mixture);
    REQUIRE(dense);
    CHECK(largest_difference(mixture->run(twelve_tokens).back(), dense->run(twelve_tokens).back()) < 1e-12);
}
