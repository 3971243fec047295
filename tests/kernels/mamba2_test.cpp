#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/mamba2.hpp"
#include "tests/kernels/recurrent_case.hpp"
#include "tests/reference/mamba2.hpp"

#include <cmath>
#include <limits>
#include <span>

using namespace etna;
using namespace etna::test;
using kernels::Mamba2Shape;

namespace {

constexpr float unset_state = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t mamba_slots = 6;

std::vector<double> to_doubles(std::span<const float> values) {
    return {values.begin(), values.end()};
}

/// A layer, and the same rows for each sequence.
struct MambaCase {
    Mamba2Shape shape;
    SequenceValues xbc;
    SequenceValues dt;
    std::vector<float> decay;
    std::vector<float> dt_bias;
    std::vector<float> skip;
};

MambaCase random_mamba(std::mt19937& random, const Mamba2Shape& shape, std::size_t sequences, uint32_t rows) {
    MambaCase layer{
        .shape = shape,
        .xbc = SequenceValues(sequences, random_floats(random, std::size_t{rows} * shape.xbc_columns())),
        .dt = SequenceValues(sequences, random_floats(random, std::size_t{rows} * shape.heads)),
        .decay = random_floats(random, shape.heads),
        .dt_bias = random_floats(random, shape.heads),
        .skip = random_floats(random, shape.heads)};
    for (float& one : layer.decay)
        one = -0.1F - std::abs(one);
    return layer;
}

struct MambaResults {
    SequenceValues outputs;
    SequenceValues states; ///< at the end
};

/// Runs all steps. States and pending rows begin as NaN.
MambaResults run_mamba(std::mt19937& random, const MambaCase& layer,
                       const std::vector<RecurrentSequence>& sequences) {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const Mamba2Shape& shape = layer.shape;
    const std::size_t state_floats = mamba2_state_bytes(shape) / 4;
    const std::vector<float> states(mamba_slots * state_floats, unset_state);
    const std::vector<float> pending(mamba_slots * mamba2_pending_bytes(shape) / 4, unset_state);
    kernels::Mamba2 operation{
        .shape = shape,
        .decay = device.upload(layer.decay),
        .dt_bias = device.upload(layer.dt_bias),
        .skip = device.upload(layer.skip),
        .states = {.states = device.upload(states), .pending = device.upload(pending), .slots = mamba_slots}};
    const std::size_t rows_all = layer.dt.front().size() / shape.heads;
    MambaResults results{
        .outputs = SequenceValues(sequences.size(), std::vector<float>(rows_all * shape.output_columns())),
        .states = {}};
    for (const RecurrentBatch& batch : recurrent_batches(sequences)) {
        const auto rows = static_cast<uint32_t>(batch.rows.size());
        const auto input = [&](const SequenceValues& values, uint32_t columns) {
            return device.upload_rows(batch_values(random, batch, values, columns), rows, columns);
        };
        operation.sequences = {.infos = device.upload(batch.infos),
                               .count = static_cast<uint32_t>(batch.infos.size()),
                               .rows = rows};
        operation.xbc = input(layer.xbc, shape.xbc_columns());
        operation.dt = input(layer.dt, shape.heads);
        operation.output = device.upload_rows(std::vector<float>(std::size_t{rows} * shape.output_columns()),
                                              rows, shape.output_columns());
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            mamba2({library, recorder}, operation);
        });
        if (rows > 0) {
            collect_outputs(batch, device.download_rows(operation.output), shape.output_columns(),
                            results.outputs);
        }
    }
    const std::vector<float> stored = device.download<float>(operation.states.states);
    for (const RecurrentSequence& sequence : sequences) {
        const auto from = stored.begin() + static_cast<std::ptrdiff_t>(sequence.slot * state_floats);
        results.states.emplace_back(from, from + static_cast<std::ptrdiff_t>(state_floats));
    }
    return results;
}

/// The same rows by the twin: outputs, then the state.
std::pair<reference::Vector, reference::Vector> run_mamba_twin(const MambaCase& layer) {
    const Mamba2Shape& shape = layer.shape;
    reference::Mamba2 twin({.heads = shape.heads,
                            .groups = shape.groups,
                            .head_length = shape.head_dim,
                            .state_length = shape.state_dim},
                           to_doubles(layer.decay), to_doubles(layer.dt_bias), to_doubles(layer.skip));
    const std::span<const float> xbc = layer.xbc[0];
    const std::span<const float> dt = layer.dt[0];
    reference::Vector outputs;
    for (std::size_t row = 0; row < dt.size() / shape.heads; ++row) {
        const auto y = twin.step(to_doubles(xbc.subspan(row * shape.xbc_columns(), shape.xbc_columns())),
                                 to_doubles(dt.subspan(row * shape.heads, shape.heads)));
        outputs.insert(outputs.end(), y.begin(), y.end());
    }
    return {outputs, twin.state()};
}

