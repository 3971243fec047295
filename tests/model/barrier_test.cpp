#include "core/engine/device/device_model.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <memory>
#include <vector>

using namespace etna;
using namespace etna::test;

// lavapipe runs dispatches in order, so a missing barrier would first show on a user's GPU: the hazard check
// must find it.
namespace {

/// A device model without the executor around it, so that a step can be recorded with a barrier left out.
struct Bare {
    gguf::File file;
    engine::DevicePlan plan;
    std::unique_ptr<engine::DeviceModel> model;
    engine::Transfer transfer;
};

Bare load(const Bytes& bytes, kernels::PlanFamily family) {
    vk::Device& device = gpu().device;
    auto file = gguf::File::parse(bytes, "test model");
    REQUIRE(file);
    auto library = std::make_unique<kernels::Library>(device, kernels::LibraryOptions{.family = family});
    const auto blueprint = model::plan_model(*file, library->target());
    REQUIRE(blueprint);
    const auto plan = engine::plan_device("test model", blueprint->config, library->target(),
                                          {.batch_rows_max = 16}, blueprint->weight_bytes, device.memory());
    REQUIRE(plan);
    auto model = engine::DeviceModel::load(std::move(library), *file, *blueprint, *plan, {});
    REQUIRE(model);
    auto transfer = engine::Transfer::create(device, engine::step_bytes(blueprint->config, plan->limits));
    REQUIRE(transfer);
    return {std::move(*file), *plan, std::move(*model), std::move(*transfer)};
}

/// Decode rows past the first KV split and prefill rows, with outputs of all kinds and a page copy.
engine::Batch mixed_batch(const engine::Limits& limits, const GroupTables& pages) {
    engine::Batch batch;
    batch.runs_draft_head = limits.has_draft_head;
    for (uint32_t group = 0; group < limits.groups.size(); ++group)
        batch.copies.push_back({.group = group, .from = 0, .to = 1});
    batch.sequences = {pages.view(0, 40),
                       pages.view(1, limits.context_tokens - 2, engine::StateUpdate::defer),
                       pages.view(2, 3)};
    if (limits.state_slots > 0)
        batch.state_copies = {{.from = 4, .to = 2}};
    const auto add = [&](uint32_t sequence, engine::RowKind kind, uint32_t index, engine::OutputKind want) {
        engine::Row row;
        row.kind = kind;
        row.output_kind = want;
        row.sequence = sequence;
        row.set_position(index);
        row.candidates = 1;
        row.sampling.top_k = 1;
        row.requests_draft = limits.has_draft_head && want == engine::OutputKind::sampled;
        batch.rows.push_back(row);
    };
    for (uint32_t i = 0; i < 5; ++i) {
        add(0, engine::RowKind::prefill, 40 + i,
            i == 4 ? engine::OutputKind::candidates : engine::OutputKind::none);
    }
    add(1, engine::RowKind::decode, limits.context_tokens - 1, engine::OutputKind::logits);
    add(2, engine::RowKind::decode, 3, engine::OutputKind::sampled);
    return batch;
}

/// Sequences without rows have no state.
void without_state(engine::Batch& batch, std::initializer_list<std::size_t> sequences) {
    for (const std::size_t i : sequences)
        batch.sequences[i].state_position = 0;
}

Result<vk::CommandBuffer> record(Bare& bare, const engine::Batch& batch,
                                 const vk::RecorderOptions& options = {}) {
    bare.model->pack(batch, bare.transfer);
    return bare.model->record(batch, bare.transfer, options);
}

void check_every_barrier(Bare& bare, const engine::Batch& batch) {
    REQUIRE(engine::check(batch, bare.plan.limits));
    const auto complete = record(bare, batch);
    if (!complete)
        FAIL(complete.error().message);
    const uint32_t barriers = complete->barrier_count();
    REQUIRE(barriers > 9 * 2);
    std::vector<uint32_t> superfluous;
    for (uint32_t omitted = 0; omitted < barriers; ++omitted) {
        const auto broken = record(bare, batch, {.omitted_barrier = omitted});
        if (broken) {
            superfluous.push_back(omitted);
        } else {
            CHECK(broken.error().kind == ErrorKind::internal);
        }
    }
    CAPTURE(superfluous);
    CHECK(superfluous.empty());
}

} // namespace

namespace {

/// Records mixed, prompt and generation steps with each barrier left out in turn.
void check_steps(Bare& bare) {
    std::vector<engine::PageId> pages(bare.plan.limits.context_tokens / 32 + 1);
    for (std::size_t i = 0; i < pages.size(); ++i)
        pages[i] = static_cast<engine::PageId>((i * 7) % bare.plan.limits.groups[0].page_count);
    const GroupTables tables(bare.plan.limits, pages);
    const engine::Batch batch = mixed_batch(bare.plan.limits, tables);
    check_every_barrier(bare, batch);

    engine::Batch prompt_only = batch;
    prompt_only.rows.resize(5);
    without_state(prompt_only, {1, 2});
    check_every_barrier(bare, prompt_only);
    engine::Batch generation_only = batch;
    without_state(generation_only, {0});
    generation_only.rows.erase(generation_only.rows.begin(), generation_only.rows.begin() + 5);
    check_every_barrier(bare, generation_only);
}

} // namespace

