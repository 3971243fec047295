#include "core/model/weight_plan.hpp"
#include "tests/model/model_case.hpp"
#include "tests/model/reference_models.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/vulkan.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

// Complete models against the CPU twin. Each runs under one plan family, and in a full product under all.
namespace {

double tolerance_of(kernels::CacheFormat format) {
    return format == kernels::CacheFormat::f32 ? 2e-3 : 2e-2;
}

/// F32 weights do not use matrix units: only the cache rounds in such a model.
bool is_float(const gguf::File& file) {
    return std::all_of(file.tensors().begin(), file.tensors().end(),
                       [](const gguf::Tensor& tensor) { return tensor.type == gguf::TensorType::f32; });
}

/// Matrix units round, so that there the twin rounds at the same points, the cache included. The remaining
/// difference is the direction of a rounding near a midpoint.
reference::CacheElements rounded(kernels::CacheFormat format) {
    const vk::MatrixShape& shape = gpu().device.profile().matrix_shape;
    if (format == kernels::CacheFormat::f32)
        return {reference::CacheElement::f32, reference::CacheElement::f32};
    return {reference::CacheElement::f16, reference::CacheElement::f16,
            std::lcm(8U, std::lcm(shape.columns, shape.depth))};
}

/// Whether decode rows round the inputs of some matrices to f16: those in tiles. The twin does not.
bool rounds_decode_inputs(const gguf::File& file, kernels::PlanFamily family) {
    const kernels::PlanTarget target{.family = family, .profile = gpu().device.profile()};
    return std::any_of(file.tensors().begin(), file.tensors().end(), [&](const gguf::Tensor& tensor) {
        const kernels::Format format = model::format_of(tensor.type);
        const auto columns = static_cast<uint32_t>(tensor.shape[0]);
        const auto arrangement = tensor.dimensions == 2 ? kernels::matrix_arrangement(target, format, columns)
                                                        : kernels::stack_arrangement(target, format, columns);
        return tensor.dimensions >= 2 && arrangement == kernels::Arrangement::tiles;
    });
}

/// Sequences of many lengths, past several pages, prompts longer than a chunk, with and without generation.
std::vector<Script> mixed_scripts(uint32_t vocabulary) {
    return {
        {.tokens = random_tokens(74, vocabulary, 1), .prompt = 70, .chunk = 33},
        {.tokens = random_tokens(12, vocabulary, 2), .prompt = 1, .chunk = 16},
        {.tokens = random_tokens(34, vocabulary, 3), .prompt = 34, .chunk = 7},
        {.tokens = random_tokens(34, vocabulary, 4), .prompt = 31, .chunk = 64},
    };
}

/// The first tokens of a script, with one prompt chunk that is full and one that is not, and generation.
Script beginning_of(const Script& script) {
    constexpr uint32_t tokens = 41; // of two pages
    constexpr uint32_t prompt = 38;
    REQUIRE(script.chunk < prompt);
    return {.tokens = {script.tokens.begin(), script.tokens.begin() + tokens},
            .prompt = prompt,
            .chunk = script.chunk};
}

void check_script(ModelCase& tested, const NamedModel& model, kernels::PlanFamily family,
                  const Script& script, const Logits& logits) {
    const uint32_t on_units = is_float(tested.file()) ? 0 : matrix_tokens(script, family);
    const auto expected = on_units > 0 ? tested.twin().run(script.tokens, rounded(model.cache), on_units)
                                       : tested.twin().run(script.tokens);
    const bool rounds = on_units > 0 || rounds_decode_inputs(tested.file(), family);
    check_against_twin(script, logits, expected, rounds ? 2e-2 : tolerance_of(model.cache));
}

void check_model(const NamedModel& model, kernels::PlanFamily family) {
    INFO(model.name << ", " << to_string(model.cache) << " cache, planned as " << kernels::to_string(family));
    ModelCase tested(model.bytes, {.family = family, .cache = {model.cache, model.cache}});
    const auto scripts = mixed_scripts(static_cast<uint32_t>(tested.twin().vocabulary()));
    const auto mixed = run_together(tested.executor(), scripts);
    for (std::size_t i = 0; i < scripts.size(); ++i)
        check_script(tested, model, family, scripts[i], mixed[i]);

    const Script beginning = beginning_of(scripts[0]);
    const auto alone = run_together(tested.executor(), {beginning}, PageOrder::consecutive);
    check_script(tested, model, family, beginning, alone[0]);
}

void check_models(const std::vector<NamedModel>& models) {
    for (std::size_t i = 0; i < models.size(); ++i) {
        for (const kernels::PlanFamily family : in_turn(all_families, i))
            check_model(models[i], family);
    }
}

} // namespace

TEST_CASE("one model of each kind of layer agrees with the twin", "[device][.quick]") {
    const auto family = kernels::natural_family(gpu().device.profile());
    for (const auto& kind :
         {models(), windowed_models(), recurrent_models(), expert_models(), latent_models()})
        check_model(kind.front(), family);
}

TEST_CASE("models agree with the twin, alone and in mixed batches", "[device]") {
    check_models(models());
}

TEST_CASE("models with windows agree with the twin, alone and in mixed batches", "[device]") {
    check_models(windowed_models());
}

TEST_CASE("recurrent models agree with the twin, alone and in mixed batches", "[device]") {
    check_models(recurrent_models());
}

TEST_CASE("models with experts agree with the twin, alone and in mixed batches", "[device]") {
    check_models(expert_models());
}

TEST_CASE("models with latent attention agree with the twin, alone and in mixed batches", "[device]") {
    check_models(latent_models());
}

TEST_CASE("attention over more positions than one KV split agrees with the twin", "[device]") {
    RandomModelOptions llama = odd(RandomArchitecture::llama);
    llama.context = 2300;
    llama.layers = 1;
    // A window that begins in an earlier KV split than it ends in, and a layer without a window.
    RandomModelOptions gemma3 = odd(RandomArchitecture::gemma3);
    gemma3.context = 2300;
    gemma3.window = 200;
    RandomModelOptions deepseek2 = latent();
    deepseek2.context = 2300;
    deepseek2.layers = 1;
    const std::array cases{llama, gemma3, deepseek2};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const RandomModelOptions& options = cases[i];
        const Bytes bytes = random_model(options);
        for (const kernels::PlanFamily family : families_of(i)) {
            INFO(to_string(options.architecture) << ", planned as " << kernels::to_string(family));
            ModelCase tested(bytes, {.family = family,
                                     .cache = {kernels::CacheFormat::f32, kernels::CacheFormat::f32},
                                     .pages = 160});
            const uint32_t vocabulary = options.vocabulary;
            // A KV split has 128 tokens in the GPU families and 2048 in the CPU's.
            const uint32_t length = family == kernels::PlanFamily::lavapipe ? 2060 : 330;
            const std::vector<Script> scripts{
                {.tokens = random_tokens(length, vocabulary, 5),
                 .prompt = length - 9,
                 .chunk = 64,
                 .want_from = length - 12},
                {.tokens = random_tokens(60, vocabulary, 6), .prompt = 2, .chunk = 16, .want_from = 40},
            };
            const auto logits = run_together(tested.executor(), scripts);
            for (std::size_t k = 0; k < scripts.size(); ++k)
                check_against_twin(scripts[k], logits[k], tested.twin().run(scripts[k].tokens), 2e-3);
        }
    }
}
