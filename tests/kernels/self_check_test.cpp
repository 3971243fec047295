#include "core/kernels/kernel_choices.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check.hpp"
#include "tests/kernels/weight_source.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;
using kernels::Format;
using kernels::PlanFamily;
using kernels::SelfCheckVerdict;
using shaders::Reduce;
using shaders::Variant;

namespace {

using Names = std::vector<std::string_view>;

using Uses = std::function<bool(const kernels::KernelUse&)>;

/// The kernels whose uses are chosen.
kernels::NeededKernels kernels_with(const Uses& is_chosen) {
    return [is_chosen](const PlanTarget& target) -> Result<kernels::VariantSet> {
        kernels::VariantSet chosen;
        for (const kernels::KernelUse& use : kernel_uses(target)) {
            if (is_chosen(use))
                chosen.add(use.variant);
        }
        return chosen;
    };
}

/// Kernels of weights in these formats, and all those without weights.
kernels::NeededKernels kernels_of(const std::vector<Format>& formats) {
    return kernels_with([=](const kernels::KernelUse& use) {
        return !use.layout || std::ranges::find(formats, use.layout->format) != formats.end();
    });
}

/// The same without those of single kinds of layers.
kernels::NeededKernels dense_kernels_of(const std::vector<Format>& formats) {
    constexpr std::array special{
        "delta_net", "short_convolution", "mamba2",       "gated_rms_norm", "altup",
        "match_rms", "statistical_top_k", "latent_store", "heads_product",  "suppress"};
    return kernels_with([=](const kernels::KernelUse& use) {
        const bool is_of_format =
            !use.layout || std::ranges::find(formats, use.layout->format) != formats.end();
        return is_of_format && std::ranges::find(special, use.operation->name) == special.end();
    });
}

SelfCheckVerdict must_check(const kernels::SelfCheckOptions& options) {
    auto verdict = kernels::self_check(gpu().device, options);
    if (!verdict)
        FAIL(verdict.error().message);
    return std::move(verdict).value();
}

/// Shaders of this build, but one has the code of another.
kernels::CodeSource swapped(Variant wrong, Variant in_its_place) {
    return [=](Variant variant) -> const shaders::Code& {
        return shaders::code(variant == wrong ? in_its_place : variant);
    };
}

/// Words [first, next) of each instruction of SPIR-V.
template <class Visit>
void for_each_instruction(std::span<const uint32_t> words, Visit visit) {
    constexpr std::size_t header_words = 5;
    for (std::size_t at = header_words; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16)
        visit(at, words[at] & 0xFFFF);
}

/// Other operations that take the places of some: by opcode (SPIR-V specification, 3.52.13), and by number
/// among those of GLSL.std.450.
struct Mistakes {
    std::map<uint32_t, uint32_t> operations = {};
    std::map<uint32_t, uint32_t> extended = {};
};

/// SPIR-V in which the first and the last operation of `mistakes` are wrong: one alone may be in a branch
/// that this device's plan never takes. Empty if there are no such operations.
std::vector<uint32_t> with_mistakes(std::span<const uint32_t> words, const Mistakes& mistakes) {
    constexpr uint32_t extended = 12;
    std::vector<std::size_t> offsets;
    for_each_instruction(words, [&](std::size_t at, uint32_t operation) {
        if (mistakes.operations.contains(operation) ||
            (operation == extended && mistakes.extended.contains(words[at + 4])))
            offsets.push_back(at);
    });
    if (offsets.empty())
        return {};
    std::vector<uint32_t> changed(words.begin(), words.end());
    for (const std::size_t at : {offsets.front(), offsets.back()}) {
        if ((words[at] & 0xFFFF) == extended) {
            changed[at + 4] = mistakes.extended.at(words[at + 4]);
        } else {
            changed[at] = (words[at] & 0xFFFF0000U) | mistakes.operations.at(words[at] & 0xFFFF);
        }
    }
    return changed;
}

/// With other sums, differences, products and quotients of floats, and mix for fma; in a shader without
/// floats (expert_group) with max for min of unsigned integers, and in one without arithmetic (suppress) with
/// a loop that has no pass.
std::vector<uint32_t> with_a_mistake(std::span<const uint32_t> words) {
    const Mistakes in_floats{.operations = {{129, 131}, {131, 129}, {133, 129}, {136, 133}},
                             .extended = {{50, 46}}};
    const Mistakes in_integers{.extended = {{38, 41}}};
    const Mistakes in_loops{.operations = {{176, 174}}};
    std::vector<uint32_t> changed;
    for (const Mistakes& mistakes : {in_floats, in_integers, in_loops}) {
        if (changed.empty())
            changed = with_mistakes(words, mistakes);
    }
    return changed;
}

/// Every shader with a mistake.
class WrongShaders {
public:
    WrongShaders() {
        for (uint32_t i = 0; i < shaders::variant_count; ++i) {
            const auto variant = static_cast<Variant>(i);
            shaders::Code code = shaders::code(variant);
            words_.push_back(with_a_mistake(code.words));
            code.words = words_.back();
            if (shaders::code(variant).words.empty()) { // left out of this build
                codes_.push_back(code);
                continue;
            }
            INFO(code.name);
            REQUIRE_FALSE(code.words.empty());
            codes_.push_back(code);
        }
    }
    [[nodiscard]] kernels::CodeSource source() const {
        return [this](Variant variant) -> const shaders::Code& {
            return codes_[static_cast<std::size_t>(variant)];
        };
    }

private:
    std::vector<std::vector<uint32_t>> words_;
    std::vector<shaders::Code> codes_;
};

using VariantGroup = std::set<Variant>;

/// Each suspect alone in a full product. Otherwise the rows and the columns of a square of them: each is in
/// two groups that share no other, so that a right kernel that a wrong one makes look wrong is in a group
/// without it.
std::vector<VariantGroup> groups_of(const std::vector<Variant>& suspects) {
    std::vector<VariantGroup> groups;
    if (runs_whole_products() || runs_once()) {
        for (const Variant suspect : std::span(suspects).first(runs_once() ? 4 : suspects.size()))
            groups.push_back({suspect});
        return groups;
    }
    constexpr std::size_t side = 5;
    REQUIRE(suspects.size() <= side * side);
    groups.resize(2 * side);
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        groups[i / side].insert(suspects[i]);
        groups[side + i % side].insert(suspects[i]);
    }
    return groups;
}

