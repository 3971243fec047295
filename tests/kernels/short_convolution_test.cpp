#include "core/kernels/operations/short_convolution.hpp"
#include "tests/kernels/recurrent_case.hpp"
#include "tests/reference/delta_net.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::test;

namespace {

constexpr float unset_input = std::numeric_limits<float>::quiet_NaN();

struct Filter {
    uint32_t channels;
    uint32_t width;
    bool has_bias;
    bool is_gated = false;

    [[nodiscard]] uint32_t input_columns() const { return is_gated ? 3 * channels : channels; }
};

struct Weights {
    std::vector<float> weight;
    std::vector<float> bias; ///< empty: none
};

reference::Matrix matrix(const std::vector<float>& values, std::size_t columns) {
    return {.rows = values.size() / columns,
            .columns = columns,
            .values = std::vector<double>(values.begin(), values.end())};
}

/// The outputs of rows that stay. The ring begins as NaN.
SequenceValues convolve(std::mt19937& random, const Filter& filter, const Weights& weights,
                        const std::vector<RecurrentSequence>& sequences, const SequenceValues& inputs) {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const uint32_t channels = filter.channels;
    const uint32_t length = kernels::convolution_ring_length(filter.width);
    const uint32_t slots = 5;
    kernels::ShortConvolution operation{
        .weight = device.upload(weights.weight),
        .ring = {.range =
                     device.upload(std::vector<float>(std::size_t{slots} * length * channels, unset_input)),
                 .slots = slots,
                 .length = length},
        .width = filter.width,
        .kind = filter.is_gated ? kernels::ConvolutionKind::gated : kernels::ConvolutionKind::silu};
    if (!weights.bias.empty())
        operation.bias = device.upload(weights.bias);
    SequenceValues outputs(sequences.size(),
                           std::vector<float>(inputs.front().size() / filter.input_columns() * channels));
    for (const RecurrentBatch& batch : recurrent_batches(sequences)) {
        const auto rows = static_cast<uint32_t>(batch.rows.size());
        operation.sequences = {.infos = device.upload(batch.infos),
                               .count = static_cast<uint32_t>(batch.infos.size()),
                               .rows = rows};
        operation.input = device.upload_rows(batch_values(random, batch, inputs, filter.input_columns()),
                                             rows, filter.input_columns());
        operation.output =
            device.upload_rows(std::vector<float>(std::size_t{rows} * channels), rows, channels);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            short_convolution({library, recorder}, operation);
        });
        if (rows > 0)
            collect_outputs(batch, device.download_rows(operation.output), channels, outputs);
    }
    return outputs;
}

} // namespace

TEST_CASE("short_convolution agrees with the twin, and its bits do not depend on cuts and drafts") {
    constexpr uint32_t rows = 45;
    std::mt19937 random(31);
    for (const Filter& filter :
         {Filter{130, 4, false}, Filter{1, 4, true}, Filter{64, 1, false}, Filter{63, 2, true},
          Filter{20, 8, false}, Filter{67, 3, false, true}, Filter{64, 3, true, true}}) {
        INFO("channels " << filter.channels << " width " << filter.width
                         << (filter.is_gated ? ", gated" : ""));
        Weights weights{random_floats(random, std::size_t{filter.channels} * filter.width), {}};
        if (filter.has_bias)
            weights.bias = random_floats(random, filter.channels);
        std::vector<RecurrentStep> mixed = prompt_parts({1, 2, 20});
        for (const auto& steps : {random_drafts(random, 10), prompt_parts({5}), single_rows(7)})
            mixed.insert(mixed.end(), steps.begin(), steps.end());
        const std::vector<RecurrentSequence> sequences{{.slot = 3, .steps = prompt_parts({rows})},
                                                       {.slot = 0, .steps = single_rows(rows)},
                                                       {.slot = 4, .steps = random_drafts(random, rows)},
                                                       {.slot = 1, .steps = mixed}};
        const SequenceValues inputs(sequences.size(),
                                    random_floats(random, std::size_t{rows} * filter.input_columns()));
        const SequenceValues outputs = convolve(random, filter, weights, sequences, inputs);
        const auto twin = filter.is_gated ? reference::gated_short_convolution : reference::short_convolution;
        const reference::Matrix expected =
            twin(matrix(inputs[0], filter.input_columns()), matrix(weights.weight, filter.width),
                 std::vector<double>(weights.bias.begin(), weights.bias.end()));
        for (std::size_t i = 0; i < outputs[0].size(); ++i) {
            INFO("element " << i);
            REQUIRE(outputs[0][i] == Approx(expected.values[i]).epsilon(2e-6).margin(2e-6));
        }
        for (std::size_t i = 1; i < sequences.size(); ++i) {
            INFO("sequence " << i);
            REQUIRE(outputs[i] == outputs[0]);
        }
    }
}

TEST_CASE("short_convolution computes large sums without overflow") {
    std::mt19937 random(32);
    const SequenceValues inputs{{200, -200, 1e30F, -1e30F}};
    const SequenceValues outputs =
        convolve(random, {1, 1, false}, {{1}, {}}, {{.slot = 0, .steps = prompt_parts({4})}}, inputs);
    CHECK(outputs[0] == std::vector<float>{200, 0, 1e30F, 0});
}

TEST_CASE("short_convolution refuses shapes that do not fit and clamps numbers on the device") {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    const kernels::SequenceInfo wild{.slot = 99,
                                     .first_row = 1,
                                     .row_count = 99,
                                     .position = 7,
                                     .accepted = 99,
                                     .flags = kernels::commit_rows};
    const kernels::ShortConvolution good{
        .sequences = {.infos = device.upload(std::vector{wild}), .count = 1, .rows = 2},
        .input = device.upload_rows({5, 1}, 2, 1),
        .output = device.upload_rows({0, 0}, 2, 1),
        .weight = device.upload(std::vector<float>(4, 0.25F)),
        .ring = {.range = device.upload(std::vector<float>(2 * 16)), .slots = 2, .length = 16}};
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        short_convolution({library, recorder}, good);
    });
    const std::vector<float> y = device.download_rows(good.output);
    CHECK(y[0] == 0);
    CHECK(y[1] == Approx(0.25 / (1 + std::exp(-0.25))));

    const auto refuses = [&](auto change) {
        kernels::ShortConvolution bad = good;
        change(bad);
        vk::Recorder recorder = std::move(vk::Recorder::create(device.library().device())).value();
        short_convolution({device.library(), recorder}, bad);
        return !recorder.finish().has_value();
    };
    CHECK_FALSE(refuses([](auto&) {}));
    CHECK(refuses([](auto& one) { one.ring.length = 8; }));
    CHECK(refuses([](auto& one) { one.ring.length = 24; }));
    CHECK(refuses([](auto& one) { one.ring.slots = 3; }));
    CHECK(refuses([](auto& one) { one.width = 9; }));
    CHECK(refuses([](auto& one) { one.width = 0; }));
    CHECK(refuses([](auto& one) { one.sequences.rows = 3; }));
    CHECK(refuses([](auto& one) { one.sequences.count = 2; }));
    CHECK(refuses([](auto& one) { one.bias = vk::Range{}; }));
    CHECK(refuses([](auto& one) { one.kind = kernels::ConvolutionKind::gated; }));
}
