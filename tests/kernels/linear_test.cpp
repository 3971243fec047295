#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "tests/kernels/tiles_case.hpp"
#include "tests/kernels/weight_source.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/samples.hpp"

#include <cmath>

using namespace etna;
using namespace etna::test;

namespace {

struct Case {
    kernels::PlanFamily family;
    kernels::Format format;
    kernels::RowPath path;
    uint32_t rows;
    uint32_t columns;
    uint32_t count;
    kernels::Store store = kernels::Store::replace;
    bool bias = false;
    uint32_t first = 0;
    float input_scale = 1;
};

std::string describe(const Case& one) {
    return std::string(to_string(one.family)) + " " + std::string(to_string(one.format)) +
           (one.path == kernels::RowPath::prefill ? " prompt" : " generation") + " W[" +
           std::to_string(one.rows) + "," + std::to_string(one.columns) + "] x[" + std::to_string(one.count) +
           "] first " + std::to_string(one.first) + (one.store == kernels::Store::add ? " add" : "") +
           (one.bias ? " bias" : "") + " inputs x " + std::to_string(one.input_scale);
}

kernels::LinearKernel kernel_of(kernels::Library& library, const Case& one, kernels::Layout layout) {
    return kernels::linear_plan(library.target(), layout, one.rows, one.columns, one.path, one.count)
        .value()
        .kernel;
}

void check(const Case& one, uint32_t seed) {
    std::mt19937 random(seed);
    DeviceCase device(one.family);
    const uint32_t all = one.first + one.count;
    const WeightSource source = random_weight(random, one.format, one.rows, one.columns);
    const kernels::Layout layout = layout_of(device, one.format, one.columns);
    const kernels::Matrix weight = upload_weight(device, source, layout);
    std::vector<float> x = random_floats(random, std::size_t{all} * one.columns);
    for (float& value : x)
        value *= one.input_scale;
    const std::vector<float> before = random_floats(random, std::size_t{all} * one.rows);
    const std::vector<float> bias = random_floats(random, one.rows);
    kernels::Activations input = device.upload_rows(x, all, one.columns);
    add_packed(device, layout, input);
    const auto output = device.upload_rows(before, all, one.rows);
    kernels::Linear operation{.weight = weight,
                              .input = input,
                              .output = output,
                              .first = one.first,
                              .count = one.count,
                              .path = one.path,
                              .store = one.store};
    if (one.bias)
        operation.bias = device.upload(bias);
    operation.parts = parts_for(device, weight, one.path, one.count);
    device.run(
        [&](kernels::Library& library, vk::Recorder& recorder) { linear({library, recorder}, operation); });

    const kernels::LinearKernel kernel = kernel_of(device.library(), one, layout);
    const bool to_half =
        kernel == kernels::LinearKernel::matrix || kernel == kernels::LinearKernel::matrix_tiles;
    const std::vector<float> y = device.download_rows(output);
    for (uint32_t c = 0; c < all; ++c) {
        const std::vector<double> column(x.begin() + std::size_t{c} * one.columns,
                                         x.begin() + std::size_t{c + 1} * one.columns);
        const reference::Vector exact = to_half ? reference::linear_in_half(source.values, column)
                                                : reference::linear(source.values, column);
        for (uint32_t m = 0; m < one.rows; ++m) {
            const std::size_t at = std::size_t{c} * one.rows + m;
            double expected = before[at];
            double tolerance = 0;
            if (c >= one.first) {
                expected =
                    exact[m] + (one.bias ? bias[m] : 0) + (one.store == kernels::Store::add ? before[at] : 0);
                const bool adds = one.bias || one.store == kernels::Store::add;
                tolerance = kernel == kernels::LinearKernel::tiles
                                ? tiles_bound(source.values, m, column)
                                : product_bound(source.values, m, column, adds ? 2 : 0);
            }
            if (!(std::abs(y[at] - expected) <= tolerance)) {
                FAIL(describe(one) << ": y[" << c << "][" << m << "] = " << y[at] << ", expected " << expected
                                   << " within " << tolerance);
            }
        }
    }
}

} // namespace

