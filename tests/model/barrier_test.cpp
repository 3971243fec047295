#include "core/engine/device/device_model.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <memory>
#include <vector>

using namespace etna;
using namespace etna::test;

// Generation on a GPU depends on the number of dispatches and barriers more than on anything but the bytes
// that it reads.
namespace {

/// A device model without the executor around it.
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
    auto blueprint = model::plan_model(*file, library->target());
    REQUIRE(blueprint);
    const auto plan =
        engine::plan_load(*file, *blueprint, library->target(), {.batch_rows_max = 16}, device.memory());
    REQUIRE(plan);
    auto model = engine::DeviceModel::load(std::move(library), *file, *blueprint, *plan, {});
    REQUIRE(model);
    auto transfer = engine::Transfer::create(device, engine::step_bytes(blueprint->config, plan->limits));
    REQUIRE(transfer);
    return {std::move(*file), *plan, std::move(*model), std::move(*transfer)};
}

/// One row of generation, at the end of the context.
engine::Batch one_row(const engine::Limits& limits, const GroupTables& pages) {
    engine::Batch batch;
    batch.sequences = {pages.view(0, limits.context_tokens - 2)};
    engine::Row row;
    row.kind = engine::RowKind::decode;
    row.output_kind = engine::OutputKind::sampled;
    row.set_position(limits.context_tokens - 1);
    row.candidates = 1;
    row.sampling.top_k = 1;
    batch.rows = {row};
    return batch;
}

struct Counts {
    uint32_t dispatches = 0;
    uint32_t barriers = 0;
};

/// Of a generation step with one row.
Counts counts_of(const RandomModelOptions& options, kernels::PlanFamily family) {
    Bare bare = load(random_model(options), family);
    const std::vector<engine::PageId> pages(bare.plan.limits.context_tokens / 32 + 1);
    const GroupTables tables(bare.plan.limits, pages);
    const engine::Batch batch = one_row(bare.plan.limits, tables);
    REQUIRE(engine::check(batch, bare.plan.limits));
    bare.model->pack(batch, bare.transfer);
    const auto commands = bare.model->record(batch, bare.transfer, {});
    if (!commands)
        FAIL(commands.error().message);
    return {.dispatches = commands->dispatch_count(), .barriers = commands->barrier_count()};
}

/// At most, with rotation and store apart from the projections, as without large push constants:
/// dispatches and barriers of eight layers in tiles: two of each kind, as the architectures mix them.
struct LayerCounts {
    RandomArchitecture architecture;
    uint32_t dispatches = 0;
    uint32_t barriers = 0;
};

constexpr uint32_t counted_layers = 8;

} // namespace

TEST_CASE("generation takes no more dispatches and barriers for a layer than it did", "[device]") {
    for (const LayerCounts& expected : {LayerCounts{RandomArchitecture::llama, 56, 56},
                                        {RandomArchitecture::qwen3moe, 88, 88},
                                        {RandomArchitecture::qwen35, 68, 60},
                                        {RandomArchitecture::gemma4, 88, 88}}) {
        INFO(to_string(expected.architecture));
        RandomModelOptions options = tiled_model(expected.architecture, WeightFormat::q4_k);
        options.context = 600;
        options.expert_feed_forward = 256;
        options.per_layer_width = 0;
        options.layers = 2;
        const Counts few = counts_of(options, kernels::PlanFamily::nvidia);
        options.layers += counted_layers;
        const Counts many = counts_of(options, kernels::PlanFamily::nvidia);
        CHECK(many.dispatches - few.dispatches <= expected.dispatches);
        CHECK(many.barriers - few.barriers <= expected.barriers);
    }
}
