#include "core/kernels/operations/pack.hpp"
#include "tests/kernels/expert_case.hpp"
#include "tests/kernels/tiles_case.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>

using namespace etna;
using namespace etna::test;

namespace {

/// The layout in which a device loads experts' matrices of this width; empty if not in tiles.
std::optional<kernels::Layout> tiles_layout(DeviceCase& device, kernels::Format format, uint32_t width) {
    const kernels::Layout layout{format,
                                 kernels::stack_arrangement(device.library().target(), format, width)};
    return layout.arrangement == kernels::Arrangement::tiles ? std::optional(layout) : std::nullopt;
}

kernels::Activations unset_rows(DeviceCase& device, uint32_t rows, uint32_t columns) {
    return device.upload_rows(std::vector<float>(std::size_t{rows} * columns, nan_value), rows, columns);
}

/// Experts of pairs, and the results of a tiled kernel. Odd experts have no pairs, and their matrices and
/// biases are NaN.
struct Mixture {
    ExpertShape shape;
    std::vector<uint32_t> experts;
    std::vector<float> x; ///< [rows][width], or [pairs][width] of expert_down
    Choices made;

    /// Groups for expert_group, if pairs are grouped.
    [[nodiscard]] std::optional<kernels::ExpertGroups> groups(bool grouped) const {
        return grouped ? std::optional(made.groups) : std::nullopt;
    }
};

Mixture make_mixture(DeviceCase& device, std::mt19937& random, const ExpertShape& shape,
                     uint32_t input_rows) {
    Mixture mixture{.shape = shape,
                    .experts = even_experts(random, shape),
                    .x = random_floats(random, std::size_t{input_rows} * shape.width),
                    .made = make_choices(device, shape.rows, shape.experts, shape.experts_per_token,
                                         kernels::Arrangement::tiles)};
    mixture.made.choice.experts = device.upload(mixture.experts);
    return mixture;
}

/// f32 [experts][width]; NaN for odd ones.
std::vector<float> random_biases(std::mt19937& random, uint32_t experts, uint32_t width) {
    std::vector<float> biases = random_floats(random, std::size_t{experts} * width);
    for (std::size_t i = 0; i < biases.size(); ++i) {
        if (i / width % 2 != 0)
            biases[i] = nan_value;
    }
    return biases;
}

double with_bias(const std::vector<float>& biases, std::size_t at, double value) {
    return biases.empty() ? value : value + biases[at];
}

double gated(kernels::Gate kind, double gate, double up) {
    const std::array g{gate};
    const std::array u{up};
    switch (kind) {
    case kernels::Gate::gelu:
        return reference::geglu(g, u)[0];
    case kernels::Gate::clamped_silu:
        return reference::clamped_swiglu(g, u)[0];
    case kernels::Gate::relu:
        return reference::reglu(g, u)[0];
    case kernels::Gate::sigmoid:
        return reference::sigmoid_gate(g, u)[0];
    default:
        return reference::swiglu(g, u)[0];
    }
}

/// Bound of gated() for errors of its inputs: no kind is steeper than 1.13 in the gate, or above it in
/// magnitude, times up + 1; and 1e-5 of the result.
double gated_bound(double gate, double gate_error, double up, double up_error) {
    const double size = std::max(1.0, std::abs(gate) + gate_error);
    return 1.13 * gate_error * (std::abs(up) + up_error + 1) + size * up_error +
           1e-5 * (size * (std::abs(up) + 1) + 1);
}

struct GateUpCase {
    ExpertShape shape;
    kernels::Gate kind;
    bool biases;
    bool grouped;
};

class GateUpProblem {
public:
    GateUpProblem(kernels::PlanFamily family, kernels::Format format, const GateUpCase& one, uint32_t seed)
        : one_(one), random_(seed), device_(family), layout_(tiles_layout(device_, format, one.shape.width)) {
    }

    [[nodiscard]] bool is_in_tiles() const { return layout_.has_value(); }

