#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/policy.hpp"
#include "tests/kernels/tiles_case.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/samples.hpp"

#include <limits>

using namespace etna;
using namespace etna::test;
using kernels::Format;
using kernels::Gate;
using kernels::PlanFamily;

namespace {

struct FusedShape {
    PlanFamily family;
    Format format;
    uint32_t rows; ///< of each matrix
    uint32_t columns;
    uint32_t count;
    std::optional<Gate> gate = std::nullopt;
    bool pending = false;
    bool next_norm = false;
    bool adds = false; ///< and has a bias
    uint32_t first = 0;
    kernels::Precision precision = kernels::Precision::exact;
    bool from_f16 = false; ///< as without integer dot products
};

/// One fused linear on the device, and the values that it should have.
class FusedCase {
public:
    FusedCase(const FusedShape& one, uint32_t seed)
        : case_(one), random_(seed),
          device_(kernels::LibraryOptions{.family = one.family,
                                          .untrusted = one.from_f16 ? codes_kernels(one.format)
                                                                    : kernels::VariantSet{},
                                          .precision = one.precision}),
          all_(one.first + one.count), layout_(layout_of(device_, one.format, one.columns)) {}

    [[nodiscard]] bool is_possible() { return layout_.arrangement == kernels::Arrangement::tiles; }

    void run() {
        const uint32_t rows = case_.rows;
        source_ = random_weight(random_, case_.format, rows, case_.columns);
        code_bytes_ = code_bytes(device_, layout_, rows, case_.columns);
        input_ = random_input(device_, random_, all_, case_.columns, case_.pending, code_bytes_);
        before_ = random_floats(random_, std::size_t{all_} * rows);
        bias_ = random_floats(random_, rows);
        norm_weight_ = random_floats(random_, rows);
        operation_ = {.weight = upload_weight(device_, source_, layout_),
                      .input = input_.rows,
                      .norm = input_.norm,
                      .output = device_.upload_rows(before_, all_, rows),
                      .packs = {.range = {},
                                .columns = rows,
                                .packed = device_.upload(
                                    std::vector<std::byte>(all_ * kernels::packed_row_bytes(rows)))},
                      .counters = device_.upload(
                          std::vector<std::byte>(kernels::fused_counter_bytes(case_.count, rows))),
                      .first = case_.first,
                      .count = case_.count,
                      .store = case_.adds ? kernels::Store::add : kernels::Store::replace};
        if (case_.gate) {
            up_ = random_weight(random_, case_.format, rows, case_.columns);
            operation_.gated = kernels::GatedBy{upload_weight(device_, up_, layout_), *case_.gate};
        }
        if (case_.adds)
            operation_.bias = device_.upload(bias_);
        if (case_.next_norm) {
            const std::size_t blocks = std::size_t{all_} * (rows / kernels::tile_columns);
            operation_.next_norm = {
                .weight = device_.upload(norm_weight_),
                .squares = device_.upload(std::vector<float>(blocks, -1)),
                .nan_probe = {.nan_probes = device_.upload(std::vector<uint32_t>(all_, probes_before)),
                              .nan_probe = 5}};
        }
        REQUIRE(kernels::can_fuse(device_.library().target(), operation_.weight));
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            fused_linear({library, recorder}, operation_);
        });
        output_ = device_.download_rows(operation_.output);
    }

    void check_output() {
        const bool adds = case_.adds;
        for (uint32_t c = 0; c < all_; ++c) {
            const reference::Vector product = reference::linear(source_.values, input_.column(c));
            const reference::Vector up =
                case_.gate ? reference::linear(up_.values, input_.column(c)) : reference::Vector{};
            const reference::Vector exact = case_.gate ? gated(product, up) : product;
            for (uint32_t m = 0; m < case_.rows; ++m) {
                const std::size_t at = std::size_t{c} * case_.rows + m;
                double expected = before_[at];
                double tolerance = 0;
                if (c >= case_.first) {
                    expected = exact[m] + (adds ? double{before_[at]} + bias_[m] : 0.0);
                    tolerance = tiles_bound(source_.values, m, input_.column(c), code_bytes_ > 0);
                    if (case_.gate) { // slopes of the gates are below 1.7 within [-7, 7]
                        tolerance = 1.7 * tolerance * (std::abs(up[m]) + 1) +
                                    (std::abs(product[m]) + 1.7 * tolerance) *
                                        tiles_bound(up_.values, m, input_.column(c), code_bytes_ > 0);
                    }
                }
                INFO("y[" << c << "][" << m << "] = " << output_[at] << ", expected " << expected);
                REQUIRE(std::abs(output_[at] - expected) <= tolerance);
            }
        }
    }

    /// The packed form is that of pack() for the output times the next norm's weights.
    void check_packed() {
        std::vector<float> scaled = output_;
        for (std::size_t i = 0; case_.next_norm && i < scaled.size(); ++i)
            scaled[i] *= norm_weight_[i % case_.rows];
        kernels::Activations repacked = device_.upload_rows(scaled, all_, case_.rows);
        repacked.packed =
            device_.upload(std::vector<std::byte>(all_ * kernels::packed_row_bytes(case_.rows)));
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::pack({library, recorder},
                          {.rows = repacked, .first = case_.first, .count = case_.count});
        });
        REQUIRE(device_.download_bytes(operation_.packs.packed) == device_.download_bytes(repacked.packed));
    }

    void check_squares() {
        const auto squares = device_.download<float>(operation_.next_norm->squares);
        for (std::size_t block = 0; block < squares.size(); ++block) {
            double expected = 0;
            for (std::size_t i = 0; i < kernels::tile_columns; ++i) {
                const double y = output_[block * kernels::tile_columns + i];
                expected += y * y;
            }
            if (block < std::size_t{case_.first} * case_.rows / kernels::tile_columns)
                expected = -1;
            REQUIRE(std::abs(squares[block] - expected) <= 1e-5 * std::abs(expected));
        }
    }

    [[nodiscard]] std::vector<uint32_t> nan_probes() {
        return device_.download<uint32_t>(operation_.next_norm->nan_probe.nan_probes);
    }
    [[nodiscard]] std::vector<uint32_t> counters() { return device_.download<uint32_t>(operation_.counters); }
    [[nodiscard]] const std::vector<float>& output() const { return output_; }

    /// Records it again for a part of the rows, over the result; returns the output.
    std::vector<float> run_part(uint32_t first, uint32_t count) {
        operation_.first = first;
        operation_.count = count;
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            fused_linear({library, recorder}, operation_);
        });
        return device_.download_rows(operation_.output);
    }
    std::vector<std::byte> packed() { return device_.download_bytes(operation_.packs.packed); }

    bool refuses(const auto& change) {
        kernels::FusedLinear changed = operation_;
        change(changed);
        auto recorder = vk::Recorder::create(device_.library().device());
        REQUIRE(recorder.has_value());
        fused_linear({device_.library(), *recorder}, changed);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    }

    void spoil_input() {
        const float bad = std::numeric_limits<float>::infinity();
        std::vector<float> x(std::size_t{all_} * case_.columns, 1);
        x[0] = bad;
        operation_.input = device_.upload_rows(x, all_, case_.columns);
        add_packed(device_, layout_, operation_.input);
    }

    static constexpr uint32_t probes_before = 9;

