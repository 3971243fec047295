#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

// Caches that round keys and values more coarsely than the arithmetic.
namespace {

using kernels::CacheFormat;

struct CacheCase {
    RandomModelOptions model;
    kernels::CacheFormats formats;
};

RandomModelOptions small_cache_model(RandomArchitecture architecture, uint32_t head_dim) {
    return {.architecture = architecture,
            .layers = 2,
            .embedding = 64,
            .heads = 4,
            .kv_heads = 2,
            .head_dim = head_dim,
            .feed_forward = 96,
            .vocabulary = 263,
            .tokenizer = RandomTokenizer::none};
}

reference::CacheElement element_of(CacheFormat format) {
    switch (format) {
    case CacheFormat::f32:
        return reference::CacheElement::f32;
    case CacheFormat::f16:
        return reference::CacheElement::f16;
    case CacheFormat::q8_0:
        break;
    }
    return reference::CacheElement::q8_0;
}

} // namespace

TEST_CASE("a Q8_0 cache agrees with a twin that quantises alike, and is near the plain one", "[device]") {
    const std::vector<CacheCase> cases{
        {small_cache_model(RandomArchitecture::llama, 10), {CacheFormat::q8_0, CacheFormat::q8_0}},
        {small_cache_model(RandomArchitecture::qwen3, 64), {CacheFormat::q8_0, CacheFormat::q8_0}},
        {small_cache_model(RandomArchitecture::gemma3, 40), {CacheFormat::q8_0, CacheFormat::q8_0}},
        {small_cache_model(RandomArchitecture::qwen2, 32), {CacheFormat::q8_0, CacheFormat::f16}},
        {small_cache_model(RandomArchitecture::llama, 72), {CacheFormat::f32, CacheFormat::q8_0}},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const CacheCase& one = cases[i];
        for (const auto family : families_of(i)) {
            INFO(to_string(one.model.architecture)
                 << ", keys " << to_string(one.formats.keys) << ", values " << to_string(one.formats.values)
                 << ", planned as " << kernels::to_string(family));
            ModelCase tested(random_model(one.model), {.family = family, .cache = one.formats});
            const std::vector<Script> scripts{
                {.tokens = random_tokens(75, one.model.vocabulary, 1), .prompt = 60, .chunk = 33},
                {.tokens = random_tokens(20, one.model.vocabulary, 2), .prompt = 1, .chunk = 16},
            };
            const auto logits = run_together(tested.executor(), scripts);
            for (std::size_t k = 0; k < scripts.size(); ++k) {
                const auto quantised = tested.twin().run(
                    scripts[k].tokens, {element_of(one.formats.keys), element_of(one.formats.values)},
                    matrix_tokens(scripts[k], family));
                check_against_twin(scripts[k], logits[k], quantised, 2e-2);
                CHECK(mean_divergence(logits[k], tested.twin().run(scripts[k].tokens)) <= 1e-2);
            }
        }
    }
}