Variant reduced(const kernels::PlanTarget& target, Variant subgroup, Variant shared) {
    return target.profile.subgroup_arithmetic ? subgroup : shared;
}

/// Whether linear() in q4_0 with these plans agrees with the twin.
void require_right_linear(const kernels::LibraryOptions& options, kernels::RowPath path) {
    constexpr uint32_t rows = 70;
    constexpr uint32_t columns = 96;
    std::mt19937 random(41);
    DeviceCase device(std::make_shared<kernels::Library>(gpu().device, options));
    const WeightSource source = random_weight(random, Format::q4_0, rows, columns);
    const kernels::Layout layout{Format::q4_0, exact_arrangement(device.library().target(), Format::q4_0)};
    const kernels::Matrix weight = upload_weight(device, source, layout);
    const std::vector<float> x = random_floats(random, columns);
    const auto output = device.upload_rows(std::vector<float>(rows), 1, rows);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        kernels::linear({library, recorder}, {.weight = weight,
                                              .input = device.upload_rows(x, 1, columns),
                                              .output = output,
                                              .count = 1,
                                              .path = path,
                                              .factors = kernels::OperandPrecision::f32});
    });
    const std::vector<float> y = device.download_rows(output);
    const auto exact = reference::linear(source.values, std::vector<double>(x.begin(), x.end()));
    for (uint32_t m = 0; m < rows; ++m)
        REQUIRE(y[m] == Approx(exact[m]).margin(1e-5));
}

} // namespace

TEST_CASE("every kernel of this device passes its check", "[self_check]") {
    const SelfCheckVerdict verdict = must_check({});
    CHECK(verdict.wrong.names().empty());
    CHECK(verdict.right.size() > 16 * 3);
    // Known results are not checked again: broken shaders are not noticed.
    const WrongShaders wrong;
    CHECK(must_check({.known = verdict, .code = wrong.source()}) == verdict);
}

TEST_CASE("kernels for other families' devices pass their checks", "[self_check]") {
    for (const auto family : all_families()) {
        const SelfCheckVerdict verdict =
            must_check({.family = family, .needed = kernels_of({Format::f32, Format::q5_k})});
        INFO(to_string(family));
        CHECK(verdict.wrong.names().empty());
        CHECK(verdict.right.size() > 15);
    }
}

