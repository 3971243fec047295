// The choice of measured sizes: the candidates, the search for a winner, and equal bits of a row with all
// sizes.

#include "core/kernels/policy.hpp"
#include "core/kernels/tune.hpp"
#include "tests/kernels/tiles_case.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using kernels::Arrangement;
using kernels::Format;
using kernels::Layout;
using kernels::PlanFamily;
using kernels::PlanTarget;
using kernels::TunedKernel;
using kernels::TunedShape;
using kernels::WorkgroupSizes;

namespace {

TunedShape matrix_shape(Layout layout, uint32_t rows, uint32_t columns,
                        TunedKernel kernel = TunedKernel::linear) {
    return {.kernel = kernel, .layout = layout, .rows = rows, .columns = columns};
}

PlanTarget gpu_target(PlanFamily family) {
    PlanTarget target{.family = family, .profile = {}};
    vk::DeviceProfile& profile = target.profile;
    profile.subgroup_arithmetic = profile.shader_float16 = profile.shader_int64 = true;
    profile.subgroup_size_control = true;
    profile.subgroup_size = 32;
    profile.subgroup_size_min = 8;
    profile.subgroup_size_max = 32;
    profile.workgroup_invocations_max = 1024;
    profile.shared_bytes = 32768;
    return target;
}

std::vector<TunedShape> gpu_shapes() {
    const Layout tiles{Format::q4_k, Arrangement::tiles};
    return {matrix_shape({Format::f32, Arrangement::rows}, 4096, 96),
            matrix_shape(tiles, 4096, 4096),
            matrix_shape(tiles, 1024, 512, TunedKernel::fused_linear),
            matrix_shape(tiles, 14336, 4096, TunedKernel::gated_linear),
            {.kernel = TunedKernel::attention, .rows = 32, .columns = 128, .kv_heads = 8},
            {.kernel = TunedKernel::attention_decode, .rows = 32, .columns = 128, .kv_heads = 8}};
}

/// Options whose check and timer answer from tables instead of a device; each candidate is right and takes
/// 100 microseconds unless noted.
struct Script {
    std::map<uint32_t, double> time_us; ///< by workgroup
    std::vector<uint32_t> wrong = {};   ///< workgroups
    std::vector<uint32_t> timed = {};   ///< workgroups, in order

    kernels::TuneOptions options() {
        kernels::TuneOptions result;
        result.library.family = PlanFamily::nvidia;
        result.check = [this](vk::Device&, const kernels::LibraryOptions&, const TunedShape&,
                              const WorkgroupSizes& sizes) -> Result<bool> {
            return std::ranges::find(wrong, sizes.workgroup) == wrong.end();
        };
        result.time = [this](vk::Device&, const kernels::LibraryOptions&, const TunedShape&,
                             const WorkgroupSizes& sizes) -> Result<double> {
            timed.push_back(sizes.workgroup);
            return time_us.contains(sizes.workgroup) ? time_us.at(sizes.workgroup) : 100;
        };
        return result;
    }
};

/// In rows, whose policy is a workgroup of 64 with every family of GPUs but Intel.
const TunedShape scripted_shape = matrix_shape({Format::f32, Arrangement::rows}, 64, 96);

kernels::TunedChoice must_tune(Script& script) {
    auto choice = kernels::tune(gpu().device, scripted_shape, script.options());
    if (!choice)
        FAIL(choice.error().message);
    REQUIRE(*choice);
    return **choice;
}

kernels::LibraryOptions tuned_library(PlanFamily family, const TunedShape& shape,
                                      const WorkgroupSizes& sizes) {
    kernels::LibraryOptions options{.family = family};
    options.tuning.set(shape, sizes);
    return options;
}

/// The results of `count` equal decode rows with these sizes.
std::vector<float> rows_with(PlanFamily family, const TunedShape& shape, const WorkgroupSizes& sizes,
                             uint32_t count) {
    std::mt19937 random(7);
    DeviceCase device(std::make_shared<kernels::Library>(gpu().device, tuned_library(family, shape, sizes)));
    const WeightSource source = random_weight(random, shape.layout.format, shape.rows, shape.columns);
    const kernels::Matrix weight = upload_weight(device, source, shape.layout);
    const std::vector<float> x = random_floats(random, shape.columns);
    std::vector<float> all;
    for (uint32_t i = 0; i < count; ++i)
        all.insert(all.end(), x.begin(), x.end());
    kernels::Activations input = device.upload_rows(all, count, shape.columns);
    add_packed(device, shape.layout, input);
    const auto output =
        device.upload_rows(std::vector<float>(std::size_t{count} * shape.rows), count, shape.rows);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        kernels::linear({library, recorder},
                        {.weight = weight, .input = input, .output = output, .count = count});
    });
    return device.download_rows(output);
}

} // namespace