TEST_CASE("linear agrees with the twin over odd sizes, all formats, families and both paths") {
    const std::vector<std::array<uint32_t, 3>> sizes{
        {1, 32, 1}, {7, 96, 3}, {65, 160, 33}, {130, 64, 9}, {33, 544, 2}};
    uint32_t seed = 1;
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        for (const auto format : all_formats()) {
            for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
                for (const auto [rows, columns, count] : in_turn(sizes, kernel++)) {
                    check({family, format, path, rows, width_near(format, columns), count}, seed++);
                }
            }
        }
    }
}

TEST_CASE("linear over tiles agrees with the twin in all formats, for few and many rows and columns") {
    const std::vector<std::array<uint32_t, 3>> sizes{{1, 256, 1},    {7, 512, 3},   {65, 768, 33},
                                                     {130, 1280, 9}, {33, 2048, 2}, {2051, 256, 4}};
    uint32_t seed = 500;
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        for (const auto format : all_formats()) {
            for (const auto path : {kernels::RowPath::decode, kernels::RowPath::prefill}) {
                for (const auto [rows, columns, count] : in_turn(sizes, kernel++))
                    check({family, format, path, rows, columns, count}, seed++);
            }
        }
    }
    // Workgroups of each size, with one group of rows and two.
    for (const auto [rows, columns] : {std::array{4100U, 2048U}, {8195U, 1024U}, {130U, 4352U}}) {
        check(
            {kernels::PlanFamily::nvidia, kernels::Format::q5_k, kernels::RowPath::decode, rows, columns, 1},
            seed++);
    }
    for (const float scale : {0.0F, 1e-30F, 1e-6F, 3e5F, 1e20F}) {
        Case one{kernels::PlanFamily::nvidia, kernels::Format::q4_k, kernels::RowPath::decode, 40, 512, 2};
        one.input_scale = scale;
        one.store = kernels::Store::add;
        one.bias = true;
        one.first = 1;
        check(one, 82);
    }
}

TEST_CASE("prompts over tiles agree with the twin in small and large tiles of sums") {
    uint32_t seed = 900;
    for (const auto family :
         {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel}) {
        Case one{family, kernels::Format::q4_k, kernels::RowPath::prefill, 8203, 256, 67};
        check(one, seed++);
        one = {family, kernels::Format::q6_k, kernels::RowPath::prefill, 90, 768, 40};
        one.store = kernels::Store::add;
        one.bias = true;
        one.first = 3;
        check(one, seed++);
    }
    for (const float scale : {0.0F, 1e-30F, 1e-6F, 3e5F, 1e20F}) {
        Case one{kernels::PlanFamily::nvidia, kernels::Format::q8_0, kernels::RowPath::prefill, 40, 512, 35};
        one.input_scale = scale;
        check(one, seed++);
    }
}

TEST_CASE("linear adds, adds a bias, and does not change the rows before its first") {
    for (const auto family : all_families()) {
        for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
            check({family, kernels::Format::q8_0, path, 40, 64, 5, kernels::Store::add, false, 3}, 77);
            check({family, kernels::Format::f16, path, 40, 70, 5, kernels::Store::replace, true, 1}, 78);
            check({family, kernels::Format::f32, path, 41, 33, 2, kernels::Store::add, true, 0}, 79);
        }
    }
}

TEST_CASE("linear accepts inputs outside the range of f16, large and small") {
    for (const auto family : all_families()) {
        for (const float scale : {0.0F, 1e-30F, 1e-6F, 3e5F, 1e20F}) {
            Case one{family, kernels::Format::q8_0, kernels::RowPath::prefill, 40, 64, 35};
            one.input_scale = scale;
            check(one, 81);
        }
    }
}

TEST_CASE("linear over more weight rows than one dimension of a grid may have") {
    check({kernels::PlanFamily::intel, kernels::Format::f16, kernels::RowPath::decode, 65537 * 4, 2, 1}, 80);
}

