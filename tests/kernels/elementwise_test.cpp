#include "core/kernels/operations/gate_multiply.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/operations/suppress.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

using namespace etna;
using namespace etna::test;

namespace {

auto twin_of(kernels::Gate kind) {
    switch (kind) {
    case kernels::Gate::silu:
        return reference::swiglu;
    case kernels::Gate::gelu:
        return reference::geglu;
    case kernels::Gate::sigmoid:
        return reference::sigmoid_gate;
    case kernels::Gate::relu:
        return reference::reglu;
    case kernels::Gate::gelu_erf:
        return reference::gelu_erf_glu;
    case kernels::Gate::clamped_silu:
        break;
    }
    return reference::clamped_swiglu;
}

constexpr std::array all_gates{kernels::Gate::silu,    kernels::Gate::gelu, kernels::Gate::clamped_silu,
                               kernels::Gate::sigmoid, kernels::Gate::relu, kernels::Gate::gelu_erf};

/// Rows of gate and up, and biases of five experts: NaN for experts of no row or of the first one only.
class BiasedGates {
public:
    static constexpr uint32_t rows = 5;
    static constexpr uint32_t experts = 5;
    static constexpr std::array<uint32_t, rows> expert_of_row{3, 0, 2, 4, 0};

    BiasedGates(uint32_t columns, std::mt19937& random)
        : columns_(columns), gate_(random_floats(random, std::size_t{rows} * columns)),
          up_(random_floats(random, std::size_t{rows} * columns)), gate_bias_(random_biases(random)),
          up_bias_(random_biases(random)) {}

    /// Rows [first, rows) as the device computes them.
    [[nodiscard]] std::vector<float> run(kernels::PlanFamily family, kernels::Gate kind,
                                         uint32_t first) const {
        DeviceCase device(family);
        const auto gates = device.upload_rows(gate_, rows, columns_);
        std::vector<uint32_t> ids(expert_of_row.begin(), expert_of_row.end());
        ids[3] = 0xFFFFFFF0U; // clamped to the last expert
        const kernels::GateMultiply operation{.gate = gates,
                                              .up = device.upload_rows(up_, rows, columns_),
                                              .first = first,
                                              .count = rows - first,
                                              .kind = kind,
                                              .biases = kernels::GateBiases{.gate = device.upload(gate_bias_),
                                                                            .up = device.upload(up_bias_),
                                                                            .experts = device.upload(ids),
                                                                            .expert_count = experts}};
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            gate_multiply({library, recorder}, operation);
        });
        const std::vector<float> y = device.download_rows(gates);
        return {y.begin() + std::ptrdiff_t{first} * columns_, y.end()};
    }

    [[nodiscard]] reference::Vector expected(kernels::Gate kind, uint32_t row) const {
        const auto part = [&](const std::vector<float>& all, std::size_t index) {
            const auto start = all.begin() + static_cast<std::ptrdiff_t>(index * columns_);
            return reference::Vector(start, start + columns_);
        };
        const uint32_t expert = expert_of_row[row];
        return twin_of(kind)(reference::add(part(gate_, row), part(gate_bias_, expert)),
                             reference::add(part(up_, row), part(up_bias_, expert)));
    }

private:
    [[nodiscard]] std::vector<float> random_biases(std::mt19937& random) const {
        std::vector<float> biases = random_floats(random, std::size_t{experts} * columns_);
        for (const uint32_t unused : {1U, 3U})
            std::fill_n(biases.begin() + std::ptrdiff_t{unused} * columns_, columns_, NAN);
        return biases;
    }

    uint32_t columns_;
    std::vector<float> gate_, up_, gate_bias_, up_bias_;
};

} // namespace

