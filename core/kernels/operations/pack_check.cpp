#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/packed.hpp"

#include <algorithm>

namespace etna::kernels {
namespace {

void make_pack_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t rows = 3;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(11);
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    x[0] = 3e20F;                                              // the others of its block round to zero
    std::fill_n(x.begin() + tile_columns, tile_columns, 0.0F); // a block without any magnitude
    std::for_each(x.end() - 40, x.end(), [](float& one) { one *= 0x1p-18F; }); // some subnormal halves
    Activations input = run.put_rows(x, rows, columns);
    input.packed = run.put(std::vector<uint32_t>(packed_of(x).size(), 0xCDCDCDCD));
    pack({run.library(), run.recorder()}, {.rows = input, .count = rows});
    run.expect(input.packed, [expected = packed_of(x)](ByteView content) {
        const auto* words = reinterpret_cast<const uint32_t*>(content.data());
        return packed_equal({words, expected.size()}, expected);
    });
    std::vector<Bounded> exact;
    exact.reserve(x.size());
    for (const float one : x)
        exact.push_back({one, 0});
    expect_blocks(run, input.packed, exact);
}

/// Rows of f16 with one factor, among them one of zeros and one with a large element.
void make_pack_f16_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t rows = 3;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(12);
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    x[5] = 3e20F;
    std::fill_n(x.begin() + columns, columns, 0.0F);
    Activations input = run.put_rows(x, rows, columns);
    const std::vector<uint32_t> expected = f16_rows_of(x, columns);
    input.f16 = run.put(std::vector<uint32_t>(expected.size(), 0));
    pack({run.library(), run.recorder()}, {.rows = input, .form = PackedForm::f16, .count = rows});
    run.expect_words(input.f16, expected);
}

} // namespace

const Operation pack_f16_operation{
    .name = "pack_f16",
    .uses =
        [](const PlanTarget& target) {
            return prompts_read_packed(target) ? one_use(pack_f16_operation, shaders::pack_f16())
                                               : std::vector<KernelUse>();
        },
    .make_problem = make_pack_f16_problem,
};

const Operation pack_operation{
    .name = "pack",
    .uses =
        [](const PlanTarget& target) {
            return reads_packed(target, tile_columns) ? one_use(pack_operation, shaders::pack())
                                                      : std::vector<KernelUse>();
        },
    .make_problem = make_pack_problem,
};

} // namespace etna::kernels