private:
    [[nodiscard]] reference::Vector gated(reference::View gate, reference::View up) const {
        switch (*case_.gate) {
        case Gate::silu:
            return reference::swiglu(gate, up);
        case Gate::gelu:
            return reference::geglu(gate, up);
        case Gate::clamped_silu:
            return reference::clamped_swiglu(gate, up);
        case Gate::relu:
            return reference::reglu(gate, up);
        case Gate::gelu_erf:
            return reference::gelu_erf_glu(gate, up);
        case Gate::sigmoid:
            break;
        }
        return reference::sigmoid_gate(gate, up);
    }

    FusedShape case_;
    std::mt19937 random_;
    DeviceCase device_;
    uint32_t all_; ///< rows of the buffers
    kernels::Layout layout_;
    uint32_t code_bytes_ = 0;
    WeightSource source_;
    WeightSource up_;
    TilesInput input_;
    std::vector<float> before_;
    std::vector<float> bias_;
    std::vector<float> norm_weight_;
    kernels::FusedLinear operation_;
    std::vector<float> output_;
};

void check_fused(const FusedShape& one, uint32_t seed) {
    FusedCase fused(one, seed);
    if (!fused.is_possible())
        return;
    INFO(to_string(one.family) << " " << to_string(one.format) << " [" << one.rows << "," << one.columns
                               << "] x " << one.count);
    fused.run();
    fused.check_output();
    fused.check_packed();
    if (one.next_norm) {
        fused.check_squares();
        for (const uint32_t probe : fused.nan_probes())
            REQUIRE(probe == FusedCase::probes_before);
    }
    for (const uint32_t counter : fused.counters())
        REQUIRE(counter == 0);
}

} // namespace