    void check() {
        const ExpertShape& shape = one_.shape;
        const Mixture mixture = make_mixture(device_, random_, shape, shape.rows);
        const std::set<uint32_t> in_use{mixture.experts.begin(), mixture.experts.end()};
        const Stack gate = make_stack(device_, random_, *layout_, shape, in_use);
        const Stack up = make_stack(device_, random_, *layout_, shape, in_use);
        std::vector<float> gate_bias;
        std::vector<float> up_bias;
        if (one_.biases) {
            gate_bias = random_biases(random_, shape.experts, shape.height);
            up_bias = random_biases(random_, shape.experts, shape.height);
        }
        const kernels::Activations output = run(mixture, gate, up, gate_bias, up_bias);
        const std::vector<float> y = device_.download_rows(output);
        for (uint32_t pair = 0; pair < mixture.experts.size(); ++pair) {
            const uint32_t expert = mixture.experts[pair];
            const auto x = row_of(mixture.x, pair / shape.experts_per_token, shape.width);
            const reference::Vector gates = reference::linear(gate.values[expert], x);
            const reference::Vector ups = reference::linear(up.values[expert], x);
            for (uint32_t m = 0; m < shape.height; ++m) {
                const std::size_t at = std::size_t{expert} * shape.height + m;
                const double g = with_bias(gate_bias, at, gates[m]);
                const double u = with_bias(up_bias, at, ups[m]);
                const double exact = gated(one_.kind, g, u);
                const float value = y[std::size_t{pair} * shape.height + m];
                if (!(std::abs(value - exact) <=
                      gated_bound(g, bound(gate, expert, m, x), u, bound(up, expert, m, x))))
                    FAIL("y[" << pair << "][" << m << "] = " << value << ", expected " << exact);
            }
        }
    }

private:
    /// Runs the kernel twice, so that its counters must be zero again; checks its packed form.
    kernels::Activations run(const Mixture& mixture, const Stack& gate, const Stack& up,
                             const std::vector<float>& gate_bias, const std::vector<float>& up_bias) {
        const uint32_t height = one_.shape.height;
        const auto pairs = static_cast<uint32_t>(mixture.experts.size());
        const bool packed = height % kernels::tile_columns == 0;
        kernels::ExpertGateUp operation{
            .gate = gate.device,
            .up = up.device,
            .input = upload_input(device_, gate, mixture.x, one_.shape.rows, one_.shape.width),
            .output = unset_rows(device_, pairs, height),
            .kind = one_.kind,
            .packed = packed,
            .choice = mixture.made.choice,
            .groups = mixture.groups(one_.grouped)};
        if (packed) {
            operation.output.packed =
                device_.upload(std::vector<std::byte>(pairs * kernels::packed_row_bytes(height)));
            operation.counters =
                device_.upload(std::vector<std::byte>(kernels::expert_counter_bytes(pairs, height)));
        }
        if (one_.biases) {
            operation.biases = kernels::GateBiases{.gate = device_.upload(gate_bias),
                                                   .up = device_.upload(up_bias),
                                                   .experts = mixture.made.choice.experts,
                                                   .expert_count = one_.shape.experts};
        }
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            if (one_.grouped) {
                expert_group({library, recorder}, mixture.made.choice, mixture.made.groups);
            }
            expert_gate_up({library, recorder}, operation);
            expert_gate_up({library, recorder}, operation);
        });
        if (packed)
            check_packed(operation);
        return operation.output;
    }

    /// The packed form is that of pack() for the result, to the bit.
    void check_packed(const kernels::ExpertGateUp& operation) {
        const auto pairs = operation.choice.pairs();
        kernels::Activations repacked = operation.output;
        repacked.packed = device_.upload(std::vector<std::byte>(operation.output.packed.bytes));
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::pack({library, recorder}, {.rows = repacked, .count = pairs});
        });
        REQUIRE(device_.download_bytes(operation.output.packed) == device_.download_bytes(repacked.packed));
        for (const uint32_t counter : device_.download<uint32_t>(operation.counters))
            REQUIRE(counter == 0);
    }

    GateUpCase one_;
    std::mt19937 random_;
    DeviceCase device_;
    std::optional<kernels::Layout> layout_;
};