TEST_CASE("leaving out any one barrier of a step is reported", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        // A window of several KV splits, so that windowed attention is merged too; a soft cap (gemma3) is one
        // step more.
        // Heads of 64 of llama run the decode kernel, which merges the splits itself.
        RandomModelOptions options{.architecture = architecture,
                                   .head_dim = architecture == RandomArchitecture::llama ? 64U : 16U,
                                   .context = 2200,
                                   .window = 2150,
                                   .logit_softcap = 30,
                                   .tokenizer = RandomTokenizer::none};
        if (architecture == RandomArchitecture::gemma3n || architecture == RandomArchitecture::gemma4) {
            options.layers = 4;
            options.shared_kv_layers = 2;
        }
        if (architecture == RandomArchitecture::nemotron_h ||
            architecture == RandomArchitecture::nemotron_h_moe)
            options.layers = 3; // of each kind one
        if (architecture == RandomArchitecture::mamba2)
            options.layers = 3;                             // of one block each
        if (architecture == RandomArchitecture::qwen3moe) { // experts in tiles; those of gpt-oss are in rows
            options.matrices = WeightFormat::q8_0;
            options.embedding = options.expert_feed_forward = 256;
        }
        const Bytes bytes = random_model(options);
        for (const auto family : {kernels::PlanFamily::nvidia, kernels::PlanFamily::lavapipe}) {
            INFO("planned as " << kernels::to_string(family));
            Bare bare = load(bytes, family);
            check_steps(bare);
        }
    }
}

TEST_CASE("leaving out any one barrier of experts in parallel with a dense block is reported", "[device]") {
    for (const uint32_t width : {64U, 256U}) { // in rows, and in tiles
        const RandomModelOptions options{.architecture = RandomArchitecture::gemma4,
                                         .embedding = width,
                                         .feed_forward = width,
                                         .context = 600,
                                         .per_layer_width = 0,
                                         .mixture = true,
                                         .expert_feed_forward = width,
                                         .matrices = width == 64 ? WeightFormat::f32 : WeightFormat::q8_0,
                                         .role_formats = {{"ffn_gate_inp", WeightFormat::f32}},
                                         .tokenizer = RandomTokenizer::none};
        for (const auto family : {kernels::PlanFamily::nvidia, kernels::PlanFamily::lavapipe}) {
            INFO("width " << width << ", planned as " << kernels::to_string(family));
            Bare bare = load(random_model(options), family);
            check_steps(bare);
        }
    }
}

TEST_CASE("leaving out any one barrier of a draft head is reported", "[device]") {
    RandomModelOptions options{.architecture = RandomArchitecture::qwen35,
                               .context = 600,
                               .predicting_layers = 1,
                               .tokenizer = RandomTokenizer::none};
    RandomModelOptions tiled = options;
    tiled.embedding = tiled.feed_forward = 256;
    tiled.matrices = WeightFormat::q8_0;
    RandomModelOptions experts = options;
    experts.architecture = RandomArchitecture::glm4moe;
    for (const RandomModelOptions& one : {options, tiled, experts}) {
        for (const auto family : {kernels::PlanFamily::nvidia, kernels::PlanFamily::lavapipe}) {
            INFO(to_string(one.architecture)
                 << ", width " << one.embedding << ", planned as " << kernels::to_string(family));
            Bare bare = load(random_model(one), family);
            CHECK(bare.plan.limits.has_draft_head);
            check_steps(bare);
        }
    }
}

TEST_CASE("a layer in tiles generates with five dispatches, and needs all of their barriers", "[device]") {
    constexpr uint32_t layers = 8;
    const auto options = [](uint32_t count) {
        return RandomModelOptions{.layers = count,
                                  .embedding = 256,
                                  .heads = 8,
                                  .head_dim = 64,
                                  .feed_forward = 256,
                                  .context = 600,
                                  .matrices = WeightFormat::q4_k,
                                  .tokenizer = RandomTokenizer::none};
    };
    Bare bare = load(random_model(options(layers)), kernels::PlanFamily::nvidia);
    check_steps(bare);
    const std::vector<engine::PageId> pages(bare.plan.limits.context_tokens / 32 + 1);
    const GroupTables tables(bare.plan.limits, pages);
    const auto dispatches = [&](Bare& model) {
        engine::Batch batch = mixed_batch(model.plan.limits, tables);
        batch.copies.clear();
        batch.rows.erase(batch.rows.begin(), batch.rows.end() - 1);
        const auto commands = record(model, batch);
        REQUIRE(commands);
        CHECK(commands->barrier_count() <= commands->dispatch_count() + 1);
        return commands->dispatch_count();
    };
    Bare smaller = load(random_model(options(1)), kernels::PlanFamily::nvidia);
    // Without large push constants, rotation and store are a separate dispatch.
    const uint32_t each = gpu().device.profile().large_push_constants ? 5 : 6;
    CHECK(dispatches(bare) - dispatches(smaller) == each * (layers - 1));
}