TEST_CASE("rms_norm agrees with the twin, for consecutive rows and by indices") {
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
                    rms_norm({library, recorder}, operation);
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

TEST_CASE("rms_norm that subtracts the mean and adds a bias is layer norm, and replaces its input") {
    std::mt19937 random(19);
    for (const auto family : all_families()) {
        for (const uint32_t columns : {2U, 63U, 256U, 1001U}) {
            constexpr uint32_t rows = 4;
            DeviceCase device(family);
            std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] += static_cast<float>(i / columns); // the mean of a row
            const std::vector<float> weight = random_floats(random, columns);
            const std::vector<float> bias = random_floats(random, columns);
            for (const bool has_bias : {false, true}) {
                const auto input = device.upload_rows(x, rows, columns);
                const auto output = device.upload_rows(std::vector<float>(x.size()), rows, columns);
                kernels::RmsNorm operation{.input = input,
                                           .output = output,
                                           .weight = device.upload(weight),
                                           .input_first = 1,
                                           .output_first = 1,
                                           .count = 2,
                                           .epsilon = 1e-6F,
                                           .subtracts_mean = true,
                                           .replaces_input = true};
                if (has_bias)
                    operation.bias = device.upload(bias);
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    rms_norm({library, recorder}, operation);
                });
                const std::vector<float> y = device.download_rows(output);
                const std::vector<float> replaced = device.download_rows(input);
                const reference::Vector w(weight.begin(), weight.end());
                const reference::Vector b(bias.begin(), bias.end());
                for (uint32_t row = 0; row < rows; ++row) {
                    const auto begin = x.begin() + std::ptrdiff_t{row} * columns;
                    const reference::Vector one(begin, begin + columns);
                    const reference::Vector expected =
                        reference::layer_norm(one, w, has_bias ? b : reference::Vector(), 1e-6F);
                    for (uint32_t k = 0; k < columns; ++k) {
                        const std::size_t at = std::size_t{row} * columns + k;
                        INFO(to_string(family)
                             << " columns " << columns << " row " << row << " element " << k);
                        if (row == 0 || row == 3) {
                            REQUIRE((y[at] == 0 && replaced[at] == x[at]));
                            continue;
                        }
                        REQUIRE(y[at] == Approx(expected[k]).epsilon(1e-5).margin(1e-5));
                        REQUIRE(replaced[at] == y[at]);
                    }
                }
            }
        }
    }
}

TEST_CASE("gate_multiply alone does not read up") {
    std::mt19937 random(20);
    for (const auto family : all_families()) {
        constexpr uint32_t columns = 70;
        DeviceCase device(family);
        const std::vector<float> x = random_floats(random, columns);
        const auto gate = device.upload_rows(x, 1, columns);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::gate_multiply(
                {library, recorder},
                {.gate = gate, .up = gate, .is_alone = true, .count = 1, .kind = kernels::Gate::gelu_erf});
        });
        const std::vector<float> y = device.download_rows(gate);
        const reference::Vector expected =
            reference::gelu_erf_glu(reference::Vector(x.begin(), x.end()), reference::Vector(columns, 1));
        for (uint32_t k = 0; k < columns; ++k)
            REQUIRE(y[k] == Approx(expected[k]).epsilon(1e-5).margin(1e-6));
    }
}

TEST_CASE("rms_norm and gate_multiply write the same packed form as pack to the bit") {
    std::mt19937 random(77);
    for (const auto family : all_families()) {
        DeviceCase device(family);
        if (!kernels::reads_packed(device.library().target(), kernels::tile_columns))
            continue;
        for (const uint32_t columns : {256U, 768U, 4608U}) {
            constexpr uint32_t rows = 3;
            const std::size_t size = std::size_t{rows} * columns;
            const auto with_packed = [&](kernels::Activations activations) {
                activations.packed =
                    device.upload(std::vector<std::byte>(rows * kernels::packed_row_bytes(columns)));
                activations.f16 =
                    device.upload(std::vector<std::byte>(rows * kernels::f16_row_bytes(columns)));
                return activations;
            };
            const auto input = device.upload_rows(random_floats(random, size), rows, columns);
            const auto normed = with_packed(device.upload_rows(std::vector<float>(size), rows, columns));
            const auto gate = with_packed(device.upload_rows(random_floats(random, size), rows, columns));
            const auto weight = device.upload(random_floats(random, columns));
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                for (const auto form : {kernels::PackedForm::blocks, kernels::PackedForm::f16})
                    kernels::rms_norm({library, recorder}, {.input = input,
                                                            .output = normed,
                                                            .weight = weight,
                                                            .output_first = 1,
                                                            .count = rows - 1,
                                                            .packs = form});
                kernels::gate_multiply({library, recorder},
                                       {.gate = gate, .up = input, .count = rows, .packed = true});
            });
            for (const kernels::Activations& result : {normed, gate}) {
                const auto repacked = with_packed(result);
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    for (const auto form : {kernels::PackedForm::blocks, kernels::PackedForm::f16})
                        kernels::pack({library, recorder},
                                      {.rows = repacked, .form = form, .first = 1, .count = rows - 1});
                });
                const auto content = [&](const kernels::Activations& of, kernels::PackedForm form) {
                    const std::vector<std::byte> bytes = device.download_bytes(of.form(form));
                    const auto row = static_cast<std::ptrdiff_t>(kernels::row_bytes(form, columns));
                    return std::vector(bytes.begin() + row, bytes.end());
                };
                REQUIRE(content(result, kernels::PackedForm::blocks) ==
                        content(repacked, kernels::PackedForm::blocks));
                if (result.packed == normed.packed)
                    REQUIRE(content(result, kernels::PackedForm::f16) ==
                            content(repacked, kernels::PackedForm::f16));
            }
        }
    }
}

