#include "core/engine/device/device_model.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/model/arch/decoder.hpp"
#include "core/model/mixer.hpp"
#include "core/model/nan_probe.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

using namespace etna;
using namespace etna::test;

// A mixer that the product does not have, and an architecture of it, written as one would add them: nothing
// outside this file knows them.
namespace etna::model {
namespace {

/// residual += O (In rms_norm(residual))
struct ToyBlock {
    InputNorm norm;
    LinearWeights input;
    OutputMatrix output;
};

struct ToyConfig {};

std::vector<StatePart> state_parts(const ToyConfig&) {
    return {};
}

OwnedMixer make_mixer(const ToyConfig&, const Weights& weights, const Config& config, uint32_t layer) {
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return mixer_of(ToyBlock{
        .norm = {.weight = weights.vector(tensor_name(layer, "attn_norm.weight")),
                 .epsilon = config.rms_epsilon,
                 .nan_probe = attention_nan_probe(layer)},
        .input = linear("attn_q.weight"),
        .output = {.weights = linear("attn_output.weight"), .post_norm = {}, .next_norm = std::nullopt}});
}

std::vector<const LinearWeights*> readers(const ToyBlock& block) {
    return {&block.input};
}

void record(const Recording& recording, const ToyBlock& block, const LayerState&) {
    const Arena::Scope scope(recording.arena);
    const kernels::Activations inner = recording.matrix_input(block.input.weight.rows);
    record_norm(recording, block.norm, reads_packed(block.input));
    const std::array<Projection, 1> projections{{{block.input, inner}}};
    record_projections(recording, block.norm, projections);
    record_output(recording, block.output, inner);
}

/// Layers of the mixer alone, over the tensors of a Llama.
Result<Config> read_toy(const gguf::File& file) {
    ETNA_TRY(const Architecture* llama, find_architecture(file));
    ETNA_TRY(Config config, llama->read_config(file));
    for (LayerConfig& layer : config.layers)
        layer = {.mixer = ToyConfig(), .feed_forward = 0};
    return config;
}

TensorTable declare_toy(const Config& config) {
    TensorTable table;
    declare_ends(table, config);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        for (const std::string_view unused : {"attn_k.", "attn_v.", "ffn_"})
            table.ignore(tensor_name(layer, unused));
        table.vector(tensor_name(layer, "attn_norm.weight"), config.width);
        table.matrix(tensor_name(layer, "attn_q.weight"), config.width, config.width);
        table.matrix(tensor_name(layer, "attn_output.weight"), config.width, config.width);
    }
    return table;
}

const Architecture toy_architecture{.name = "toy",
                                    .read_config = read_toy,
                                    .declare = declare_toy,
                                    .assemble = assemble_decoder,
                                    .models = {},
                                    .peer = {},
                                    .definition = {},
                                    .checks = {}};

} // namespace
} // namespace etna::model