/// Rows of one mixture with their pairs' inputs, of which some run together.
struct DownProblem {
    static constexpr ExpertShape shape{
        .experts = 6, .experts_per_token = 3, .rows = 7, .width = 512, .height = 29};

    DownProblem(DeviceCase& device, kernels::Layout layout, std::mt19937& random)
        : experts(even_experts(random, shape)), routing_weights(random_floats(random, experts.size())),
          x(random_floats(random, experts.size() * shape.width)),
          before(random_floats(random, std::size_t{shape.rows} * shape.height)),
          bias(random_biases(random, shape.experts, shape.height)),
          stack(make_stack(device, random, layout, shape, {experts.begin(), experts.end()})) {}

    /// The device's results for the rows from `first` on.
    [[nodiscard]] std::vector<float> run(DeviceCase& device, bool biased, uint32_t first,
                                         kernels::Store store = kernels::Store::add) const {
        const uint32_t rows = shape.rows - first;
        const std::size_t pair = std::size_t{first} * shape.experts_per_token;
        Choices made =
            make_choices(device, rows, shape.experts, shape.experts_per_token, kernels::Arrangement::tiles);
        made.choice.experts = device.upload(from(experts, pair));
        made.choice.routing_weights = device.upload(from(routing_weights, pair));
        const auto output =
            device.upload_rows(from(before, std::size_t{first} * shape.height), rows, shape.height);
        kernels::ExpertDown operation{.weights = stack.device,
                                      .input = upload_input(device, stack, from(x, pair * shape.width),
                                                            made.choice.pairs(), shape.width),
                                      .output = output,
                                      .choice = made.choice,
                                      .store = store};
        if (biased)
            operation.bias = device.upload(bias);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            expert_down({library, recorder}, operation);
        });
        return device.download_rows(output);
    }

    void check(const std::vector<float>& y, bool biased, kernels::Store store = kernels::Store::add) const {
        for (uint32_t row = 0; row < shape.rows; ++row) {
            for (uint32_t m = 0; m < shape.height; ++m) {
                const std::size_t at = std::size_t{row} * shape.height + m;
                double exact = store == kernels::Store::add ? before[at] : 0;
                double tolerance = 1e-6;
                for (uint32_t i = 0; i < shape.experts_per_token; ++i) {
                    const std::size_t pair = std::size_t{row} * shape.experts_per_token + i;
                    const uint32_t expert = experts[pair];
                    const auto own = row_of(x, pair, shape.width);
                    double product = 0;
                    for (uint32_t k = 0; k < shape.width; ++k)
                        product += stack.values[expert].row(m)[k] * own[k];
                    const double added = biased ? bias[std::size_t{expert} * shape.height + m] : 0;
                    exact += routing_weights[pair] * (product + added);
                    tolerance += std::abs(routing_weights[pair]) *
                                 (bound(stack, expert, m, own) + 1e-6 * (std::abs(product) + 1));
                }
                if (!(std::abs(y[at] - exact) <= tolerance))
                    FAIL("y[" << row << "][" << m << "] = " << y[at] << ", expected " << exact);
            }
        }
    }

    /// The same problem, of the inputs that codes of 8 bits represent if the device's kernel reads them.
    [[nodiscard]] DownProblem read_by(DeviceCase& device) const {
        DownProblem read = *this;
        const kernels::Format format = stack.device.matrices.layout.format;
        if (expert_down_plan(device.library().target(), format).code_bytes == 1) {
            const auto pairs = static_cast<uint32_t>(experts.size());
            read.x = coded_rows(device, upload_input(device, stack, x, pairs, shape.width), 1);
        }
        return read;
    }

    std::vector<uint32_t> experts;
    std::vector<float> routing_weights, x, before, bias;
    Stack stack;