TEST_CASE("rms_norm records the first NaN probe that fires for a row") {
    constexpr uint32_t columns = 70;
    constexpr uint32_t rows = 5;
    for (const auto family : all_families()) {
        DeviceCase device(family);
        const vk::Range weights = device.upload(std::vector<float>(columns, 1.0F));
        const vk::Range probes = device.upload(std::vector<uint32_t>(rows, 77));
        const auto run_probe = [&](uint32_t probe, const std::vector<std::pair<uint32_t, float>>& bad_rows) {
            std::vector<float> x(std::size_t{rows} * columns, 0.5F);
            for (const auto& [row, value] : bad_rows)
                x[std::size_t{row} * columns + columns - 1] = value;
            const auto input = device.upload_rows(x, rows, columns);
            const auto output =
                device.upload_rows(std::vector<float>(std::size_t{rows} * columns), rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::rms_norm({library, recorder},
                                  {.input = input,
                                   .output = output,
                                   .weight = weights,
                                   .count = rows,
                                   .nan_probe = kernels::NanProbe{.nan_probes = probes, .nan_probe = probe}});
            });
            return device.download<uint32_t>(probes);
        };
        constexpr uint32_t none = kernels::no_nan_probe;
        INFO(to_string(family));
        CHECK(run_probe(0, {{1, NAN}}) == std::vector<uint32_t>{none, 0, none, none, none});
        CHECK(run_probe(3, {{1, NAN}, {2, INFINITY}, {4, 1e30F}}) ==
              std::vector<uint32_t>{none, 0, 3, none, 3});
        CHECK(run_probe(4, {{0, -NAN}, {4, NAN}}) == std::vector<uint32_t>{4, 0, 3, none, 3});
        CHECK(run_probe(0, {}) == std::vector<uint32_t>(rows, none));
    }
}

TEST_CASE("gate_multiply agrees with the twin, large values included") {
    std::mt19937 random(10);
    for (const auto family : all_families()) {
        for (const auto& [columns, kind] :
             {std::pair{1U, kernels::Gate::silu}, std::pair{63U, kernels::Gate::gelu},
              std::pair{64U, kernels::Gate::silu}, std::pair{200U, kernels::Gate::gelu},
              std::pair{1U, kernels::Gate::clamped_silu}, std::pair{131U, kernels::Gate::clamped_silu},
              std::pair{63U, kernels::Gate::sigmoid}, std::pair{65U, kernels::Gate::relu},
              std::pair{70U, kernels::Gate::gelu_erf}}) {
            constexpr uint32_t rows = 3;
            DeviceCase device(family);
            std::vector<float> gate = random_floats(random, std::size_t{rows} * columns);
            std::vector<float> up = random_floats(random, std::size_t{rows} * columns);
            for (std::size_t i = 0; i < gate.size(); ++i) {
                gate[i] *= i % 7 == 0 ? 200.0F : 4.0F;
                up[i] *= kind == kernels::Gate::clamped_silu ? 20.0F : 1.0F;
            }
            const auto gates = device.upload_rows(gate, rows, columns);
            const auto ups = device.upload_rows(up, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::gate_multiply({library, recorder},
                                       {.gate = gates, .up = ups, .first = 1, .count = 2, .kind = kind});
            });
            const std::vector<float> y = device.download_rows(gates);
            const reference::Vector expected = twin_of(kind)(std::vector<double>(gate.begin(), gate.end()),
                                                             std::vector<double>(up.begin(), up.end()));
            for (std::size_t i = 0; i < y.size(); ++i) {
                INFO(to_string(family) << " columns " << columns << " element " << i << " gate " << gate[i]);
                if (i < columns) {
                    REQUIRE(y[i] == gate[i]);
                } else { // exp is accurate to 3 + 2 |x| ulps (Vulkan, "Precision of GLSL
                         // instructions")
                         // 1 + tanh in double is accurate to 1e-16, times gates up to 200.
                    const bool is_erf = kind == kernels::Gate::gelu_erf; // wrong by up to 1.5e-7 of a gate
                    const double margin = is_erf ? 1e-6 : kind == kernels::Gate::gelu ? 1e-13 : 1e-30;
                    REQUIRE(y[i] == Approx(expected[i]).epsilon(1e-4).margin(margin));
                }
            }
        }
    }
}

