#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"

#include <array>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

// The numerics contract: a request's bits do not depend on the rest of the batch, its pages, or the chunks of
// its prompt.
namespace {

/// Positions whose logits differ in any bit.
std::vector<std::size_t> differing(const Logits& a, const Logits& b) {
    REQUIRE(a.size() == b.size());
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0)
            positions.push_back(i);
    }
    return positions;
}

RandomModelOptions model_options(RandomArchitecture architecture = RandomArchitecture::qwen3) {
    return {.architecture = architecture,
            .layers = 2,
            .embedding = 96,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 32,
            .feed_forward = 160,
            .vocabulary = 300,
            .context = 2300,
            .tokenizer = RandomTokenizer::none};
}

/// The request of all tests here: a prompt over several pages, then decode rows.
Script request(uint32_t chunk) {
    return {.tokens = random_tokens(90, 300, 11), .prompt = 77, .chunk = chunk};
}

/// The first tokens of the request as a prompt, in chunks of 1.
Script beginning(uint32_t tokens) {
    const Script all = request(1);
    return {
        .tokens = {all.tokens.begin(), all.tokens.begin() + tokens}, .prompt = tokens, .chunk = all.chunk};
}

/// Seven others; one is so long that attention splits into more parts on GPU plans than for the request
/// alone.
std::vector<Script> company() {
    std::vector<Script> scripts;
    for (uint32_t i = 0; i < 6; ++i) {
        const uint32_t length = 9 + 8 * i;
        scripts.push_back({.tokens = random_tokens(length, 300, 20 + i),
                           .prompt = 3 + 7 * i,
                           .chunk = 5 + i,
                           .want_from = length - 2});
    }
    scripts.push_back({.tokens = random_tokens(150, 300, 30), .prompt = 130, .chunk = 40, .want_from = 148});
    return scripts;
}

} // namespace

TEST_CASE("a request gives the same bits alone and in a batch, for any chunks of its prompt", "[device]") {
    constexpr uint32_t in_tiles = 256; // rows of the matrices: GPU plans run fused kernels
    const std::array cases{std::tuple{RandomArchitecture::qwen3, WeightFormat::f32, 96U},
                           std::tuple{RandomArchitecture::qwen3, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::gemma3, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::gemma3n, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::gemma4, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::gemma4, WeightFormat::q4_k, in_tiles}, // a mixture
                           std::tuple{RandomArchitecture::qwen3moe, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::qwen2moe, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::deepseek2, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::deepseek2, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::mistral3, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::qwen35, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::qwen3next, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::qwen35moe, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::lfm2, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::falcon_h1, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::falcon_h1, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::granitehybrid, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::mamba2, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::mamba2, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::nemotron_h, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::nemotron_h_moe, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::lfm2moe, WeightFormat::f16, 96U},
                           std::tuple{RandomArchitecture::glm4moe, WeightFormat::q8_0, 96U},
                           std::tuple{RandomArchitecture::glm4moe, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::lfm2, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::qwen2, WeightFormat::q4_k, in_tiles},
                           std::tuple{RandomArchitecture::qwen3moe, WeightFormat::q4_k, in_tiles}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto& [architecture, format, width] = cases[i];
        RandomModelOptions options = model_options(architecture);
        options.embedding = width;
        options.laurel_rank = 32;
        if (width == in_tiles) {
            options.head_dim = options.mamba_head_dim = 64;
            options.latent_rank = options.query_rank = in_tiles;
            options.latent_value_dim = 64;
            options.feed_forward = options.expert_feed_forward = in_tiles;
            options.role_formats = {{"ffn_gate_inp", WeightFormat::f32}, {"attn_k_b", WeightFormat::f16}};
            options.mixture = architecture == RandomArchitecture::gemma4;
            options.per_layer_width = in_tiles;
        }
        if (architecture == RandomArchitecture::nemotron_h ||
            architecture == RandomArchitecture::nemotron_h_moe)
            options.layers = 4;           // of each kind one
        options.temperature_scale = 0.3F; // mistral3
        options.rope_scaling =
            architecture == RandomArchitecture::mistral3 ? RopeScaling::yarn : RopeScaling::none;
        options.matrices = format;
        options.head_format = format;
        const Bytes bytes = random_model(options);
        for (const auto family : in_turn(all_families, i)) {
            INFO(to_string(architecture) << ", matrices " << static_cast<int>(format) << ", planned as "
                                         << kernels::to_string(family));
            ModelCase tested(bytes, {.family = family, .pages = 96});
            const Logits alone = run_together(tested.executor(), {request(64)}, PageOrder::consecutive)[0];

            std::vector<Script> all = company();
            all.insert(all.begin() + 3, request(16));
            const Logits accompanied = run_together(tested.executor(), all)[3];
            CHECK(differing(alone, accompanied).empty());

            for (const uint32_t chunk : in_turn(std::array{7U, 33U}, i / all_families.size())) {
                INFO("chunks of " << chunk);
                const Logits cut = run_together(tested.executor(), {request(chunk)})[0];
                CHECK(differing(alone, cut).empty());
            }
            const Logits single = run_together(tested.executor(), {beginning(12)})[0];
            CHECK(differing({alone.begin(), alone.begin() + 12}, single).empty());
        }
    }
}