TEST_CASE("fused_linear adds to the residual and prepares the next norm, in all formats and families") {
    uint32_t seed = 900;
    uint32_t family_number = 0;
    for (const auto family : all_families()) {
        uint32_t format_number = 0;
        for (const auto format : all_formats()) {
            const auto shape = static_cast<uint32_t>(shape_number(family_number, format_number++));
            check_fused({family, format, 512, 256, 1 + shape % 3, std::nullopt, false, true, true}, ++seed);
            check_fused({family, format, 256, 512, 1 + shape % 5, std::nullopt, shape % 2 == 0, true, true, 0,
                         kernels::Precision::fast},
                        seed);
        }
        ++family_number;
        check_fused({family, Format::q4_k, 1024, 2048, 1, std::nullopt, true, true, true}, ++seed);
        check_fused({family, Format::q6_k, 256, 512, 9, std::nullopt, false, true, true, 2}, ++seed);
        check_fused({family, Format::q8_0, 256, 512, 5, std::nullopt, true, false, false, 1}, ++seed);
    }
    // Two groups of rows a workgroup, and workgroups of each size.
    check_fused({PlanFamily::nvidia, Format::q4_k, 4096, 4096, 1, std::nullopt, false, true, true}, ++seed);
    check_fused({PlanFamily::nvidia, Format::q5_k, 8192, 1024, 2, std::nullopt, false, true, true}, ++seed);
}

TEST_CASE("fused_linear gates a pair of matrices, in all formats and families") {
    uint32_t seed = 1100;
    constexpr std::array gates{Gate::silu, Gate::gelu, Gate::clamped_silu, Gate::sigmoid};
    uint32_t family_number = 0;
    for (const auto family : all_families()) {
        uint32_t format_number = 0;
        for (const auto format : all_formats()) {
            const auto shape = static_cast<uint32_t>(shape_number(family_number, format_number++));
            const Gate gate = gates[shape % 4];
            check_fused({family, format, 256, 512, 1 + shape % 3, gate, shape % 2 == 0}, seed);
            check_fused({family, format, 256, 256, 1 + shape % 5, gate, shape % 2 == 0, false, false, 0,
                         kernels::Precision::fast},
                        seed);
            check_fused({.family = family,
                         .format = format,
                         .rows = 256,
                         .columns = 256,
                         .count = 1 + shape % 4,
                         .gate = gate,
                         .from_f16 = true},
                        seed);
            ++seed;
        }
        ++family_number;
        check_fused({family, Format::q4_k, 512, 1280, 6, Gate::silu, true, false, false, 1}, ++seed);
    }
    check_fused({PlanFamily::nvidia, Format::q4_k, 8192, 2048, 1, Gate::silu, true}, ++seed);
}

TEST_CASE("a row of fused_linear has the same bits whatever the other rows are") {
    for (const auto format : {Format::q4_k, Format::q8_0, Format::f16, Format::mxfp4}) {
        for (const bool gated : {false, true}) {
            FusedShape one{PlanFamily::nvidia, format, 512, 1024, 7};
            one.precision = format == Format::q8_0 ? kernels::Precision::fast : kernels::Precision::exact;
            one.pending = true;
            if (gated) {
                one.gate = Gate::silu;
            } else {
                one.next_norm = true;
            }
            FusedCase fused(one, 1300);
            if (!fused.is_possible())
                return;
            fused.run();
            const std::vector<float> together = fused.output();
            const std::vector<std::byte> packed = fused.packed();
            for (const uint32_t count : {1U, 2U, 4U}) {
                REQUIRE(fused.run_part(7 - count, count) == together);
                REQUIRE(fused.packed() == packed);
            }
        }
    }
}

TEST_CASE("fused_linear records a sum of squares that is not finite") {
    FusedCase fused({PlanFamily::nvidia, Format::q8_0, 256, 256, 2, std::nullopt, false, true, true}, 1400);
    if (!fused.is_possible())
        return;
    fused.run();
    fused.spoil_input();
    fused.run_part(0, 2);
    REQUIRE(fused.nan_probes() == std::vector<uint32_t>{5, FusedCase::probes_before});
}

TEST_CASE("fused_linear refuses what does not fit") {
    FusedCase fused({PlanFamily::nvidia, Format::q4_0, 256, 512, 2, std::nullopt, true, true, false}, 1500);
    if (!fused.is_possible())
        return;
    fused.run();
    using kernels::FusedLinear;
    REQUIRE_FALSE(fused.refuses([](FusedLinear&) {}));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.weight.rows = 264; }));
    REQUIRE(
        fused.refuses([](FusedLinear& one) { one.weight.layout.arrangement = kernels::Arrangement::rows; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.weight.weights.bytes -= 16; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.packs.packed.bytes -= 4; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.counters.bytes -= 4; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.norm->squares.bytes -= 4; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.next_norm->squares.bytes -= 4; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.next_norm->nan_probe.nan_probes.bytes -= 4; }));
    REQUIRE(fused.refuses([](FusedLinear& one) { one.gated = kernels::GatedBy{}; }));
}