TEST_CASE("gate_multiply multiplies each row by the sigmoid of that row's gate") {
    std::mt19937 random(15);
    constexpr uint32_t rows = 4;
    for (const auto family : all_families()) {
        for (const uint32_t columns : {1U, 131U}) {
            DeviceCase device(family);
            const std::vector<float> gate = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> up = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> row_gate{NAN, -200, 0.7F, 30};
            const auto gates = device.upload_rows(gate, rows, columns);
            const kernels::GateMultiply operation{.gate = gates,
                                                  .up = device.upload_rows(up, rows, columns),
                                                  .first = 1,
                                                  .count = rows - 1,
                                                  .row_gate = device.upload_rows(row_gate, rows, 1)};
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                gate_multiply({library, recorder}, operation);
            });
            const std::vector<float> y = device.download_rows(gates);
            const reference::Vector product = reference::swiglu(std::vector<double>(gate.begin(), gate.end()),
                                                                std::vector<double>(up.begin(), up.end()));
            for (uint32_t row = 1; row < rows; ++row) {
                for (uint32_t k = 0; k < columns; ++k) {
                    INFO(to_string(family) << " columns " << columns << " row " << row << " element " << k);
                    const std::size_t at = std::size_t{row} * columns + k;
                    const double expected = product[at] / (1 + std::exp(-double{row_gate[row]}));
                    REQUIRE(y[at] == Approx(expected).epsilon(1e-5).margin(1e-30));
                }
            }
        }
    }
}

TEST_CASE("gate_multiply adds the biases of each row's expert before the activation") {
    std::mt19937 random(14);
    for (const auto family : all_families()) {
        for (const auto kind : all_gates) {
            for (const uint32_t columns : {1U, 63U, 131U}) {
                const BiasedGates gates(columns, random);
                constexpr uint32_t first = 1;
                const std::vector<float> y = gates.run(family, kind, first);
                for (uint32_t row = first; row < BiasedGates::rows; ++row) {
                    const reference::Vector expected = gates.expected(kind, row);
                    for (uint32_t k = 0; k < columns; ++k) {
                        INFO(to_string(family)
                             << " columns " << columns << " row " << row << " element " << k);
                        REQUIRE(y[std::size_t{row - first} * columns + k] ==
                                Approx(expected[k]).epsilon(1e-5).margin(2e-6));
                    }
                }
            }
        }
    }
}

TEST_CASE("a row's biased gate has the same bits alone and in a batch") {
    std::mt19937 random(15);
    for (const auto family : all_families()) {
        const BiasedGates gates(70, random);
        const std::vector<float> batch = gates.run(family, kernels::Gate::clamped_silu, 1);
        const std::vector<float> alone =
            gates.run(family, kernels::Gate::clamped_silu, BiasedGates::rows - 1);
        REQUIRE(alone == std::vector<float>(batch.end() - 70, batch.end()));
    }
}

