#include "core/kernels/operations/delta_net.hpp"
#include "core/kernels/operations/gated_rms_norm.hpp"
#include "tests/kernels/recurrent_case.hpp"
#include "tests/reference/delta_net.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::test;
using kernels::DeltaShape;
using kernels::KeyHeadOrder;

namespace {

constexpr float unset = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t state_slots = 6;

std::vector<double> doubles(std::span<const float> values) {
    return {values.begin(), values.end()};
}

/// Inputs of all sequences, and parameters. A row of `gates` is [a | b] in runs.
struct Net {
    DeltaShape shape;
    uint32_t gate_run = 0;
    std::vector<float> decay;
    std::vector<float> dt_bias;
    SequenceValues qkv;
    SequenceValues gates;
};

Net random_net(std::mt19937& random, const DeltaShape& shape, std::size_t sequences, uint32_t rows) {
    Net net;
    net.shape = shape;
    net.gate_run = shape.value_heads / shape.key_heads;
    net.decay = random_floats(random, shape.value_heads);
    for (float& one : net.decay)
        one = one - 1.01F;
    net.dt_bias = random_floats(random, shape.value_heads);
    net.qkv = SequenceValues(sequences, random_floats(random, std::size_t{rows} * shape.qkv_columns()));
    std::vector<float> gates = random_floats(random, std::size_t{rows} * 2 * shape.value_heads);
    for (float& one : gates)
        one *= 4;
    net.gates = SequenceValues(sequences, gates);
    return net;
}

struct Results {
    SequenceValues outputs;
    SequenceValues states; ///< at the end
};

/// Runs all steps. States and pending rows begin as NaN.
Results run_net(std::mt19937& random, const Net& net, const std::vector<RecurrentSequence>& sequences) {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const DeltaShape& shape = net.shape;
    const std::size_t state_floats = delta_state_bytes(shape) / 4;
    const std::vector<float> states(state_slots * state_floats, unset);
    const std::vector<float> pending(state_slots * delta_pending_bytes(shape) / 4, unset);
    kernels::DeltaNet operation{
        .shape = shape,
        .gate_run = net.gate_run,
        .decay = device.upload(net.decay),
        .dt_bias = device.upload(net.dt_bias),
        .states = {.states = device.upload(states), .pending = device.upload(pending), .slots = state_slots}};
    const std::size_t rows_all = net.qkv.front().size() / shape.qkv_columns();
    Results results{
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
        operation.qkv = input(net.qkv, shape.qkv_columns());
        const kernels::Activations gates = input(net.gates, 2 * shape.value_heads);
        operation.a = {.rows = gates, .first = 0};
        operation.b = {.rows = gates, .first = net.gate_run};
        operation.output = device.upload_rows(std::vector<float>(std::size_t{rows} * shape.output_columns()),
                                              rows, shape.output_columns());
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            delta_net({library, recorder}, operation);
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
std::pair<reference::Vector, reference::Vector> run_twin(const Net& net) {
    const DeltaShape& shape = net.shape;
    reference::DeltaNet twin({.key_heads = shape.key_heads,
                              .value_heads = shape.value_heads,
                              .key_length = shape.key_dim,
                              .value_length = shape.value_dim,
                              .is_tiled = shape.order == KeyHeadOrder::tiled},
                             doubles(net.decay), doubles(net.dt_bias), 1e-6F);
    const std::span<const float> gates = net.gates[0];
    const std::span<const float> qkv = net.qkv[0];
    reference::Vector outputs;
    for (std::size_t row = 0; row < qkv.size() / shape.qkv_columns(); ++row) {
        std::vector<double> a;
        std::vector<double> b;
        for (uint32_t h = 0; h < shape.value_heads; ++h) {
            const std::size_t column = h / net.gate_run * 2 * net.gate_run + h % net.gate_run;
            a.push_back(gates[row * 2 * shape.value_heads + column]);
            b.push_back(gates[row * 2 * shape.value_heads + column + net.gate_run]);
        }
        const auto o = twin.step(doubles(qkv.subspan(row * shape.qkv_columns(), shape.qkv_columns())), a, b);
        outputs.insert(outputs.end(), o.begin(), o.end());
    }
    return {outputs, twin.state()};
}

/// The largest difference, as a part of the root of the mean square.
double largest_error(const std::vector<float>& results, const reference::Vector& expected) {
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

const std::vector<DeltaShape> delta_shapes{
    {.key_heads = 1, .value_heads = 1, .key_dim = 1, .value_dim = 1, .order = KeyHeadOrder::tiled},
    {.key_heads = 2, .value_heads = 4, .key_dim = 36, .value_dim = 17, .order = KeyHeadOrder::tiled},
    {.key_heads = 2, .value_heads = 6, .key_dim = 100, .value_dim = 37, .order = KeyHeadOrder::grouped},
    {.key_heads = 3, .value_heads = 3, .key_dim = 7, .value_dim = 16, .order = KeyHeadOrder::grouped},
    {.key_heads = 1, .value_heads = 2, .key_dim = 128, .value_dim = 128, .order = KeyHeadOrder::tiled},
    {.key_heads = 1, .value_heads = 1, .key_dim = 256, .value_dim = 20, .order = KeyHeadOrder::tiled}};

} // namespace

TEST_CASE("delta_net agrees with the twin, and its bits do not depend on cuts and drafts") {
    constexpr uint32_t rows = 40;
    std::mt19937 random(33);
    for (const DeltaShape& shape : delta_shapes) {
        INFO("heads " << shape.key_heads << "/" << shape.value_heads << " of " << shape.key_dim << ", "
                      << shape.value_dim);
        std::vector<RecurrentStep> mixed = prompt_parts({1, 3, 10});
        for (const auto& steps : {random_drafts(random, 11), prompt_parts({5, 2}), single_rows(8)})
            mixed.insert(mixed.end(), steps.begin(), steps.end());
        const std::vector<RecurrentSequence> sequences{{.slot = 3, .steps = prompt_parts({rows})},
                                                       {.slot = 0, .steps = single_rows(rows)},
                                                       {.slot = 5, .steps = random_drafts(random, rows)},
                                                       {.slot = 1, .steps = random_drafts(random, rows)},
                                                       {.slot = 4, .steps = mixed}};
        const Net net = random_net(random, shape, sequences.size(), rows);
        const Results results = run_net(random, net, sequences);
        const auto [outputs, state] = run_twin(net);
        CHECK(largest_error(results.outputs[0], outputs) < 1e-5);
        CHECK(largest_error(results.states[0], state) < 1e-5);
        for (std::size_t i = 1; i < sequences.size(); ++i) {
            INFO("sequence " << i);
            REQUIRE(results.outputs[i] == results.outputs[0]);
            REQUIRE(results.states[i] == results.states[0]);
        }
    }
}

TEST_CASE("delta_net with another number of accepted rows has another state") {
    std::mt19937 random(34);
    const Net net = random_net(random, delta_shapes[1], 2, 4);
    const Results results =
        run_net(random, net, {{.slot = 0, .steps = {{4, 4, false}}}, {.slot = 1, .steps = {{4, 3, false}}}});
    CHECK(results.states[0] != results.states[1]);
}

TEST_CASE("delta_net is accurate over a long prompt whose gates are extreme") {
    constexpr uint32_t rows = 300;
    std::mt19937 random(35);
    Net net = random_net(random, delta_shapes[1], 1, rows);
    for (std::size_t i = 0; i < net.gates[0].size(); ++i)
        net.gates[0][i] *= i % 3 == 0 ? 20.0F : 2.0F;
    const Results results = run_net(random, net, {{.slot = 2, .steps = prompt_parts({rows})}});
    const auto [outputs, state] = run_twin(net);
    CHECK(largest_error(results.outputs[0], outputs) < 3e-5);
    CHECK(largest_error(results.states[0], state) < 3e-5);
}

TEST_CASE("delta_net refuses shapes that do not fit and clamps numbers on the device") {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const DeltaShape shape{.key_heads = 1, .value_heads = 2, .key_dim = 3, .value_dim = 2};
    const kernels::SequenceInfo wild{
        .slot = 99, .first_row = 1, .row_count = 99, .position = 99, .accepted = 99, .flags = 0xFFFFFFFE};
    const auto rows = [&](uint32_t columns) {
        return device.upload_rows(std::vector<float>(std::size_t{12} * columns), 12, columns);
    };
    const auto floats = [&](uint64_t bytes) { return device.upload(std::vector<float>(bytes / 4)); };
    const kernels::DeltaNet good{
        .sequences = {.infos = device.upload(std::vector{wild}), .count = 1, .rows = 12},
        .shape = shape,
        .qkv = rows(shape.qkv_columns()),
        .a = {.rows = rows(2)},
        .b = {.rows = rows(2)},
        .decay = floats(8),
        .dt_bias = floats(8),
        .states = {.states = floats(2 * delta_state_bytes(shape)),
                   .pending = floats(2 * delta_pending_bytes(shape)),
                   .slots = 2},
        .output = rows(shape.output_columns())};
    device.run(
        [&](kernels::Library& library, vk::Recorder& recorder) { delta_net({library, recorder}, good); });
    for (const vk::Range range : {good.states.states, good.states.pending, good.output.range})
        device.download_bytes(range); // checks the guard

    const auto refuses = [&](auto change) {
        kernels::DeltaNet bad = good;
        change(bad);
        vk::Recorder recorder = std::move(vk::Recorder::create(device.library().device())).value();
        delta_net({device.library(), recorder}, bad);
        return !recorder.finish().has_value();
    };
    CHECK_FALSE(refuses([](auto&) {}));
    CHECK(refuses([](auto& one) { one.shape.key_heads = 0; }));
    CHECK(refuses([](auto& one) { one.shape.key_heads = 3; }));
    CHECK(refuses([](auto& one) { one.shape.key_dim = 257; }));
    CHECK(refuses([](auto& one) { one.shape.value_dim = 3; }));
    CHECK(refuses([](auto& one) { one.states.slots = 3; }));
    CHECK(refuses([](auto& one) { one.states.slots = 0; }));
    CHECK(refuses([](auto& one) { one.states.pending.bytes -= 4; }));
    CHECK(refuses([](auto& one) { one.sequences.rows = 13; }));
    CHECK(refuses([](auto& one) { one.sequences.count = 2; }));
    CHECK(refuses([](auto& one) { one.a.first = 1; }));
    CHECK(refuses([](auto& one) { one.gate_run = 1; }));
    CHECK(refuses([](auto& one) { one.decay.bytes = 4; }));
    CHECK(refuses([](auto& one) { one.output = one.qkv; }));
}

TEST_CASE("gated_rms_norm refuses shapes that do not fit") {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const kernels::GatedRmsNorm good{.values = device.upload_rows(std::vector<float>(12), 2, 6),
                                     .gate = device.upload_rows(std::vector<float>(12), 2, 6),
                                     .weight = device.upload(std::vector<float>(3)),
                                     .head_dim = 3,
                                     .count = 2};
    const auto refuses = [&](auto change) {
        kernels::GatedRmsNorm bad = good;
        change(bad);
        vk::Recorder recorder = std::move(vk::Recorder::create(device.library().device())).value();
        gated_rms_norm({device.library(), recorder}, bad);
        return !recorder.finish().has_value();
    };
    CHECK_FALSE(refuses([](auto&) {}));
    CHECK(refuses([](auto& one) { one.head_dim = 0; }));
    CHECK(refuses([](auto& one) { one.head_dim = 4; }));
    CHECK(refuses([](auto& one) { one.head_dim = 6; }));
    CHECK(refuses([](auto& one) { one.first = 1; }));
    CHECK(refuses([](auto& one) { one.gate.columns = 5; }));
}

TEST_CASE("gated_rms_norm agrees with the twin") {
    std::mt19937 random(36);
    constexpr uint32_t rows = 4;
    for (const auto family : all_families()) {
        for (const auto& [heads, head_dim] : {std::pair{1U, 1U}, {3U, 31U}, {2U, 128U}, {5U, 100U}}) {
            const uint32_t columns = heads * head_dim;
            DeviceCase device(family);
            const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            std::vector<float> z = random_floats(random, std::size_t{rows} * columns);
            for (std::size_t i = 0; i < z.size(); ++i)
                z[i] *= i % 7 == 0 ? 200.0F : 4.0F;
            const std::vector<float> weight = random_floats(random, head_dim);
            const auto values = device.upload_rows(x, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::gated_rms_norm({library, recorder}, {.values = values,
                                                              .gate = device.upload_rows(z, rows, columns),
                                                              .weight = device.upload(weight),
                                                              .head_dim = head_dim,
                                                              .first = 1,
                                                              .count = rows - 1});
            });
            const std::vector<float> y = device.download_rows(values);
            REQUIRE(std::equal(y.begin(), y.begin() + columns, x.begin()));
            for (std::size_t from = columns; from < y.size(); from += head_dim) {
                const auto expected = reference::gated_rms_norm(doubles(std::span(x).subspan(from, head_dim)),
                                                                doubles(std::span(z).subspan(from, head_dim)),
                                                                doubles(weight), 1e-6F);
                for (uint32_t k = 0; k < head_dim; ++k) {
                    INFO(to_string(family) << " head of " << head_dim << " element " << from + k);
                    // exp is accurate to 3 + 2 |z| ulps (Vulkan, "Precision of GLSL instructions")
                    REQUIRE(y[from + k] == Approx(expected[k]).epsilon(1e-4).margin(1e-30));
                }
            }
        }
    }
}