TEST_CASE("a row's result has the same bits whatever the other rows are") {
    std::mt19937 random(5);
    const std::array paths{kernels::RowPath::prefill, kernels::RowPath::decode};
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        ++kernel; // so that the families sample different paths of a format
        for (const auto format : all_formats()) {
            for (const auto path : in_turn(paths, kernel++)) {
                DeviceCase device(family);
                const uint32_t width = kernel % 2 == 0 ? width_near(format, 320) : 1280;
                const WeightSource source = random_weight(random, format, 70, width);
                const kernels::Layout layout = layout_of(device, format, width);
                const kernels::Matrix weight = upload_weight(device, source, layout);
                const std::vector<float> x = random_floats(random, std::size_t{19} * width);
                kernels::Activations input = device.upload_rows(x, 19, width);
                add_packed(device, layout, input);
                const vk::Range parts = parts_for(device, weight, path, 19);
                std::vector<std::vector<float>> results;
                for (const uint32_t count : {19U, 8U, 5U, 2U, 1U}) { // the last row alone and in a batch
                    const auto output = device.upload_rows(std::vector<float>(std::size_t{19} * 70), 19, 70);
                    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                        kernels::linear({library, recorder}, {.weight = weight,
                                                              .input = input,
                                                              .output = output,
                                                              .first = 19 - count,
                                                              .count = count,
                                                              .path = path,
                                                              .parts = parts});
                    });
                    const std::vector<float> y = device.download_rows(output);
                    results.emplace_back(y.end() - 70, y.end());
                }
                for (const auto& result : results)
                    REQUIRE(result == results.front());
            }
        }
    }
}

namespace {

/// A stack of matrices in tiles over rows whose norm is pending or not.
struct StackCase {
    kernels::PlanFamily family;
    kernels::Format format;
    std::vector<uint32_t> rows;
    uint32_t columns;
    uint32_t count;
    bool pending = false;
    uint32_t first = 0;
    kernels::Precision precision = kernels::Precision::exact;
    bool from_f16 = false; ///< as without integer dot products
};

void check(const StackCase& one, uint32_t seed) {
    std::mt19937 random(seed);
    DeviceCase device(
        kernels::LibraryOptions{.family = one.family,
                                .untrusted = one.from_f16 ? codes_kernels(one.format) : kernels::VariantSet{},
                                .precision = one.precision});
    const kernels::Layout layout = layout_of(device, one.format, one.columns);
    if (layout.arrangement != kernels::Arrangement::tiles)
        return;
    const uint32_t all = one.first + one.count;
    const uint32_t code_bytes = test::code_bytes(device, layout, one.rows[0], one.columns);
    const TilesInput input = random_input(device, random, all, one.columns, one.pending, code_bytes);
    std::vector<WeightSource> sources;
    std::vector<std::vector<float>> biases;
    std::vector<kernels::StackedMatrix> matrices;
    for (const uint32_t rows : one.rows) {
        sources.push_back(random_weight(random, one.format, rows, one.columns));
        biases.push_back(random_floats(random, rows));
        matrices.push_back(
            {.weight = upload_weight(device, sources.back(), layout),
             .output = device.upload_rows(std::vector<float>(std::size_t{all} * rows, 7), all, rows)});
        if (matrices.size() != 2) // one has none
            matrices.back().bias = device.upload(biases.back());
    }
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        kernels::linear_stack({library, recorder}, {.matrices = matrices,
                                                    .input = input.rows,
                                                    .first = one.first,
                                                    .count = one.count,
                                                    .norm = input.norm});
    });
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        const std::vector<float> y = device.download_rows(matrices[i].output);
        for (uint32_t c = 0; c < all; ++c) {
            const reference::Vector exact = reference::linear(sources[i].values, input.column(c));
            for (uint32_t m = 0; m < one.rows[i]; ++m) {
                const double expected =
                    c < one.first ? 7 : exact[m] + (matrices[i].bias ? double{biases[i][m]} : 0.0);
                const double tolerance =
                    c < one.first ? 0 : tiles_bound(sources[i].values, m, input.column(c), code_bytes > 0);
                const double got = y[std::size_t{c} * one.rows[i] + m];
                INFO(to_string(one.family)
                     << " " << to_string(one.format) << " matrix " << i << " y[" << c << "][" << m << "]");
                REQUIRE(std::abs(got - expected) <= tolerance);
            }
        }
    }
}

} // namespace