TEST_CASE("gate_multiply refuses biases and experts that are shorter than their shape") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [](std::size_t count) { return std::vector<float>(count); };
    const kernels::GateMultiply sound{.gate = device.upload_rows(zeros(120), 3, 40),
                                      .up = device.upload_rows(zeros(120), 3, 40),
                                      .first = 1,
                                      .count = 2,
                                      .biases = kernels::GateBiases{.gate = device.upload(zeros(80)),
                                                                    .up = device.upload(zeros(80)),
                                                                    .experts = device.upload(zeros(3)),
                                                                    .expert_count = 2}};
    const auto refused = [&](auto change) {
        kernels::GateMultiply operation = sound;
        change(*operation.biases);
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        gate_multiply({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    using Biases = kernels::GateBiases;
    CHECK_FALSE(refused([](Biases&) {}));
    CHECK(refused([](Biases& biases) { biases.gate.bytes -= 4; }));
    CHECK(refused([](Biases& biases) { biases.up.bytes -= 4; }));
    CHECK(refused([](Biases& biases) { biases.experts.bytes -= 4; }));
    CHECK(refused([](Biases& biases) { biases.expert_count = 3; }));
    CHECK(refused([](Biases& biases) { biases.expert_count = 0; }));
}

TEST_CASE("soft_cap agrees with the twin, infinite, huge and tiny values included") {
    std::mt19937 random(12);
    for (const auto family : all_families()) {
        for (const auto& [columns, cap] :
             {std::pair{1U, 2.0F}, std::pair{63U, 30.0F}, std::pair{129U, 50.0F}}) {
            constexpr uint32_t rows = 3;
            DeviceCase device(family);
            std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            constexpr std::array scales{1.0F, 1e-6F, 100.0F, 1e30F, -INFINITY};
            for (std::size_t i = 0; i < x.size(); ++i)
                x[i] *= scales[i % scales.size()];
            const auto values = device.upload_rows(x, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::soft_cap({library, recorder}, {.values = values, .count = 2, .cap = cap});
            });
            const std::vector<float> y = device.download_rows(values);
            for (std::size_t i = 0; i < y.size(); ++i) {
                INFO(to_string(family)
                     << " columns " << columns << " cap " << cap << " element " << i << " = " << x[i]);
                if (i >= std::size_t{2} * columns) {
                    REQUIRE(y[i] == x[i]);
                } else { // 1 - exp(-2 |x| / cap) is accurate to a few ulps of 1
                    const double expected =
                        std::isinf(x[i]) ? std::copysign(cap, x[i]) : reference::soft_cap(x[i], cap);
                    REQUIRE(y[i] == Approx(expected).epsilon(1e-6).margin(1e-6 * cap));
                }
            }
        }
    }
}

TEST_CASE("soft_cap multiplies by a scale first, and without a cap does nothing else") {
    std::mt19937 random(16);
    constexpr uint32_t columns = 65;
    for (const auto family : all_families()) {
        for (const auto& [cap, scale] : {std::pair{0.0F, 0.25F}, std::pair{3.0F, 5.0F}}) {
            DeviceCase device(family);
            const std::vector<float> x = random_floats(random, columns);
            const auto values = device.upload_rows(x, 1, columns);
            const kernels::SoftCap operation{.values = values, .count = 1, .cap = cap, .scale = scale};
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                soft_cap({library, recorder}, operation);
            });
            const std::vector<float> y = device.download_rows(values);
            for (uint32_t i = 0; i < columns; ++i) {
                INFO(to_string(family) << " cap " << cap << " element " << i);
                const double scaled = double{scale} * x[i];
                const double expected = cap > 0 ? reference::soft_cap(scaled, cap) : scaled;
                REQUIRE(y[i] == Approx(expected).epsilon(1e-6).margin(1e-6 * cap));
            }
        }
    }
}

TEST_CASE("suppress makes logits minus infinity, and changes no other one") {
    std::mt19937 random(18);
    constexpr uint32_t columns = 77;
    constexpr uint32_t rows = 67; // more than a workgroup
    std::vector<uint32_t> all(columns);
    std::iota(all.begin(), all.end(), 0U);
    for (const auto family : all_families()) {
        for (const std::size_t count : {0, 1, 23, 24}) {
            std::ranges::shuffle(all, random);
            const std::vector<uint32_t> ids(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
            DeviceCase device(family);
            std::vector<float> expected = random_floats(random, std::size_t{rows} * columns);
            const auto logits = device.upload_rows(expected, rows, columns);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::suppress({library, recorder}, {.logits = logits, .count = rows - 1, .ids = ids});
            });
            for (uint32_t row = 0; row + 1 < rows; ++row) {
                for (const uint32_t id : ids)
                    expected[std::size_t{row} * columns + id] = -INFINITY;
            }
            INFO(to_string(family) << ", " << count << " ids");
            REQUIRE(device.download_rows(logits) == expected);
        }
    }
}

