#include "core/kernels/operations/expert_matrix.hpp"
#include "core/kernels/operations/experts.hpp"
#include "tests/kernels/expert_case.hpp"
#include "tests/kernels/tiles_case.hpp"

using namespace etna;
using namespace etna::test;

namespace {

/// A mixture over prompts, and its pairs' values in double precision.
class UnitExperts {
public:
    UnitExperts(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape, uint32_t seed)
        : shape_(shape), random_(seed), device_(family),
          layout_{.format = format, .arrangement = kernels::Arrangement::tiles} {
        experts_ = even_experts(random_, shape);
        const std::set<uint32_t> in_use(experts_.begin(), experts_.end());
        gate_ = make_stack(device_, random_, layout_, shape, in_use);
        up_ = make_stack(device_, random_, layout_, shape, in_use);
        x_ = random_floats(random_, std::size_t{pairs()} * shape.width);
        input_ = upload_input(device_, gate_, x_, pairs(), shape.width);
        gate_bias_ = random_floats(random_, std::size_t{shape.experts} * shape.height);
        up_bias_ = random_floats(random_, std::size_t{shape.experts} * shape.height);
    }

    [[nodiscard]] static bool is_possible(kernels::PlanFamily family, kernels::Format format) {
        DeviceCase device(family);
        return kernels::experts_on_units(device.library().target(),
                                         {.format = format, .arrangement = kernels::Arrangement::tiles});
    }

    /// Rows of pairs [row x experts_per_token ...) of the first `rows` rows.
    std::vector<float> run(uint32_t rows, kernels::ExpertInput reads, bool is_gated) {
        const uint32_t some = rows * shape_.experts_per_token;
        const std::vector<uint32_t> chosen(experts_.begin(), experts_.begin() + some);
        kernels::ExpertRouting choice{.experts = device_.upload(chosen),
                                      .routing_weights = device_.upload(std::vector<float>(some)),
                                      .count = shape_.experts,
                                      .experts_per_token = shape_.experts_per_token,
                                      .rows = rows};
        const kernels::ExpertGroups groups{
            .range = device_.upload(std::vector<std::byte>(
                kernels::expert_group_bytes(rows, shape_.experts_per_token), std::byte{0xFF})),
            .tile_pairs = kernels::unit_tile_pairs(device_.library().target(), some, shape_.experts)};
        kernels::ExpertMatrix operation{
            .weights = gate_.device,
            .input = input_,
            .output = device_.upload_rows(std::vector<float>(std::size_t{some} * shape_.height, nan_value),
                                          some, shape_.height),
            .reads = reads,
            .choice = choice,
            .groups = groups};
        if (is_gated) {
            operation.up = up_.device;
            operation.biases = kernels::GateBiases{.gate = device_.upload(gate_bias_),
                                                   .up = device_.upload(up_bias_),
                                                   .experts = choice.experts,
                                                   .expert_count = shape_.experts};
        }
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::expert_group({library, recorder}, choice, groups);
            kernels::expert_matrix({library, recorder}, operation);
        });
        return device_.download_rows(operation.output);
    }

    void check(uint32_t rows, kernels::ExpertInput reads, bool is_gated) {
        const std::vector<float> y = run(rows, reads, is_gated);
        for (uint32_t pair = 0; pair < rows * shape_.experts_per_token; ++pair) {
            const uint32_t expert = experts_[pair];
            const uint32_t row = reads == kernels::ExpertInput::row ? pair / shape_.experts_per_token : pair;
            const std::vector<double> x = row_of(x_, row, shape_.width);
            const reference::Vector gate = reference::linear_in_half(gate_.values[expert], x);
            const reference::Vector up = reference::linear_in_half(up_.values[expert], x);
            for (uint32_t m = 0; m < shape_.height; ++m) {
                const double g_bound = product_bound(gate_.values[expert], m, x, 2);
                const double u_bound = product_bound(up_.values[expert], m, x, 2);
                double expected = gate[m];
                double tolerance = g_bound;
                if (is_gated) { // the slope of silu is below 1.1
                    const double g = gate[m] + gate_bias_[std::size_t{expert} * shape_.height + m];
                    const double u = up[m] + up_bias_[std::size_t{expert} * shape_.height + m];
                    expected = g / (1 + std::exp(-g)) * u;
                    tolerance = 1.1 * g_bound * (std::abs(u) + u_bound) + (std::abs(g) + 1) * u_bound +
                                1e-6 * std::abs(expected);
                }
                INFO("pair " << pair << " of expert " << expert << ", element " << m);
                REQUIRE(std::abs(y[std::size_t{pair} * shape_.height + m] - expected) <= tolerance);
            }
        }
    }

private:
    [[nodiscard]] uint32_t pairs() const { return shape_.rows * shape_.experts_per_token; }

    ExpertShape shape_;
    std::mt19937 random_;
    DeviceCase device_;
    kernels::Layout layout_;
    std::vector<uint32_t> experts_;
    Stack gate_;
    Stack up_;
    std::vector<float> x_;
    kernels::Activations input_;
    std::vector<float> gate_bias_;
    std::vector<float> up_bias_;
};

} // namespace

TEST_CASE("expert_matrix agrees with the twin in all formats, gated and plain, over few and many pairs") {
    constexpr ExpertShape shapes[] = {{4, 2, 21, 256, 77}, {2, 1, 70, 512, 40}, {6, 3, 8, 768, 130}};
    uint32_t seed = 1;
    for (const auto family :
         {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel}) {
        for (const kernels::Format format : all_formats()) {
            const bool is_sample = format == kernels::Format::q4_k || format == kernels::Format::q8_0;
            if (family != kernels::PlanFamily::nvidia && !is_sample)
                continue; // the families differ in sizes of matrices and subgroups alone
            if (!UnitExperts::is_possible(family, format))
                continue; // no matrix units, or F32
            const ExpertShape& shape = shapes[seed % std::size(shapes)];
            INFO(describe(family, format, shape));
            UnitExperts experts(family, format, shape, seed++);
            experts.check(shape.rows, kernels::ExpertInput::row, seed % 2 == 0);
            experts.check(shape.rows, kernels::ExpertInput::pair, false);
        }
    }
}

TEST_CASE("expert_matrix gives a row the same bits whatever the other rows are") {
    for (const auto family :
         {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel}) {
        if (!UnitExperts::is_possible(family, kernels::Format::q4_k))
            continue;
        constexpr ExpertShape shape{2, 2, 130, 256, 48};
        UnitExperts experts(family, kernels::Format::q4_k, shape, 7);
        const std::vector<float> all = experts.run(shape.rows, kernels::ExpertInput::row, true);
        for (const uint32_t rows : {1U, 40U, 64U}) {
            const std::vector<float> some = experts.run(rows, kernels::ExpertInput::row, true);
            REQUIRE(std::equal(some.begin(), some.end(), all.begin()));
        }
    }
}