TEST_CASE("a tuning finds each shape's newest sizes, and is equal whatever the order of its choices") {
    std::vector<TunedShape> shapes = gpu_shapes();
    kernels::Tuning tuning;
    kernels::Tuning reversed;
    for (uint32_t i = 0; i < shapes.size(); ++i) {
        CHECK_FALSE(tuning.find(shapes[i]));
        tuning.set(shapes[i], {.workgroup = 1});
        tuning.set(shapes[i], {.workgroup = 100 + i});
    }
    for (uint32_t i = static_cast<uint32_t>(shapes.size()); i-- > 0;)
        reversed.set(shapes[i], {.workgroup = 100 + i});
    CHECK(tuning == reversed);
    CHECK(tuning.entries().size() == shapes.size());
    for (uint32_t i = 0; i < shapes.size(); ++i)
        CHECK(tuning.find(shapes[i])->workgroup == 100 + i);
    shapes[0].kv_heads = 1;
    CHECK_FALSE(tuning.find(shapes[0]));
}

TEST_CASE("the candidates of a shape begin with the policy's sizes, and differ") {
    for (const auto family : {PlanFamily::nvidia, PlanFamily::amd, PlanFamily::intel}) {
        const PlanTarget target = gpu_target(family);
        for (const TunedShape& shape : gpu_shapes()) {
            INFO(to_string(family) << " " << describe(shape));
            const std::vector<WorkgroupSizes> candidates = tuning_candidates(target, shape);
            REQUIRE(candidates.size() > 1);
            PlanTarget tuned = target;
            tuned.tuning.set(shape, candidates.front());
            if (shape.kernel == TunedKernel::linear) {
                const auto plan = [&](const PlanTarget& one) {
                    return linear_plan(one, shape.layout, shape.rows, shape.columns, kernels::RowPath::decode,
                                       1);
                };
                CHECK(plan(tuned).value() == plan(target).value());
            }
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                CHECK(std::ranges::count(candidates, candidates[i]) == 1);
                CHECK(candidates[i].workgroup <= target.profile.workgroup_invocations_max);
                CHECK(candidates[i].subgroup <= candidates[i].workgroup);
            }
        }
    }
}

TEST_CASE("Intel's kernels for decode rows require subgroups of 16 if the device has a choice") {
    PlanTarget target = gpu_target(PlanFamily::intel);
    const auto subgroup = [&] {
        return linear_plan(target, {Format::f32, Arrangement::rows}, 64, 96, kernels::RowPath::decode, 1)
            .value()
            .subgroup;
    };
    CHECK(subgroup() == 16);
    target.profile.subgroup_size_control = false;
    CHECK(subgroup() == 0);
    target = gpu_target(PlanFamily::nvidia);
    CHECK(subgroup() == 0);
}

TEST_CASE("shapes that no kernel runs have no candidates") {
    const PlanTarget target = gpu_target(PlanFamily::nvidia);
    const Layout tiles{Format::q4_k, Arrangement::tiles};
    for (const TunedShape& shape :
         {TunedShape{}, matrix_shape(tiles, 64, 100),
          matrix_shape({Format::f32, Arrangement::tiles}, 64, 256),
          matrix_shape(tiles, 100, 256, TunedKernel::fused_linear),
          matrix_shape({Format::q4_k, Arrangement::rows}, 256, 256, TunedKernel::gated_linear),
          TunedShape{.kernel = TunedKernel::attention, .rows = 8, .columns = 64, .kv_heads = 3},
          TunedShape{.kernel = TunedKernel::attention, .rows = 8, .columns = 64},
          TunedShape{.kernel = TunedKernel::attention, .rows = 8, .columns = 4096, .kv_heads = 8},
          TunedShape{.kernel = TunedKernel::attention_decode, .rows = 8, .columns = 80, .kv_heads = 8}}) {
        INFO(describe(shape));
        CHECK(tuning_candidates(target, shape).empty());
    }
}

TEST_CASE("a plan has the same order of sums for any number of rows, whatever is tuned") {
    for (const TunedShape& shape : gpu_shapes()) {
        PlanTarget target = gpu_target(PlanFamily::nvidia);
        if (shape.kernel != TunedKernel::linear)
            continue;
        for (const WorkgroupSizes& sizes : tuning_candidates(target, shape)) {
            target.tuning.set(shape, sizes);
            const auto plan = [&](uint32_t count) {
                return linear_plan(target, shape.layout, shape.rows, shape.columns, kernels::RowPath::decode,
                                   count)
                    .value();
            };
            const kernels::LinearPlan one = plan(1);
            for (const uint32_t count : {2U, 3U, 8U, 500U}) {
                const kernels::LinearPlan many = plan(count);
                CHECK((many.kernel == one.kernel && many.workgroup == one.workgroup &&
                       many.reduce == one.reduce && many.parts == one.parts &&
                       many.subgroup == one.subgroup));
                CHECK(many.rows_each * many.columns_each <= 8);
            }
        }
    }
}