namespace {

using ToyVector = std::vector<double>;

/// The F32 tensor of this name.
std::vector<float> toy_tensor(const gguf::File& file, std::string_view name) {
    const gguf::Tensor* const tensor = file.find_tensor(name);
    REQUIRE(tensor != nullptr);
    std::vector<float> values(tensor->shape[0] * (tensor->dimensions > 1 ? tensor->shape[1] : 1));
    REQUIRE(file.read(*tensor, 0, std::as_writable_bytes(std::span(values))));
    return values;
}

ToyVector toy_product(const std::vector<float>& matrix, const ToyVector& x) {
    ToyVector y(matrix.size() / x.size());
    for (std::size_t row = 0; row < y.size(); ++row) {
        for (std::size_t i = 0; i < x.size(); ++i)
            y[row] += matrix[row * x.size() + i] * x[i];
    }
    return y;
}

ToyVector toy_norm(const ToyVector& x, const std::vector<float>& weight, double epsilon) {
    double sum = 0;
    for (const double value : x)
        sum += value * value;
    ToyVector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = x[i] * weight[i] / std::sqrt(sum / static_cast<double>(x.size()) + epsilon);
    return y;
}

/// Logits after one token, by the formula.
ToyVector toy_logits(const gguf::File& file, const model::Config& config, uint32_t token) {
    const std::vector<float> table = toy_tensor(file, "token_embd.weight");
    ToyVector residual(table.begin() + token * config.width, table.begin() + (token + 1) * config.width);
    for (uint32_t layer = 0; layer < config.layer_count(); ++layer) {
        const auto part = [&](std::string_view name) {
            return toy_tensor(file, model::tensor_name(layer, name));
        };
        const ToyVector hidden = toy_norm(residual, part("attn_norm.weight"), config.rms_epsilon);
        const ToyVector mixed =
            toy_product(part("attn_output.weight"), toy_product(part("attn_q.weight"), hidden));
        for (std::size_t i = 0; i < residual.size(); ++i)
            residual[i] += mixed[i];
    }
    return toy_product(toy_tensor(file, "output.weight"),
                       toy_norm(residual, toy_tensor(file, "output_norm.weight"), config.rms_epsilon));
}

Result<model::Blueprint> plan_toy(const gguf::File& file, const kernels::PlanTarget& target) {
    model::Blueprint blueprint;
    blueprint.architecture = &model::toy_architecture;
    ETNA_TRY(blueprint.config, blueprint.architecture->read_config(file));
    ETNA_TRY(const auto claimed, blueprint.architecture->declare(blueprint.config).claim(file));
    ETNA_TRY(blueprint.tensors, model::plan_weights(file, claimed, target, 0));
    blueprint.weight_bytes = model::weight_bytes(blueprint.tensors);
    return blueprint;
}

/// Runs one prompt row of a device model, and returns its logits.
std::vector<float> run_toy_row(engine::DeviceModel& device_model, const engine::DevicePlan& plan,
                               const model::Config& config, uint32_t token) {
    auto transfer = engine::Transfer::create(device_model.device(), engine::step_bytes(config, plan.limits));
    REQUIRE(transfer);
    const std::vector<engine::PageId> pages(plan.limits.context_tokens / 32 + 1);
    const GroupTables tables(plan.limits, pages);
    engine::Batch batch;
    batch.sequences = {tables.view(0, 0)};
    engine::Row row;
    row.output_kind = engine::OutputKind::logits;
    row.value = token;
    row.set_position(0);
    batch.rows = {row};
    REQUIRE(engine::check(batch, plan.limits));
    device_model.pack(batch, *transfer);
    auto commands = device_model.record(batch, *transfer, {});
    if (!commands)
        FAIL(commands.error().message);
    const auto done = device_model.device().submit(std::move(*commands));
    REQUIRE(done);
    REQUIRE(device_model.device().wait(*done));
    std::vector<float> logits(config.vocabulary);
    std::memcpy(logits.data(), transfer->logits.mapped().data(), logits.size() * sizeof(float));
    return logits;
}

} // namespace

TEST_CASE("a mixer that one file adds is planned, loaded and run as its formula says", "[device]") {
    const Bytes bytes = random_model({.layers = 3, .vocabulary = 304, .tokenizer = RandomTokenizer::none});
    const auto file = gguf::File::parse(bytes, "toy.gguf");
    REQUIRE(file);
    vk::Device& device = gpu().device;
    auto library = std::make_shared<kernels::Library>(device, kernels::LibraryOptions{});
    auto blueprint = plan_toy(*file, library->target());
    if (!blueprint)
        FAIL(blueprint.error().message);
    const auto plan =
        engine::plan_load(*file, *blueprint, library->target(), {.batch_rows_max = 16}, device.memory());
    if (!plan)
        FAIL(plan.error().message);
    auto loaded = engine::DeviceModel::load(library, *file, *blueprint, *plan, {});
    if (!loaded)
        FAIL(loaded.error().message);
    constexpr uint32_t token = 7;
    const std::vector<float> logits = run_toy_row(**loaded, *plan, blueprint->config, token);
    const ToyVector expected = toy_logits(*file, blueprint->config, token);
    for (std::size_t i = 0; i < expected.size(); ++i)
        REQUIRE(logits[i] == Approx(expected[i]).margin(1e-4));
}