TEST_CASE("kernels of fast precision pass their checks, and a wrong one is replaced by the exact one",
          "[self_check]") {
    kernels::SelfCheckOptions options{.family = PlanFamily::nvidia,
                                      .precision = kernels::Precision::fast,
                                      .needed = dense_kernels_of({Format::q4_k, Format::q6_k})};
    const SelfCheckVerdict verdict = must_check(options);
    CHECK(verdict.wrong.names().empty());
    const kernels::PlanTarget target{.family = PlanFamily::nvidia,
                                     .profile = gpu().device.profile(),
                                     .precision = kernels::Precision::fast};
    if (kernels::written_blocks(target) != 2)
        return; // no integer dot products here
    CHECK(verdict.right.contains(shaders::linear_codes(shaders::Format::q4_k)));
    CHECK(verdict.right.contains(shaders::fused_codes(shaders::Format::q6_k)));
    CHECK(verdict.right.contains(shaders::expert_codes(shaders::Format::q6_k)));
    CHECK(verdict.right.contains(shaders::expert_down_codes(shaders::Format::q4_k)));
    options.code =
        swapped(shaders::linear_codes(shaders::Format::q4_k), shaders::linear_codes(shaders::Format::q5_k));
    const SelfCheckVerdict changed = must_check(options);
    CHECK(changed.wrong.names() == Names{"linear_codes_q4_k"});
    CHECK(changed.right.contains(shaders::linear_tiles(shaders::Format::q4_k)));
    // The codes of blocks remain, because other kernels read them.
    kernels::PlanTarget without = target;
    without.untrusted.add(shaders::linear_codes(shaders::Format::q8_0));
    CHECK(kernels::written_blocks(without) == 2);
}

TEST_CASE("a mistake in any kernel is found, and in all that replace it", "[self_check]") {
    const kernels::NeededKernels needed =
        runs_once() ? kernels_of({Format::f32, Format::q4_k}) : kernels::NeededKernels();
    const WrongShaders wrong;
    const SelfCheckVerdict verdict = must_check({.needed = needed, .code = wrong.source()});
    CHECK(verdict.right.names().empty());
    const kernels::PlanTarget target{.family = kernels::natural_family(gpu().device.profile()),
                                     .profile = gpu().device.profile(),
                                     .untrusted = verdict.wrong};
    const std::vector<kernels::KernelUse> uses = needed_uses(target, needed).value();
    for (const kernels::KernelUse& use : uses) {
        INFO(describe(use) << " " << shaders::code(use.variant).name);
        CHECK(verdict.wrong.contains(use.variant)); // all alternatives were tried
    }
    // On a CPU with lanes kernels, every alternative was tried; no plan for it has tiles.
    for (uint32_t i = 0; !runs_once() && target.family == PlanFamily::lavapipe && i < shaders::variant_count;
         ++i) {
        const auto variant = static_cast<Variant>(i);
        const std::string_view name = shaders::code(variant).name;
        INFO(name);
        if (name.ends_with("_tiles") || name.starts_with("linear_tiles_") || name.starts_with("fused_") ||
            name.starts_with("heads_") || name.starts_with("linear_codes_") ||
            name.starts_with("expert_tiles_") || name.starts_with("expert_codes_") ||
            name.starts_with("expert_down_") || name.starts_with("expert_matrix_") ||
            name.starts_with("pack") || name == "sum_parts" || name.ends_with("_rate")) // no model runs it
            continue;
        CHECK(verdict.wrong.contains(variant) == kernels::usable(variant, target.profile).has_value());
    }
    const Status refused = require_trusted(target, kernels_of({Format::q4_0}));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::unsupported);
}

TEST_CASE("a wrong kernel for prompts alone is named, and prompts take the rows kernel", "[self_check]") {
    const SelfCheckVerdict verdict = must_check(
        {.family = PlanFamily::nvidia,
         .needed = dense_kernels_of({Format::q4_0}),
         .code = swapped(shaders::linear_prompt(shaders::Format::q4_0, shaders::Arrangement::rows),
                         shaders::linear_prompt(shaders::Format::iq4_nl, shaders::Arrangement::rows))});
    REQUIRE(verdict.wrong.names() == Names{"linear_prompt_q4_0_rows"});
    for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode})
        require_right_linear({.family = PlanFamily::nvidia, .untrusted = verdict.wrong}, path);
}

TEST_CASE("a wrong kernel for matrix units alone is named, and prompts take the other one", "[self_check]") {
    const auto check_replaced = [](const Variant matrix, const Variant other, std::string_view name,
                                   kernels::Arrangement arrangement, uint32_t columns) {
        const bool has_units = kernels::usable(matrix, gpu().device.profile()).has_value();
        const SelfCheckVerdict verdict = must_check({.family = PlanFamily::nvidia,
                                                     .needed = dense_kernels_of({Format::q4_0}),
                                                     .code = swapped(matrix, other)});
        REQUIRE(verdict.wrong.names() == (has_units ? Names{name} : Names{}));
        const kernels::PlanTarget target{
            .family = PlanFamily::nvidia, .profile = gpu().device.profile(), .untrusted = verdict.wrong};
        const auto plan =
            linear_plan(target, {Format::q4_0, arrangement}, 64, columns, kernels::RowPath::prefill, 1);
        CHECK(plan.value().kernel == kernels::LinearKernel::prompt);
    };
    check_replaced(shaders::linear_matrix(shaders::Format::q4_0),
                   shaders::linear_matrix(shaders::Format::iq4_nl), "linear_matrix_q4_0",
                   kernels::Arrangement::rows, 64);
    check_replaced(shaders::matrix_tiles(shaders::Format::q4_0),
                   shaders::matrix_tiles(shaders::Format::iq4_nl), "matrix_tiles_q4_0",
                   kernels::Arrangement::tiles, 256);
}