/// The largest difference, as a part of the root of the mean square.
double largest_part(const std::vector<float>& results, const reference::Vector& expected) {
    REQUIRE(results.size() == expected.size());
    double squares = 0;
    double largest = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        squares += expected[i] * expected[i];
        const double error = std::abs(results[i] - expected[i]);
        largest = error <= largest ? largest : error; // NaN is an error
    }
    return largest / std::sqrt(squares / static_cast<double>(expected.size()));
}

const std::vector<Mamba2Shape> mamba_shapes{{.heads = 1, .groups = 1, .head_dim = 1, .state_dim = 1},
                                            {.heads = 4, .groups = 2, .head_dim = 17, .state_dim = 36},
                                            {.heads = 6, .groups = 2, .head_dim = 37, .state_dim = 100},
                                            {.heads = 3, .groups = 3, .head_dim = 16, .state_dim = 7},
                                            {.heads = 2, .groups = 1, .head_dim = 64, .state_dim = 128},
                                            {.heads = 1, .groups = 1, .head_dim = 20, .state_dim = 256}};

} // namespace

TEST_CASE("mamba2 agrees with the twin, and its bits do not depend on cuts and drafts") {
    constexpr uint32_t rows = 40;
    std::mt19937 random(53);
    for (const Mamba2Shape& shape : mamba_shapes) {
        INFO("heads " << shape.heads << "/" << shape.groups << " of " << shape.head_dim << ", "
                      << shape.state_dim);
        std::vector<RecurrentStep> mixed = prompt_parts({1, 3, 10});
        for (const auto& steps : {random_drafts(random, 11), prompt_parts({5, 2}), single_rows(8)})
            mixed.insert(mixed.end(), steps.begin(), steps.end());
        const std::vector<RecurrentSequence> sequences{{.slot = 3, .steps = prompt_parts({rows})},
                                                       {.slot = 0, .steps = single_rows(rows)},
                                                       {.slot = 5, .steps = random_drafts(random, rows)},
                                                       {.slot = 1, .steps = random_drafts(random, rows)},
                                                       {.slot = 4, .steps = mixed}};
        const MambaCase layer = random_mamba(random, shape, sequences.size(), rows);
        const MambaResults results = run_mamba(random, layer, sequences);
        const auto [outputs, state] = run_mamba_twin(layer);
        CHECK(largest_part(results.outputs[0], outputs) < 1e-5);
        CHECK(largest_part(results.states[0], state) < 1e-5);
        for (std::size_t i = 1; i < sequences.size(); ++i) {
            INFO("sequence " << i);
            REQUIRE(results.outputs[i] == results.outputs[0]);
            REQUIRE(results.states[i] == results.states[0]);
        }
    }
}

TEST_CASE("mamba2 with another number of accepted rows has another state") {
    std::mt19937 random(54);
    const MambaCase layer = random_mamba(random, mamba_shapes[1], 2, 4);
    const MambaResults results = run_mamba(
        random, layer, {{.slot = 0, .steps = {{4, 4, false}}}, {.slot = 1, .steps = {{4, 3, false}}}});
    CHECK(results.states[0] != results.states[1]);
}

TEST_CASE("mamba2 is accurate over a long prompt whose steps are extreme") {
    constexpr uint32_t rows = 300;
    std::mt19937 random(55);
    MambaCase layer = random_mamba(random, mamba_shapes[1], 1, rows);
    for (std::size_t i = 0; i < layer.dt[0].size(); ++i)
        layer.dt[0][i] *= i % 3 == 0 ? 20.0F : 2.0F;
    const MambaResults results = run_mamba(random, layer, {{.slot = 2, .steps = prompt_parts({rows})}});
    const auto [outputs, state] = run_mamba_twin(layer);
    CHECK(largest_part(results.outputs[0], outputs) < 3e-5);
    CHECK(largest_part(results.states[0], state) < 3e-5);
}