private:
    template <class T>
    static std::vector<T> from(const std::vector<T>& all, std::size_t index) {
        return {all.begin() + static_cast<std::ptrdiff_t>(index), all.end()};
    }
};

void check_plain(const kernels::LibraryOptions& options, kernels::Format format, const ExpertShape& shape,
                 bool grouped, uint32_t seed) {
    INFO(describe(*options.family, format, shape) << (grouped ? " grouped" : ""));
    std::mt19937 random(seed);
    DeviceCase device(options);
    const auto layout = tiles_layout(device, format, shape.width);
    if (!layout)
        return;
    const bool by_row = seed % 2 == 0;
    const uint32_t pairs = shape.rows * shape.experts_per_token;
    const uint32_t input_rows = by_row ? shape.rows : pairs;
    const Mixture mixture = make_mixture(device, random, shape, input_rows);
    const Stack stack =
        make_stack(device, random, *layout, shape, {mixture.experts.begin(), mixture.experts.end()});
    const auto input = upload_input(device, stack, mixture.x, input_rows, shape.width);
    const auto output = unset_rows(device, pairs, shape.height);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        expert_group({library, recorder}, mixture.made.choice, mixture.made.groups);
        kernels::expert_linear({library, recorder},
                               {.weights = stack.device,
                                .input = input,
                                .output = output,
                                .reads = by_row ? kernels::ExpertInput::row : kernels::ExpertInput::pair,
                                .choice = mixture.made.choice,
                                .groups = mixture.groups(grouped)});
    });
    const std::vector<float> y = device.download_rows(output);
    const uint32_t code_bytes = expert_tiles_plan(device.library().target(), format).code_bytes;
    const std::vector<float> read = code_bytes > 0 ? coded_rows(device, input, code_bytes) : mixture.x;
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const uint32_t expert = mixture.experts[pair];
        const auto x = row_of(read, by_row ? pair / shape.experts_per_token : pair, shape.width);
        const reference::Vector exact = reference::linear(stack.values[expert], x);
        for (uint32_t m = 0; m < shape.height; ++m) {
            const float value = y[std::size_t{pair} * shape.height + m];
            if (!(std::abs(value - exact[m]) <= tiles_bound(stack.values[expert], m, x, code_bytes > 0)))
                FAIL("y[" << pair << "][" << m << "] = " << value << ", expected " << exact[m]);
        }
    }
}

constexpr std::array gpu_families{kernels::PlanFamily::nvidia, kernels::PlanFamily::amd};

} // namespace

TEST_CASE(
    "expert_gate_up agrees with the twin: formats, gates, biases, packed outputs, with and without groups") {
    const std::array cases{
        GateUpCase{{3, 2, 1, 256, 29}, kernels::Gate::silu, false, false},
        GateUpCase{{9, 4, 2, 512, 512}, kernels::Gate::clamped_silu, true, false},
        GateUpCase{{4, 2, 21, 768, 256}, kernels::Gate::gelu, false, true}, // tiles of four pairs
        GateUpCase{{5, 3, 3, 2304, 256}, kernels::Gate::clamped_silu, true, true},
        GateUpCase{{8, 2, 5, 256, 11}, kernels::Gate::sigmoid, true, true},
    };
    uint32_t seed = 100;
    std::size_t family_number = 0;
    for (const auto family : gpu_families) {
        std::size_t format_number = 0;
        for (const auto format : all_formats()) {
            for (const GateUpCase& one : in_turn(cases, shape_number(family_number, format_number++))) {
                INFO(describe(family, format, one.shape));
                GateUpProblem problem(family, format, one, seed++);
                if (problem.is_in_tiles())
                    problem.check();
            }
        }
        ++family_number;
    }
}

