#include "core/kernels/operations/embed.hpp"
#include "tests/kernels/weight_source.hpp"

using namespace etna;
using namespace etna::test;

TEST_CASE(
    "embed reads rows by id, by slot and of embeddings, in every format, and clamps indices out of range") {
    std::mt19937 random(3);
    for (const auto family : all_families()) {
        for (const auto format : all_formats()) {
            for (const uint32_t columns : {32U, 96U, 160U, 512U}) {
                DeviceCase device(family);
                const uint32_t width = columns == 512 ? columns : width_near(format, columns);
                const WeightSource source = random_weight(random, format, 21, width);
                const kernels::Layout layout{
                    format, kernels::matrix_arrangement(device.library().target(), format, width)};
                const kernels::Matrix table = upload_weight(device, source, layout);
                const std::vector<uint32_t> slots{4, 20, 1000};
                constexpr uint32_t slot = kernels::RowInfo::input_is_slot;
                constexpr uint32_t embedding = kernels::RowInfo::input_is_embedding;
                const std::vector<uint32_t> inputs{0,  20,       7,         slot | 0,      slot | 1,
                                                   21, slot | 2, slot | 99, embedding | 1, embedding | 9};
                const std::vector<uint32_t> expected{0, 20, 7, 4, 20, 20, 20, 20};
                std::vector<kernels::RowInfo> infos;
                infos.reserve(inputs.size());
                for (const uint32_t input : inputs)
                    infos.push_back({.input = input});
                const std::vector<float> embeddings = random_floats(random, std::size_t{3} * width);
                const vk::Range embedding_range = device.upload(embeddings);
                const auto count = static_cast<uint32_t>(infos.size());
                const auto output =
                    device.upload_rows(std::vector<float>(std::size_t{count + 1} * width), count + 1, width);
                const vk::Range slot_range = device.upload(slots);
                const vk::Range info_range = device.upload(infos);
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    kernels::embed({library, recorder},
                                   {.rows = {.infos = info_range, .first = 1, .count = count},
                                    .slots = slot_range,
                                    .embeddings = embedding_range,
                                    .table = table,
                                    .output = output,
                                    .scale = 0.5F});
                });
                const std::vector<float> y = device.download_rows(output);
                for (uint32_t row = 0; row < expected.size(); ++row) {
                    for (uint32_t k = 0; k < width; ++k) {
                        INFO(to_string(family)
                             << " " << to_string(format) << " row " << row << " element " << k);
                        // scale x code, exact, plus an offset, rounded once
                        REQUIRE(
                            y[std::size_t{row + 1} * width + k] ==
                            Approx(0.5 * source.values.row(expected[row])[k]).epsilon(1e-6).margin(1e-12));
                    }
                }
                for (uint32_t k = 0; k < width; ++k) {
                    REQUIRE(y[k] == 0);
                    REQUIRE(y[std::size_t{9} * width + k] == embeddings[width + k]);
                    REQUIRE(y[std::size_t{10} * width + k] == embeddings[2 * width + k]);
                }
            }
        }
    }
}

TEST_CASE("rows that name an embedding read token 0 of a table without embeddings") {
    constexpr uint32_t width = 20;
    std::mt19937 random(5);
    for (const auto family : all_families()) {
        DeviceCase device(family);
        const WeightSource source = random_weight(random, kernels::Format::f32, 3, width);
        const kernels::Matrix table = upload_weight(device, source, {});
        const std::vector<kernels::RowInfo> infos{{.input = 2},
                                                  {.input = kernels::RowInfo::input_is_embedding | 1U}};
        const auto output = device.upload_rows(std::vector<float>(2 * width), 2, width);
        const vk::Range info_range = device.upload(infos);
        const vk::Range slots = device.upload(std::vector<uint32_t>{0});
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::embed({library, recorder}, {.rows = {.infos = info_range, .first = 0, .count = 2},
                                                 .slots = slots,
                                                 .table = table,
                                                 .output = output,
                                                 .scale = 2});
        });
        const std::vector<float> y = device.download_rows(output);
        for (uint32_t k = 0; k < width; ++k) {
            REQUIRE(y[k] == Approx(2 * source.values.row(2)[k]));
            REQUIRE(y[width + k] == Approx(2 * source.values.row(0)[k]));
        }
    }
}

TEST_CASE("embed adds the embedding of the position, and a constant") {
    constexpr uint32_t width = 20;
    std::mt19937 random(6);
    for (const auto family : all_families()) {
        DeviceCase device(family);
        const WeightSource source = random_weight(random, kernels::Format::f32, 3, width);
        const kernels::Matrix table = upload_weight(device, source, {});
        const std::vector<float> positions = random_floats(random, 4 * width);
        const std::vector<float> constant = random_floats(random, width);
        const std::vector<kernels::RowInfo> infos{{.input = 2, .position = 1},
                                                  {.input = 0, .position = 9}}; // clamped to 3
        const auto output = device.upload_rows(std::vector<float>(2 * width), 2, width);
        const vk::Range info_range = device.upload(infos);
        const vk::Range slots = device.upload(std::vector<uint32_t>{0});
        const vk::Range position_range = device.upload(positions);
        const vk::Range constant_range = device.upload(constant);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::embed({library, recorder}, {.rows = {.infos = info_range, .first = 0, .count = 2},
                                                 .slots = slots,
                                                 .positions = position_range,
                                                 .constant = constant_range,
                                                 .table = table,
                                                 .output = output});
        });
        const std::vector<float> y = device.download_rows(output);
        for (uint32_t k = 0; k < width; ++k) {
            REQUIRE(y[k] == Approx(source.values.row(2)[k] + positions[width + k] + constant[k]));
            REQUIRE(y[width + k] == Approx(source.values.row(0)[k] + positions[3 * width + k] + constant[k]));
        }
    }
}
