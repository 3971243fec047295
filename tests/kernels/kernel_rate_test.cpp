// The problems of `etna bench --kernels` match their descriptions.

#include "core/kernels/kernel_rate.hpp"
#include "core/kernels/matrix_rate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <algorithm>
#include <set>

using namespace etna;
using namespace etna::test;

namespace {

kernels::KernelProblem problem_named(const std::vector<kernels::KernelProblem>& problems,
                                     const std::string& name) {
    const auto found =
        std::find_if(problems.begin(), problems.end(), [&](const auto& one) { return one.name == name; });
    REQUIRE(found != problems.end());
    return *found;
}

} // namespace

TEST_CASE("kernel problems have different names and count their bytes and sums") {
    const auto problems = kernels::kernel_problems({.family = kernels::PlanFamily::nvidia, .profile = {}});
    std::set<std::string> names;
    for (const kernels::KernelProblem& problem : problems) {
        INFO(problem.name);
        CHECK(names.insert(problem.name).second);
        CHECK(problem.bytes > 0);
    }
    // Q8_0 takes 34 bytes for 32 weights; a decode row reads and writes 4096 floats each.
    const auto linear = problem_named(problems, "linear q8_0 4096 x 4096, 1 decode row");
    CHECK(linear.bytes == 4096ULL * 4096 / 32 * 34 + 2 * 4096 * 4);
    CHECK(linear.operations == 2ULL * 4096 * 4096);
    // Keys and values of 8 heads of 128 in F16.
    const auto attention = problem_named(problems, "attention f16, heads of 128, 32 to 8, 1 row, 512 tokens");
    CHECK(attention.bytes == 2ULL * 512 * 8 * 128 * 2 + 2 * 4096 * 4);
    // The rows of a prompt attend to 1, 2, 3, ... keys.
    const auto prompt =
        problem_named(problems, "attention f16, heads of 128, 16 to 8, 512 prefill rows, 512 tokens");
    CHECK(prompt.operations == 2ULL * 16 * (128 + 128) * (512 * 513 / 2));
}

TEST_CASE("each kind of kernel problem runs on the device") {
    kernels::Library library(gpu().device, {});
    const auto problems = kernels::kernel_problems(library.target());
    const std::string rows = std::to_string(kernels::prompt_rows(library.target()));
    const std::string prompt =
        "attention f16, heads of 128, 16 to 8, " + rows + " prefill rows, " + rows + " tokens";
    for (const char* name :
         {"linear q4_k 4096 x 4096, 1 decode row", "linear q8_0 4096 x 4096, 8 decode rows",
          "expert_linear q4_0 768 x 2048, 8 of 128, 1 row",
          "attention f16, heads of 128, 32 to 8, 1 row, 512 tokens",
          "attention q8_0, heads of 128, 32 to 8, 1 row, 4096 tokens", prompt.c_str(), "rms_norm 4096, 1 row",
          "gate_multiply silu 14336, 1 row", "sample 128256, 1 row, greedy", "embed q4_k 4096, 1 row",
          "rotary_store f16, heads of 128, 32 and 8, 1 row", "soft_cap 256000, 1 row",
          "expert_route 8 of 128, 1 row", "expert_group 8 of 128, 1 row", "expert_sum 2048, 8 of 128, 1 row",
          "short_convolution 8192 x 4, 1 row", "delta_net heads of 128, 16 and 32, 1 row",
          "gated_rms_norm 32 x 128, 1 row"}) {
        INFO(name);
        const auto samples_us = kernels::measure_kernel(library, problem_named(problems, name));
        INFO((samples_us ? "" : samples_us.error().message));
        REQUIRE(samples_us);
        CHECK(samples_us->size() == 5);
        CHECK(*std::min_element(samples_us->begin(), samples_us->end()) > 0);
    }
}

TEST_CASE("kernel problems of experts in tiles run on the device") {
    kernels::Library library(gpu().device, {.family = kernels::PlanFamily::nvidia});
    if (!kernels::reads_packed(library.target(), kernels::tile_columns))
        return;
    const auto problems = kernels::kernel_problems(library.target());
    for (const char* name :
         {"expert_linear q4_0 768 x 2048, 8 of 128, 1 row", "expert_gate_up q4_0 768 x 2048, 8 of 128, 1 row",
          "expert_down q4_0 2048 x 768, 8 of 128, 1 row"}) {
        INFO(name);
        const auto samples_us = kernels::measure_kernel(library, problem_named(problems, name));
        INFO((samples_us ? "" : samples_us.error().message));
        REQUIRE(samples_us);
        CHECK(*std::min_element(samples_us->begin(), samples_us->end()) > 0);
    }
}

TEST_CASE("the matrix rate counts the operations of its kernels, and is measured") {
    kernels::Library library(gpu().device, {});
    const kernels::PlanTarget& target = library.target();
    for (const kernels::RateUnits units : {kernels::RateUnits::arithmetic, kernels::RateUnits::matrix}) {
        const kernels::RateWork one{.units = units, .output = {}};
        const kernels::RateWork more{.units = units, .workgroups = 3, .repetitions = 5, .output = {}};
        CHECK(kernels::rate_operations(target, more) == 15 * kernels::rate_operations(target, one));
    }
    // 64 invocations multiply and add 8 sums 16 times.
    CHECK(kernels::rate_operations(target, {.output = {}}) == 64ULL * 8 * 16 * 2);
    const auto flop_s = kernels::measure_matrix_rate(library);
    INFO((flop_s ? "" : flop_s.error().message));
    REQUIRE(flop_s);
    CHECK(*flop_s > 1e8);
}