TEST_CASE("expert_linear of matrices in tiles agrees with the twin, with and without groups") {
    const std::array shapes{ExpertShape{3, 2, 1, 256, 1}, ExpertShape{9, 4, 2, 512, 17},
                            ExpertShape{4, 2, 21, 768, 35}};
    uint32_t seed = 1;
    std::size_t kernel = 0;
    for (const auto format : all_formats()) {
        for (const ExpertShape& shape : in_turn(shapes, kernel++)) {
            for (const bool grouped : {false, true})
                check_plain({.family = kernels::PlanFamily::nvidia}, format, shape, grouped, seed++);
            check_plain({.family = kernels::PlanFamily::amd, .precision = kernels::Precision::fast}, format,
                        shape, seed % 2 == 0, seed);
            check_plain({.family = kernels::PlanFamily::nvidia, .untrusted = codes_kernels(format)}, format,
                        shape, seed % 3 == 0, seed);
        }
    }
}

TEST_CASE("expert_down agrees with the twin over all formats, with and without biases") {
    std::mt19937 random(31);
    std::size_t family_number = 0;
    for (const auto family : gpu_families) {
        std::size_t format_number = 0;
        for (const auto format : all_formats()) {
            const std::size_t number = shape_number(family_number, format_number++);
            DeviceCase device(family);
            const auto layout = tiles_layout(device, format, DownProblem::shape.width);
            if (!layout)
                continue;
            const bool biased = number % 2 == 0;
            INFO(describe(family, format, DownProblem::shape) << (biased ? " biased" : ""));
            const DownProblem problem(device, *layout, random);
            const auto store = number / 2 % 2 == 0 ? kernels::Store::add : kernels::Store::replace;
            problem.check(problem.run(device, biased, 0, store), biased, store);
            DeviceCase packed({.family = family, .untrusted = codes_kernels(format)});
            problem.check(problem.run(packed, biased, 0, store), biased, store);
            DeviceCase fast({.family = family, .precision = kernels::Precision::fast});
            problem.read_by(fast).check(problem.run(fast, biased, 0, store), biased, store);
        }
        ++family_number;
    }
}

TEST_CASE("a row's expert_down has the same bits alone and in a batch") {
    std::mt19937 random(32);
    for (const auto format : {kernels::Format::q4_k, kernels::Format::mxfp4, kernels::Format::bf16}) {
        DeviceCase device(kernels::PlanFamily::nvidia);
        const auto layout = tiles_layout(device, format, DownProblem::shape.width);
        if (!layout)
            continue;
        const DownProblem problem(device, *layout, random);
        const std::vector<float> batch = problem.run(device, true, 0);
        const std::vector<float> alone = problem.run(device, true, DownProblem::shape.rows - 1);
        REQUIRE(alone == std::vector<float>(batch.end() - DownProblem::shape.height, batch.end()));
    }
}

TEST_CASE("a pair's gate and up have the same bits whatever the other pairs are, grouped or not") {
    std::mt19937 random(33);
    constexpr ExpertShape shape{.experts = 3, .experts_per_token = 2, .rows = 23, .width = 512, .height = 20};
    for (const auto format : {kernels::Format::q4_k, kernels::Format::iq4_xs, kernels::Format::f16}) {
        DeviceCase device(kernels::PlanFamily::amd);
        const auto layout = tiles_layout(device, format, shape.width);
        if (!layout)
            continue;
        const Stack gate = make_stack(device, random, *layout, shape, {0, 1, 2});
        const Stack up = make_stack(device, random, *layout, shape, {0, 1, 2});
        const std::vector<float> last_row = random_floats(random, shape.width);
        std::vector<std::vector<float>> results;
        for (const uint32_t rows : {1U, 2U, 5U, 23U}) {
            for (const bool grouped : {false, true}) {
                std::vector<float> x = random_floats(random, std::size_t{rows - 1} * shape.width);
                x.insert(x.end(), last_row.begin(), last_row.end());
                std::vector<uint32_t> experts(std::size_t{rows} * shape.experts_per_token);
                for (uint32_t& expert : experts)
                    expert = static_cast<uint32_t>(random() % shape.experts);
                experts[experts.size() - 2] = 2;
                experts.back() = 0;
                Choices made = make_choices(device, rows, shape.experts, shape.experts_per_token,
                                            kernels::Arrangement::tiles);
                made.choice.experts = device.upload(experts);
                const auto pairs = static_cast<uint32_t>(experts.size());
                const auto output = unset_rows(device, pairs, shape.height);
                const kernels::ExpertGateUp operation{
                    .gate = gate.device,
                    .up = up.device,
                    .input = upload_input(device, gate, x, rows, shape.width),
                    .output = output,
                    .choice = made.choice,
                    .groups = grouped ? std::optional(made.groups) : std::nullopt};
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    expert_group({library, recorder}, made.choice, made.groups);
                    expert_gate_up({library, recorder}, operation);
                });
                const std::vector<float> y = device.download_rows(output);
                results.emplace_back(y.end() - std::ptrdiff_t{2} * shape.height, y.end());
            }
        }
        for (const auto& result : results)
            REQUIRE(result == results.front());
    }
}

