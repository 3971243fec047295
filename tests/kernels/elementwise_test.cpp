#include "tests/kernels/device_case.hpp"
#include "tests/reference/operations.hpp"

using namespace etna;
using namespace etna::test;

TEST_CASE("rms_norm agrees with the twin, by run and by indices") {
    std::mt19937 random(9);
    for (const auto family : all_families()) {
        for (const uint32_t columns : {1U, 31U, 64U, 257U, 1000U}) {
            constexpr uint32_t rows = 5;
            DeviceCase device(family);
            const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> weight = random_floats(random, columns);
            const auto input = device.upload_rows(x, rows, columns);
            const vk::Range weights = device.upload(weight);
            const vk::Range indices = device.upload(std::vector<uint32_t>{4, 0, 99});
            for (const bool indexed : {false, true}) {
                const auto output =
                    device.upload_rows(std::vector<float>(std::size_t{rows} * columns), rows, columns);
                kernels::RmsNorm operation{.input = input,
                                           .output = output,
                                           .weight = weights,
                                           .input_first = indexed ? 0U : 1U,
                                           .output_first = 1,
                                           .count = 3,
                                           .epsilon = 1e-6F};
                if (indexed)
                    operation.indices = indices;
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    rms_norm(library, recorder, operation);
                });
                const std::vector<float> y = device.download_rows(output);
                const std::vector<uint32_t> source =
                    indexed ? std::vector<uint32_t>{4, 0, 4}
                            : std::vector<uint32_t>{1, 2, 3}; // 99 is clamped to 4
                const std::vector<double> w(weight.begin(), weight.end());
                for (uint32_t i = 0; i < 3; ++i) {
                    const std::vector<double> row(x.begin() + std::size_t{source[i]} * columns,
                                                  x.begin() + std::size_t{source[i] + 1} * columns);
                    const reference::Vector expected = reference::rms_norm(row, w, 1e-6F);
                    for (uint32_t k = 0; k < columns; ++k) {
                        INFO(to_string(family) << " columns " << columns << " row " << i << " element " << k);
                        REQUIRE(y[std::size_t{i + 1} * columns + k] ==
                                Approx(expected[k]).epsilon(2e-6).margin(1e-9));
                    }
                }
                for (uint32_t k = 0; k < columns; ++k)
                    REQUIRE((y[k] == 0 && y[std::size_t{4} * columns + k] == 0));
            }
        }
    }
}

TEST_CASE("silu_multiply agrees with the twin, large values included") {
    std::mt19937 random(10);
    for (const auto family : all_families()) {
        for (const uint32_t columns : {1U, 63U, 200U}) {
            constexpr uint32_t rows = 3;
            DeviceCase device(family);
            std::vector<float> gate = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> up = random_floats(random, std::size_t{rows} * columns);
            for (std::size_t i = 0; i < gate.size(); ++i)
                gate[i] *= i % 7 == 0 ? 200.0F : 4.0F;
            const auto gates = device.upload_rows(gate, rows, columns);
            const auto ups = device.upload_rows(up, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                silu_multiply(library, recorder, {.gate = gates, .up = ups, .first = 1, .count = 2});
            });
            const std::vector<float> y = device.download_rows(gates);
            const reference::Vector expected = reference::swiglu(
                std::vector<double>(gate.begin(), gate.end()), std::vector<double>(up.begin(), up.end()));
            for (std::size_t i = 0; i < y.size(); ++i) {
                INFO(to_string(family) << " columns " << columns << " element " << i << " gate " << gate[i]);
                if (i < columns) {
                    REQUIRE(y[i] == gate[i]);
                } else { // exp is good for 3 + 2 |x| units in the last place (Vulkan, "Precision of GLSL
                         // instructions")
                    REQUIRE(y[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-30));
                }
            }
        }
    }
}