TEST_CASE("suppress refuses too many ids, and ids outside the vocabulary") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto logits = device.upload_rows(std::vector<float>(40), 1, 40);
    const auto refused = [&](const std::vector<uint32_t>& ids) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        kernels::suppress({device.library(), *recorder}, {.logits = logits, .count = 1, .ids = ids});
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    CHECK_FALSE(refused({39}));
    CHECK(refused({40}));
    CHECK(refused(std::vector<uint32_t>(25)));
}

TEST_CASE("rms_norm with Store::add adds to the output") {
    std::mt19937 random(13);
    constexpr uint32_t columns = 45;
    constexpr uint32_t rows = 3;
    for (const auto family : all_families()) {
        DeviceCase device(family);
        const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
        const std::vector<float> before = random_floats(random, std::size_t{rows} * columns);
        const std::vector<float> weight = random_floats(random, columns);
        const auto input = device.upload_rows(x, rows, columns);
        const auto output = device.upload_rows(before, rows, columns);
        const vk::Range weights = device.upload(weight);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::rms_norm({library, recorder}, {.input = input,
                                                    .output = output,
                                                    .weight = weights,
                                                    .count = 2,
                                                    .epsilon = 1e-6F,
                                                    .store = kernels::Store::add});
        });
        const std::vector<float> y = device.download_rows(output);
        for (uint32_t row = 0; row < rows; ++row) {
            const auto at = static_cast<std::ptrdiff_t>(std::size_t{row} * columns);
            const reference::Vector normed =
                reference::rms_norm(std::vector<double>(x.begin() + at, x.begin() + at + columns),
                                    std::vector<double>(weight.begin(), weight.end()), 1e-6F);
            for (uint32_t k = 0; k < columns; ++k) {
                INFO(to_string(family) << " row " << row << " element " << k);
                const double expected = before[at + k] + (row < 2 ? normed[k] : 0);
                REQUIRE(y[at + k] == Approx(expected).margin(2e-6));
            }
        }
    }
}

TEST_CASE("rms_norm normalises groups of a row, and scales the sum") {
    std::mt19937 random(29);
    constexpr uint32_t rows = 3;
    constexpr float scale = 0.625F;
    constexpr float factor = 1.75F;
    for (const auto family : all_families()) {
        for (const auto& [groups, width] : {std::pair{1U, 45U}, std::pair{5U, 12U}, std::pair{3U, 256U}}) {
            INFO(to_string(family) << ", " << groups << " groups of " << width);
            const uint32_t columns = groups * width;
            DeviceCase device(family);
            const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> before = random_floats(random, std::size_t{rows} * columns);
            const std::vector<float> weight = random_floats(random, width);
            const auto input = device.upload_rows(x, rows, columns);
            const auto output = device.upload_rows(before, rows, columns);
            const vk::Range weights = device.upload(weight);
            const vk::Range scales = device.upload(std::vector<float>{scale});
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::rms_norm({library, recorder}, {.input = input,
                                                        .output = output,
                                                        .weight = weights,
                                                        .groups = groups,
                                                        .count = rows,
                                                        .epsilon = 1e-6F,
                                                        .store = kernels::Store::add,
                                                        .factor = factor,
                                                        .scale = scales});
            });
            const std::vector<float> y = device.download_rows(output);
            for (std::size_t at = 0; at < y.size(); at += width) {
                const auto first = x.begin() + static_cast<std::ptrdiff_t>(at);
                const reference::Vector normed =
                    reference::rms_norm(std::vector<double>(first, first + width),
                                        std::vector<double>(weight.begin(), weight.end()), 1e-6F);
                for (uint32_t k = 0; k < width; ++k)
                    REQUIRE(y[at + k] ==
                            Approx(factor * scale * (before[at + k] + normed[k])).margin(factor * 2e-6));
            }
        }
    }
}