TEST_CASE("linear_stack of prompts agrees with the twin, with sums that are split along k and without") {
    uint32_t seed = 950;
    for (const auto family :
         {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel}) {
        DeviceCase device(family);
        if (!kernels::prompts_read_packed(device.library().target()))
            continue; // no matrix units
        for (const uint32_t columns : {256U, 2304U}) {
            std::mt19937 random(seed++);
            constexpr uint32_t first = 2;
            constexpr uint32_t all = 39;
            const kernels::Layout layout = layout_of(device, kernels::Format::q4_k, columns);
            const std::vector<float> x = random_floats(random, std::size_t{all} * columns);
            kernels::Activations input = device.upload_rows(x, all, columns);
            add_packed(device, layout, input);
            std::vector<WeightSource> sources;
            std::vector<float> bias;
            std::vector<kernels::StackedMatrix> matrices;
            uint32_t rows_together = 0;
            for (const uint32_t rows : {130U, 9U, 64U}) {
                sources.push_back(random_weight(random, kernels::Format::q4_k, rows, columns));
                matrices.push_back({.weight = upload_weight(device, sources.back(), layout),
                                    .output = device.upload_rows(
                                        std::vector<float>(std::size_t{all} * rows, 7), all, rows)});
                rows_together += rows;
            }
            bias = random_floats(random, 9);
            matrices[1].bias = device.upload(bias);
            const uint64_t part_bytes =
                kernels::linear_part_bytes(device.library().target(), layout, rows_together, columns,
                                           kernels::RowPath::prefill, all - first);
            CHECK((part_bytes > 0) == (columns > 2000));
            const vk::Range parts = device.upload(std::vector<std::byte>(std::max<uint64_t>(part_bytes, 4)));
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::linear_stack({library, recorder}, {.matrices = matrices,
                                                            .input = input,
                                                            .first = first,
                                                            .count = all - first,
                                                            .path = kernels::RowPath::prefill,
                                                            .parts = parts});
            });
            for (std::size_t i = 0; i < matrices.size(); ++i) {
                const std::vector<float> y = device.download_rows(matrices[i].output);
                const auto rows = static_cast<uint32_t>(sources[i].values.rows);
                for (uint32_t c = 0; c < all; ++c) {
                    const reference::Vector column(x.begin() + std::size_t{c} * columns,
                                                   x.begin() + std::size_t{c + 1} * columns);
                    const reference::Vector exact = reference::linear_in_half(sources[i].values, column);
                    for (uint32_t m = 0; m < rows; ++m) {
                        const double expected = c < first ? 7 : exact[m] + (i == 1 ? double{bias[m]} : 0.0);
                        const double tolerance =
                            c < first ? 0 : product_bound(sources[i].values, m, column, 1);
                        INFO(to_string(family)
                             << " " << columns << " matrix " << i << " y[" << c << "][" << m << "]");
                        REQUIRE(std::abs(y[std::size_t{c} * rows + m] - expected) <= tolerance);
                    }
                }
            }
        }
    }
}

TEST_CASE("linear_stack agrees with the twin over one to three matrices, with a pending norm and without") {
    uint32_t seed = 700;
    uint32_t family_number = 0;
    for (const auto family : all_families()) {
        uint32_t format_number = 0;
        for (const auto format : all_formats()) {
            const auto shape = static_cast<uint32_t>(shape_number(family_number, format_number++));
            check({family, format, {65, 8, 40}, 512, 3, shape % 2 == 0}, seed);
            check({family, format, {33, 16}, 512, 1 + shape % 5, shape % 3 == 0, 0, kernels::Precision::fast},
                  seed);
            check({.family = family,
                   .format = format,
                   .rows = {9, 24},
                   .columns = 768,
                   .count = 1 + shape % 4,
                   .pending = shape % 2 == 0,
                   .from_f16 = true},
                  seed);
            ++seed;
        }
        ++family_number;
        check({family, kernels::Format::q4_k, {264, 256, 8}, 1024, 1, true}, seed++);
        check({family, kernels::Format::q6_k, {24, 9}, 256, 9, true, 2}, seed++);
        check({family, kernels::Format::q8_0, {12}, 17408, 2, true, 1}, seed++); // more tiles than lanes
    }
    check({kernels::PlanFamily::nvidia, kernels::Format::q4_0, {4096, 9, 1}, 2048, 1, true}, seed++);
}