TEST_CASE("expert_gate_up and expert_down refuse shapes that do not fit") {
    std::mt19937 random(34);
    DeviceCase device(kernels::PlanFamily::nvidia);
    constexpr ExpertShape shape{.experts = 4, .experts_per_token = 2, .rows = 3, .width = 256, .height = 256};
    const auto layout = tiles_layout(device, kernels::Format::q8_0, shape.width);
    if (!layout)
        return;
    const Stack stack = make_stack(device, random, *layout, shape, {0, 1, 2, 3});
    const Choices made =
        make_choices(device, shape.rows, shape.experts, shape.experts_per_token, kernels::Arrangement::tiles);
    const auto zeros = [&](uint64_t bytes) { return device.upload(std::vector<std::byte>(bytes)); };
    const auto with_packed = [&](uint32_t rows) {
        kernels::Activations made_rows = unset_rows(device, rows, 256);
        made_rows.packed = zeros(rows * kernels::packed_row_bytes(256));
        return made_rows;
    };
    const auto refused = [&](auto run) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        run(*recorder);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    const auto refuses_gate_up = [&](const kernels::ExpertGateUp& operation) {
        return refused(
            [&](vk::Recorder& recorder) { expert_gate_up({device.library(), recorder}, operation); });
    };
    const kernels::ExpertGateUp gate_up{.gate = stack.device,
                                        .up = stack.device,
                                        .input = with_packed(3),
                                        .output = with_packed(6),
                                        .packed = true,
                                        .counters = zeros(kernels::expert_counter_bytes(6, 256)),
                                        .choice = made.choice};
    REQUIRE_FALSE(refuses_gate_up(gate_up));
    kernels::ExpertGateUp wrong = gate_up;
    wrong.up.matrices.layout.format = kernels::Format::q4_0;
    REQUIRE(refuses_gate_up(wrong));
    wrong = gate_up;
    wrong.input.packed = {};
    REQUIRE(refuses_gate_up(wrong));
    wrong = gate_up;
    wrong.output.packed.bytes -= 4;
    REQUIRE(refuses_gate_up(wrong));
    wrong = gate_up;
    wrong.counters.bytes -= 4;
    REQUIRE(refuses_gate_up(wrong));
    wrong = gate_up;
    wrong.biases = kernels::GateBiases{};
    REQUIRE(refuses_gate_up(wrong));

    const auto refuses_down = [&](const kernels::ExpertDown& operation) {
        return refused([&](vk::Recorder& recorder) { expert_down({device.library(), recorder}, operation); });
    };
    const kernels::ExpertDown down{.weights = stack.device,
                                   .input = with_packed(6),
                                   .output = unset_rows(device, 3, 256),
                                   .choice = made.choice};
    REQUIRE_FALSE(refuses_down(down));
    kernels::ExpertDown bad = down;
    bad.input.packed.bytes -= 4;
    REQUIRE(refuses_down(bad));
    bad = down;
    bad.weights.matrices.layout.arrangement = kernels::Arrangement::rows;
    REQUIRE(refuses_down(bad));
    bad = down;
    bad.bias = zeros(std::size_t{4} * 255 * 4);
    REQUIRE(refuses_down(bad));
}
