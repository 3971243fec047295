#include "core/kernels/operations/halve.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/halves.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <algorithm>

namespace etna::kernels {
namespace {

void make_halve_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t rows = 3;
    constexpr uint32_t columns = 2 * tile_columns;
    Noise noise(11);
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    x[0] = 3e20F;                                              // the others of its block round to zero
    std::fill_n(x.begin() + tile_columns, tile_columns, 0.0F); // a block without any magnitude
    std::for_each(x.end() - 40, x.end(), [](float& one) { one *= 0x1p-18F; }); // some subnormal halves
    Activations input = run.put_rows(x, rows, columns);
    input.halves = run.put(std::vector<uint32_t>(halves_of(x).size(), 0xCDCDCDCD));
    halve({run.library(), run.recorder()}, {.rows = input, .count = rows});
    run.expect(input.halves, [expected = halves_of(x)](ByteView content) {
        const auto* words = reinterpret_cast<const uint32_t*>(content.data());
        return halves_equal({words, expected.size()}, expected);
    });
    std::vector<Bounded> exact;
    exact.reserve(x.size());
    for (const float one : x)
        exact.push_back({one, 0});
    expect_blocks(run, input.halves, exact);
}

} // namespace

const Operation halve_operation{
    .name = "halve",
    .uses =
        [](const PlanTarget& target) {
            return reads_halves(target, tile_columns) ? one_use(halve_operation, shaders::halve())
                                                      : std::vector<KernelUse>();
        },
    .make_problem = make_halve_problem,
};

} // namespace etna::kernels