TEST_CASE(
    "pack writes codes that represent the rows to half a scale, and with fine codes to a 256th of one") {
    DeviceCase device(kernels::PlanFamily::amd);
    if (kernels::written_blocks(device.library().target()) != 2)
        return; // no integer dot products here
    std::mt19937 random(3);
    constexpr uint32_t columns = 768;
    std::vector<float> x = random_floats(random, std::size_t{2} * columns);
    x[0] = 1e20F;
    std::fill(x.begin() + 512, x.begin() + 768, 0.0F);
    kernels::Activations rows = device.upload_rows(x, 2, columns);
    add_packed(device, {.format = kernels::Format::f16, .arrangement = kernels::Arrangement::tiles}, rows);
    const std::vector<float> values = coded_rows(device, rows, 1);
    const std::vector<float> fine = coded_rows(device, rows, 2);
    REQUIRE(values.size() == x.size());
    for (std::size_t block = 0; block < x.size(); block += kernels::tile_columns) {
        float largest = 0;
        for (std::size_t i = block; i < block + kernels::tile_columns; ++i)
            largest = std::max(largest, std::abs(x[i]));
        for (std::size_t i = block; i < block + kernels::tile_columns; ++i) {
            REQUIRE(std::abs(values[i] - x[i]) <= 0.501 * largest / 127);
            REQUIRE(std::abs(fine[i] - x[i]) <= 1.01 * largest / (127 * 256)); // 127.5 to 128 become 127
        }
    }
}

TEST_CASE("linear refuses shapes that do not fit instead of reading past a buffer") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    std::mt19937 random(1);
    const WeightSource source = random_weight(random, kernels::Format::f32, 8, 32);
    const kernels::Matrix weight =
        upload_weight(device, source, {kernels::Format::f32, kernels::Arrangement::rows});
    const auto input = device.upload_rows(std::vector<float>(32), 1, 32);
    const auto output = device.upload_rows(std::vector<float>(8), 1, 8);
    const auto refused = [&](const kernels::Linear& operation) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        linear({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    const kernels::Linear sound{.weight = weight, .input = input, .output = output, .count = 1};
    REQUIRE_FALSE(refused(sound));
    kernels::Linear wide = sound;
    wide.weight.columns = 64;
    REQUIRE(refused(wide));
    kernels::Linear tall = sound;
    tall.weight.rows = 9;
    REQUIRE(refused(tall));
    kernels::Linear short_bias = sound;
    short_bias.bias = vk::Range{input.range.address, 16};
    REQUIRE(refused(short_bias));
}

TEST_CASE(
    "linear over tiles refuses an input without its packed form, and pack odd widths and short ranges") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    std::mt19937 random(1);
    const kernels::Layout layout = layout_of(device, kernels::Format::q4_0, 512);
    if (layout.arrangement != kernels::Arrangement::tiles)
        return; // this device has no kernel for tiles
    const kernels::Matrix weight =
        upload_weight(device, random_weight(random, kernels::Format::q4_0, 8, 512), layout);
    kernels::Activations input = device.upload_rows(std::vector<float>(1024), 2, 512);
    const auto output = device.upload_rows(std::vector<float>(16), 2, 8);
    const auto refused = [&](const auto& record) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        record(*recorder);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    const auto multiply = [&](vk::Recorder& recorder) {
        kernels::linear({device.library(), recorder},
                        {.weight = weight, .input = input, .output = output, .count = 2});
    };
    const auto make_packed = [&](vk::Recorder& recorder) {
        kernels::pack({device.library(), recorder}, {.rows = input, .count = 2});
    };
    REQUIRE(refused(multiply));
    REQUIRE(refused(make_packed));
    input.packed = device.upload(std::vector<std::byte>(kernels::packed_row_bytes(512)));
    REQUIRE(refused(multiply)); // of one row
    REQUIRE(refused(make_packed));
    input.packed = device.upload(std::vector<std::byte>(2 * kernels::packed_row_bytes(512)));
    REQUIRE_FALSE(refused(multiply));
    REQUIRE_FALSE(refused(make_packed));
    const std::vector<kernels::StackedMatrix> four(4, {.weight = weight, .output = output});
    const auto stack = [&](std::size_t matrices, std::optional<kernels::PendingNorm> norm) {
        return [&, matrices, norm](vk::Recorder& recorder) {
            kernels::linear_stack(
                {device.library(), recorder},
                {.matrices = std::span(four).first(matrices), .input = input, .count = 2, .norm = norm});
        };
    };
    REQUIRE_FALSE(refused(stack(1, std::nullopt)));
    REQUIRE(refused(stack(4, std::nullopt)));
    REQUIRE(refused(stack(0, std::nullopt)));
    REQUIRE(refused(stack(1, kernels::PendingNorm{.squares = device.upload(std::vector<float>(3))})));
    input.columns = 480;
    REQUIRE(refused(make_packed));
}