TEST_CASE("the fastest candidate wins") {
    Script script{.time_us = {{128, 50}}};
    const kernels::TunedChoice choice = must_tune(script);
    CHECK(choice.policy.workgroup == 64);
    CHECK(choice.sizes.workgroup == 128);
    CHECK(choice.time_us == 50);
    CHECK(choice.policy_us == 100);
    CHECK(choice.wrong == 0);
}

TEST_CASE("a candidate that fails its check is neither timed nor chosen") {
    Script script{.time_us = {{128, 50}, {256, 70}}, .wrong = {128}};
    const kernels::TunedChoice choice = must_tune(script);
    CHECK(choice.sizes.workgroup == 256);
    CHECK(choice.wrong > 0);
    CHECK(std::ranges::find(script.timed, 128U) == script.timed.end());

    Script policy_is_wrong{.time_us = {{32, 200}}, .wrong = {64, 128, 256}};
    const kernels::TunedChoice other = must_tune(policy_is_wrong);
    CHECK(other.sizes.workgroup == 32);
    CHECK(other.policy_us == 0);

    Script all_are_wrong{.time_us = {}, .wrong = {32, 64, 128, 256}};
    CHECK_FALSE(kernels::tune(gpu().device, scripted_shape, all_are_wrong.options()).value());
}

TEST_CASE("the policy's sizes stay unless others are clearly faster, twice") {
    Script close{.time_us = {{128, 99}}};
    CHECK(must_tune(close).sizes.workgroup == 64);
    Script lucky{.time_us = {}};
    kernels::TuneOptions options = lucky.options();
    int calls = 0;
    options.time = [&](vk::Device&, const kernels::LibraryOptions&, const TunedShape&,
                       const WorkgroupSizes& sizes) -> Result<double> {
        return sizes.workgroup == 128 && ++calls == 1 ? 50 : 100; // fast once
    };
    CHECK((*kernels::tune(gpu().device, scripted_shape, options).value()).sizes.workgroup == 64);
}

TEST_CASE("tuning ends between candidates when it is cancelled") {
    Script script{.time_us = {{128, 50}}};
    kernels::TuneOptions options = script.options();
    options.is_cancelled = [&] { return script.timed.size() == 2; };
    CHECK_FALSE(kernels::tune(gpu().device, scripted_shape, options).value());
    CHECK(script.timed.size() == 2);
}

TEST_CASE("every candidate computes right on this device, and a wrong shader is found") {
    for (const auto family : {kernels::natural_family(gpu().device.profile()), PlanFamily::nvidia}) {
        DeviceCase device(family);
        const PlanTarget& target = device.library().target();
        std::vector<TunedShape> shapes{
            matrix_shape(layout_of(device, Format::q8_0, 512), 300, 512),
            matrix_shape(layout_of(device, Format::q4_k, 768), 2100, 768),
            {.kernel = TunedKernel::attention, .rows = 6, .columns = 64, .kv_heads = 2},
            {.kernel = TunedKernel::attention_decode, .rows = 8, .columns = 128, .kv_heads = 2}};
        for (const TunedKernel kernel : {TunedKernel::fused_linear, TunedKernel::gated_linear})
            shapes.push_back(matrix_shape({Format::q4_k, Arrangement::tiles}, 512, 512, kernel));
        for (const TunedShape& shape : shapes) {
            for (const WorkgroupSizes& sizes : tuning_candidates(target, shape)) {
                INFO(to_string(target.family) << " " << describe(shape) << ": " << describe(shape, sizes));
                CHECK(kernels::check_candidate(gpu().device, {.family = family}, shape, sizes).value());
                const kernels::LibraryOptions wrong{.family = family,
                                                    .code = [](shaders::Variant) -> const shaders::Code& {
                                                        return shaders::code(shaders::soft_cap());
                                                    }};
                CHECK_FALSE(kernels::check_candidate(gpu().device, wrong, shape, sizes).value());
            }
        }
    }
}

TEST_CASE("a row has the same bits alone and in company, whatever is tuned") {
    for (const auto family : {kernels::natural_family(gpu().device.profile()), PlanFamily::nvidia}) {
        DeviceCase device(family);
        for (const uint32_t columns : {96U, 512U}) {
            const TunedShape shape = matrix_shape(layout_of(device, Format::q8_0, columns), 70, columns);
            for (const WorkgroupSizes& sizes : tuning_candidates(device.library().target(), shape)) {
                INFO(to_string(family) << " " << describe(shape) << ": " << describe(shape, sizes));
                const std::vector<float> alone = rows_with(family, shape, sizes, 1);
                const std::vector<float> together = rows_with(family, shape, sizes, 7);
                for (uint32_t i = 0; i < 7; ++i) {
                    const auto first = together.begin() + std::ptrdiff_t{i} * shape.rows;
                    CHECK(std::equal(alone.begin(), alone.end(), first));
                }
            }
        }
    }
}