TEST_CASE("mamba2 refuses shapes that do not fit and clamps numbers on the device") {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const Mamba2Shape shape{.heads = 2, .groups = 1, .head_dim = 2, .state_dim = 3};
    const kernels::SequenceInfo wild{
        .slot = 99, .first_row = 1, .row_count = 99, .position = 99, .accepted = 99, .flags = 0xFFFFFFFE};
    const auto rows = [&](uint32_t columns) {
        return device.upload_rows(std::vector<float>(std::size_t{12} * columns), 12, columns);
    };
    const auto floats = [&](uint64_t bytes) { return device.upload(std::vector<float>(bytes / 4)); };
    const kernels::Mamba2 good{
        .sequences = {.infos = device.upload(std::vector{wild}), .count = 1, .rows = 12},
        .shape = shape,
        .xbc = rows(shape.xbc_columns()),
        .dt = rows(2),
        .decay = floats(8),
        .dt_bias = floats(8),
        .skip = floats(8),
        .states = {.states = floats(2 * mamba2_state_bytes(shape)),
                   .pending = floats(2 * mamba2_pending_bytes(shape)),
                   .slots = 2},
        .output = rows(shape.output_columns())};
    device.run([&](kernels::Library& library, vk::Recorder& recorder) { mamba2({library, recorder}, good); });
    for (const vk::Range range : {good.states.states, good.states.pending, good.output.range})
        device.download_bytes(range); // checks the guard

    const auto refuses = [&](auto change) {
        kernels::Mamba2 bad = good;
        change(bad);
        vk::Recorder recorder = std::move(vk::Recorder::create(device.library().device())).value();
        mamba2({device.library(), recorder}, bad);
        return !recorder.finish().has_value();
    };
    CHECK_FALSE(refuses([](auto&) {}));
    CHECK(refuses([](auto& one) { one.shape.groups = 0; }));
    CHECK(refuses([](auto& one) { one.shape.groups = 3; }));
    CHECK(refuses([](auto& one) { one.shape.state_dim = 257; }));
    CHECK(refuses([](auto& one) { one.shape.head_dim = 3; }));
    CHECK(refuses([](auto& one) { one.states.slots = 3; }));
    CHECK(refuses([](auto& one) { one.states.slots = 0; }));
    CHECK(refuses([](auto& one) { one.states.pending.bytes -= 4; }));
    CHECK(refuses([](auto& one) { one.sequences.rows = 13; }));
    CHECK(refuses([](auto& one) { one.sequences.count = 2; }));
    CHECK(refuses([](auto& one) { one.dt.columns = 1; }));
    CHECK(refuses([](auto& one) { one.skip.bytes = 4; }));
    CHECK(refuses([](auto& one) { one.output = one.xbc; }));
}

TEST_CASE("gated_rms_norm with the gate first agrees with the twin") {
    std::mt19937 random(56);
    constexpr uint32_t rows = 4;
    for (const auto family : all_families()) {
        for (const auto& [groups, group_dim] : {std::pair{1U, 1U}, {3U, 31U}, {2U, 128U}, {1U, 1000U}}) {
            const uint32_t columns = groups * group_dim;
            DeviceCase device(family);
            const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            std::vector<float> z = random_floats(random, std::size_t{rows} * columns);
            for (float& one : z)
                one *= 4;
            const std::vector<float> weight = random_floats(random, columns);
            const auto values = device.upload_rows(x, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::gated_rms_norm({library, recorder}, {.values = values,
                                                              .gate = device.upload_rows(z, rows, columns),
                                                              .weight = device.upload(weight),
                                                              .head_dim = group_dim,
                                                              .count = rows,
                                                              .order = kernels::GatedNorm::gate_first});
            });
            const std::vector<float> y = device.download_rows(values);
            for (std::size_t from = 0; from < y.size(); from += group_dim) {
                const auto part = [&](const std::vector<float>& all, std::size_t at) {
                    return to_doubles(std::span(all).subspan(at, group_dim));
                };
                const auto expected = reference::gate_first_rms_norm(part(x, from), part(z, from),
                                                                     part(weight, from % columns), 1e-6F);
                for (uint32_t k = 0; k < group_dim; ++k) {
                    INFO(to_string(family) << " group of " << group_dim << " element " << from + k);
                    REQUIRE(y[from + k] == Approx(expected[k]).epsilon(1e-4).margin(1e-30));
                }
            }
        }
    }
}
