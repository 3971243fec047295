#include "core/kernels/operations/suppress.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/logits.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace etna::kernels {
namespace {

void make_suppress_problem(KernelRun& run, const KernelUse&) {
    constexpr std::array<uint32_t, 4> ids{0, 63, 1024, vocabulary - 1};
    std::vector<float> numbers = random_logits();
    const Activations logits = run.put_rows(numbers, sample_rows, vocabulary);
    suppress({run.library(), run.recorder()}, {.logits = logits, .count = sample_rows, .ids = ids});
    for (uint32_t row = 0; row < sample_rows; ++row) {
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * vocabulary);
        for (const uint32_t id : ids)
            first[id] = -std::numeric_limits<float>::infinity();
        std::vector<uint32_t> expected;
        std::transform(first, first + vocabulary, std::back_inserter(expected), word_of);
        run.expect_words(words_at(logits.rows(row, 1), 0, vocabulary), expected);
    }
}

} // namespace

const Operation suppress_operation{
    .name = "suppress",
    .uses = [](const PlanTarget&) { return one_use(suppress_operation, shaders::suppress()); },
    .make_problem = make_suppress_problem,
};

} // namespace etna::kernels