TEST_CASE("a wrong lanes kernel alone is named, and its format is arranged in rows", "[self_check]") {
    const SelfCheckVerdict verdict =
        must_check({.family = PlanFamily::lavapipe,
                    .needed = dense_kernels_of({Format::q4_0}),
                    .code = swapped(shaders::linear_lanes(shaders::Format::q4_0),
                                    shaders::linear_lanes(shaders::Format::iq4_nl))});
    const bool has_lanes =
        kernels::lanes_usable(gpu().device.profile()); // else no plan selects the wrong one
    REQUIRE(verdict.wrong.names() == (has_lanes ? Names{"linear_lanes_q4_0"} : Names{}));
    CHECK(verdict.right.contains(shaders::embed(shaders::Format::q4_0, shaders::Arrangement::rows)));
    for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode})
        require_right_linear({.family = PlanFamily::lavapipe, .untrusted = verdict.wrong}, path);
}

TEST_CASE("one wrong kernel in a sequence is distinguished from the others", "[self_check]") {
    const WrongShaders mistakes;
    const auto all_wrong = mistakes.source();
    const kernels::PlanTarget target{.family = PlanFamily::amd, .profile = gpu().device.profile()};
    const std::vector<Variant> suspects{
        shaders::fused_linear(shaders::Format::f16),
        shaders::heads_linear(shaders::Format::f16),
        shaders::attention(),
        shaders::attention_decode(),
        shaders::attention_prompt(),
        shaders::attention_merge(),
        shaders::expert_group(),
        shaders::expert_tiles(shaders::Format::f16),
        shaders::expert_down(shaders::Format::f16),
        shaders::expert_sum(),
        shaders::short_convolution(),
        shaders::delta_net(),
        shaders::mamba2(),
        reduced(target, shaders::rotary_store(Reduce::subgroup), shaders::rotary_store(Reduce::shared)),
        reduced(target, shaders::latent_store(Reduce::subgroup), shaders::latent_store(Reduce::shared)),
        reduced(target, shaders::expert_route(Reduce::subgroup), shaders::expert_route(Reduce::shared)),
        reduced(target, shaders::expert_router(Reduce::subgroup), shaders::expert_router(Reduce::shared)),
        reduced(target, shaders::gated_rms_norm(Reduce::subgroup), shaders::gated_rms_norm(Reduce::shared)),
        reduced(target, shaders::altup(Reduce::subgroup), shaders::altup(Reduce::shared)),
        reduced(target, shaders::match_rms(Reduce::subgroup), shaders::match_rms(Reduce::shared)),
        reduced(target, shaders::statistical_top_k(Reduce::subgroup),
                shaders::statistical_top_k(Reduce::shared)),
        shaders::suppress(),
        reduced(target, shaders::sample_partial(Reduce::subgroup), shaders::sample_partial(Reduce::shared)),
        reduced(target, shaders::sample_finish(Reduce::subgroup), shaders::sample_finish(Reduce::shared)),
    };
    for (const VariantGroup& wrong : groups_of(suspects)) {
        const SelfCheckVerdict verdict =
            must_check({.family = PlanFamily::amd,
                        .needed = kernels_of({Format::f16, Format::f32}),
                        .code = [&](Variant variant) -> const shaders::Code& {
                            return wrong.contains(variant) ? all_wrong(variant) : shaders::code(variant);
                        }});
        std::set<std::string_view> usable;
        for (const Variant variant : wrong) {
            if (kernels::usable(variant, target.profile))
                usable.insert(shaders::code(variant).name);
        }
        const Names names = verdict.wrong.names();
        CHECK(std::set<std::string_view>(names.begin(), names.end()) == usable);
    }
}

TEST_CASE("a check without a time budget checks one kernel per call, and finally all",
          "[device][self_check]") {
    kernels::SelfCheckOptions options{.family = PlanFamily::lavapipe, .needed = kernels_of({Format::q8_0})};
    const SelfCheckVerdict whole = must_check(options);
    const kernels::PlanTarget target{.family = PlanFamily::lavapipe, .profile = gpu().device.profile()};
    options.time_limit = std::chrono::seconds(0);
    std::size_t left = kernels::kernels_left(target, options.needed, {}).value();
    REQUIRE(left > 5);
    while (left > 0) {
        options.known = must_check(options);
        REQUIRE(kernels::kernels_left(target, options.needed, options.known).value() == left - 1);
        --left;
    }
    CHECK(options.known == whole);
}