TEST_CASE("decode rows give the same bits in a batch with sequences of any length", "[device]") {
    const std::array head_dims{32U, 64U}; // GPU plans have an own kernel for heads of 64
    for (std::size_t i = 0; i < head_dims.size(); ++i) {
        const uint32_t head_dim = head_dims[i];
        RandomModelOptions options = model_options();
        options.head_dim = head_dim;
        const Bytes bytes = random_model(options);
        for (const auto family : families_of(i)) {
            INFO("heads of " << head_dim << ", planned as " << kernels::to_string(family));
            ModelCase tested(bytes, {.family = family, .pages = 160});
            // A KV split has 64 or 128 tokens on GPU plans: there the request splits, and the others into
            // more. On the CPU plan it has 2048: there only the others split.
            const bool is_cpu = family == kernels::PlanFamily::lavapipe;
            const uint32_t length = is_cpu ? 60 : 530;
            const uint32_t longer = is_cpu ? 2090 : 1060;
            const Script script{.tokens = random_tokens(length, 300, 12),
                                .prompt = length - 10,
                                .chunk = 64,
                                .want_from = length - 10};
            // Takes all rows of a step until its prompt ends, then generates for longer than the request
            // takes.
            const Script other{.tokens = random_tokens(longer, 300, 13),
                               .prompt = longer - 30,
                               .chunk = 64,
                               .want_from = longer - 1};
            const Logits alone = run_together(tested.executor(), {script})[0];
            const Logits accompanied = run_together(tested.executor(), {other, script})[1];
            CHECK(differing(alone, accompanied).empty());
        }
    }
}

TEST_CASE("matrices split over several buffers give the same bits as unsplit ones", "[device]") {
    const std::array formats{WeightFormat::f32, WeightFormat::q8_0};
    for (std::size_t i = 0; i < formats.size(); ++i) {
        const WeightFormat format = formats[i];
        RandomModelOptions options = model_options();
        options.matrices = options.embedding_format = options.head_format = format;
        const Bytes bytes = random_model(options);
        for (const auto family : families_of(i)) {
            INFO("matrices " << static_cast<int>(format) << ", planned as " << kernels::to_string(family));
            ModelCase whole(bytes, {.family = family});
            ModelCase cut(bytes, {.family = family, .matrix_part_bytes = 8192}); // 8 to 72 rows each
            const auto expected = run_together(whole.executor(), {request(33)});
            CHECK(differing(expected[0], run_together(cut.executor(), {request(33)})[0]).empty());
        }
    }
}
