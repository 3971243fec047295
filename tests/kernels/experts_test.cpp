#include "tests/kernels/expert_case.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace etna;
using namespace etna::test;

namespace {

kernels::Layout exact_layout(DeviceCase& device, kernels::Format format) {
    return {format, kernels::exact_arrangement(device.library().target(), format)};
}

void check_linear(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape,
                  kernels::ExpertInput reads, uint32_t seed) {
    INFO(describe(family, format, shape));
    std::mt19937 random(seed);
    DeviceCase device(family);
    const uint32_t pairs = shape.rows * shape.experts_per_token;
    const std::vector<uint32_t> experts = even_experts(random, shape);
    const Stack stack =
        make_stack(device, random, exact_layout(device, format), shape, {experts.begin(), experts.end()});
    Choices made = make_choices(device, shape.rows, shape.experts, shape.experts_per_token,
                                stack.device.matrices.layout.arrangement);
    made.choice.experts = device.upload(experts);
    const uint32_t input_rows = reads == kernels::ExpertInput::row ? shape.rows : pairs;
    const std::vector<float> x = random_floats(random, std::size_t{input_rows} * shape.width);
    const auto input = upload_input(device, stack, x, input_rows, shape.width);
    const auto output = device.upload_rows(std::vector<float>(std::size_t{pairs} * shape.height, nan_value),
                                           pairs, shape.height);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        expert_group({library, recorder}, made.choice, made.groups);
        kernels::expert_linear({library, recorder}, {.weights = stack.device,
                                                     .input = input,
                                                     .output = output,
                                                     .reads = reads,
                                                     .choice = made.choice,
                                                     .groups = made.groups});
    });
    const std::vector<float> y = device.download_rows(output);
    for (uint32_t pair = 0; pair < pairs; ++pair) {
        const auto row = row_of(x, reads == kernels::ExpertInput::row ? pair / shape.experts_per_token : pair,
                                shape.width);
        const reference::Matrix& weight = stack.values[experts[pair]];
        const reference::Vector exact = reference::linear(weight, row);
        for (uint32_t m = 0; m < shape.height; ++m) {
            const float value = y[std::size_t{pair} * shape.height + m];
            if (!(std::abs(value - exact[m]) <= bound(stack, experts[pair], m, row)))
                FAIL("y[" << pair << "][" << m << "] = " << value << ", expected " << exact[m]);
        }
    }
}

struct SumShape {
    uint32_t rows;
    uint32_t experts_per_token;
    uint32_t width;
};

/// Pairs of eight experts, and a row after theirs that no pair adds to. Odd experts have no pairs and biases
/// of NaN, except the last one.
class SumProblem {
public:
    static constexpr uint32_t experts = 8;

    SumProblem(const SumShape& shape, std::mt19937& random)
        : shape_(shape), ids_(std::size_t{shape_.rows} * shape_.experts_per_token),
          routing_weights_(random_floats(random, ids_.size())),
          x_(random_floats(random, ids_.size() * shape_.width)),
          before_(random_floats(random, std::size_t{shape_.rows + 1} * shape_.width)),
          bias_(random_floats(random, std::size_t{experts} * shape_.width)) {
        for (uint32_t& id : ids_)
            id = static_cast<uint32_t>(random() % experts) / 2 * 2;
        ids_.back() = experts - 1;
        for (const uint32_t unused : {1U, 3U, 5U})
            std::fill_n(bias_.begin() + std::ptrdiff_t{unused} * shape_.width, shape_.width, nan_value);
    }

    /// The device's results for the rows from `first` on, and for the one after them.
    [[nodiscard]] std::vector<float> run(kernels::PlanFamily family, bool with_bias, uint32_t first,
                                         kernels::Store store = kernels::Store::add) const {
        DeviceCase device(family);
        const uint32_t rows = shape_.rows - first;
        const std::size_t pair = std::size_t{first} * shape_.experts_per_token;
        Choices made = make_choices(device, rows, experts, shape_.experts_per_token);
        std::vector<uint32_t> device_ids = from(ids_, pair);
        device_ids.back() = 0xFFFFFFF0U; // clamped to the last expert
        made.choice.experts = device.upload(device_ids);
        made.choice.routing_weights = device.upload(from(routing_weights_, pair));
        const auto output =
            device.upload_rows(from(before_, std::size_t{first} * shape_.width), rows + 1, shape_.width);
        kernels::ExpertSum operation{
            .input = device.upload_rows(from(x_, pair * shape_.width), made.choice.pairs(), shape_.width),
            .output = output,
            .choice = made.choice,
            .store = store};
        if (with_bias)
            operation.bias = device.upload(bias_);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            expert_sum({library, recorder}, operation);
        });
        return device.download_rows(output);
    }

    [[nodiscard]] reference::Vector expected(bool with_bias, uint32_t row,
                                             kernels::Store store = kernels::Store::add) const {
        std::vector<double> start = row_of(before_, row, shape_.width);
        if (row == shape_.rows)
            return start;
        if (store == kernels::Store::replace)
            start.assign(shape_.width, 0);
        std::vector<reference::ExpertShare> chosen;
        reference::Matrix outputs{.rows = shape_.experts_per_token, .columns = shape_.width};
        for (std::size_t pair = std::size_t{row} * shape_.experts_per_token;
             pair < std::size_t{row + 1} * shape_.experts_per_token; ++pair) {
            chosen.push_back({.expert = ids_[pair], .share = routing_weights_[pair]});
            const std::vector<double> one = row_of(x_, pair, shape_.width);
            outputs.values.insert(outputs.values.end(), one.begin(), one.end());
        }
        reference::Matrix biases;
        if (with_bias)
            biases = {.rows = experts, .columns = shape_.width, .values = {bias_.begin(), bias_.end()}};
        return reference::add(start, reference::mix_experts(chosen, outputs, biases));
    }

private:
    template <class T>
    static std::vector<T> from(const std::vector<T>& all, std::size_t index) {
        return {all.begin() + static_cast<std::ptrdiff_t>(index), all.end()};
    }

    SumShape shape_;
    std::vector<uint32_t> ids_;
    std::vector<float> routing_weights_, x_, before_, bias_;
};

/// Rules of every kind, by the number of experts.
reference::RoutingRule rule_of(std::mt19937& random, uint32_t experts) {
    reference::RoutingRule rule{.is_normalised = experts % 2 == 0, .is_sigmoid = experts % 3 == 1};
    if (rule.is_sigmoid)
        rule.scale = 2.5;
    if (experts == 45)
        rule.groups = 9;
    if (experts == 72 || experts == 128 || experts == 256)
        rule.groups = 8;
    rule.groups_used = (rule.groups + 1) / 2;
    if (rule.is_sigmoid && experts % 4 != 1) {
        for (const float bias : random_floats(random, experts))
            rule.selection_bias.push_back(bias);
    }
    if (experts % 5 != 1) {
        for (const float scale : random_floats(random, experts))
            rule.expert_scales.push_back(scale);
    }
    return rule;
}

kernels::RoutingRule uploaded(DeviceCase& device, const reference::RoutingRule& rule) {
    kernels::RoutingRule same{.scores = rule.is_sigmoid ? kernels::RoutingRule::Scores::sigmoid
                                                        : kernels::RoutingRule::Scores::softmax,
                              .normalised = rule.is_normalised,
                              .scale = static_cast<float>(rule.scale),
                              .groups = static_cast<uint32_t>(rule.groups),
                              .groups_used = static_cast<uint32_t>(rule.groups_used)};
    if (!rule.selection_bias.empty()) {
        same.selection_bias =
            device.upload(std::vector<float>(rule.selection_bias.begin(), rule.selection_bias.end()));
    }
    if (!rule.expert_scales.empty()) {
        same.expert_scales =
            device.upload(std::vector<float>(rule.expert_scales.begin(), rule.expert_scales.end()));
    }
    return same;
}

} // namespace

TEST_CASE("expert_route refuses a selection bias and scales that it cannot use") {
    DeviceCase device(kernels::PlanFamily::lavapipe);
    kernels::ExpertRoute operation{.router = device.upload_rows(std::vector<float>(5), 1, 5),
                                   .choice = make_choices(device, 1, 5, 2).choice};
    const auto is_refused = [&] {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        expert_route({device.library(), *recorder}, operation);
        return !recorder->finish();
    };
    operation.rule.scores = kernels::RoutingRule::Scores::sigmoid;
    operation.rule.selection_bias = device.upload(std::vector<float>(5));
    CHECK_FALSE(is_refused());
    operation.rule.selection_bias->bytes -= 4;
    CHECK(is_refused());
    operation.rule.selection_bias->bytes += 4;
    operation.rule.groups = 2; // which does not divide five
    CHECK(is_refused());
    operation.rule.groups = 5;
    operation.rule.groups_used = 1; // a group has fewer than are chosen
    CHECK(is_refused());
    operation.rule.groups_used = 2;
    CHECK_FALSE(is_refused());
    operation.rule.scores = kernels::RoutingRule::Scores::softmax;
    CHECK(is_refused());
    operation.rule.selection_bias.reset();
    operation.rule.expert_scales = device.upload(std::vector<float>(5));
    CHECK_FALSE(is_refused());
    operation.rule.expert_scales->bytes -= 4;
    CHECK(is_refused());
}

TEST_CASE("expert_route agrees with the twin, equals and infinities included") {
    std::mt19937 random(1);
    for (const auto family : all_families()) {
        for (const auto& [count, experts_per_token] : {std::pair{1U, 1U},
                                                       {3U, 3U},
                                                       {7U, 2U},
                                                       {45U, 4U},
                                                       {64U, 6U},
                                                       {65U, 32U},
                                                       {72U, 5U},
                                                       {128U, 8U},
                                                       {256U, 8U},
                                                       {1023U, 3U},
                                                       {1024U, 5U}}) {
            INFO(to_string(family) << ", " << experts_per_token << " of " << count);
            constexpr uint32_t rows = 4;
            DeviceCase device(family);
            std::vector<float> logits = random_floats(random, std::size_t{rows} * count);
            const reference::RoutingRule rule = rule_of(random, count);
            for (std::size_t i = 0; i < logits.size(); ++i) // the first row has equals
                logits[i] = i < count ? std::round(logits[i] * 2) : logits[i] * (rule.is_sigmoid ? 4 : 20);
            if (experts_per_token < count && !rule.is_sigmoid)
                logits[std::size_t{2} * count + count - 1] = -INFINITY;
            const auto router = device.upload_rows(logits, rows, count);
            const Choices made = make_choices(device, rows, count, experts_per_token);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::expert_route(
                    {library, recorder},
                    {.router = router, .choice = made.choice, .rule = uploaded(device, rule)});
            });
            const auto experts = device.download<uint32_t>(made.choice.experts);
            const auto routing_weights = device.download<float>(made.choice.routing_weights);
            for (uint32_t row = 0; row < rows; ++row) {
                const auto expected =
                    reference::choose_experts(row_of(logits, row, count), experts_per_token, rule);
                for (uint32_t i = 0; i < experts_per_token; ++i) {
                    INFO("row " << row << " choice " << i);
                    const std::size_t at = std::size_t{row} * experts_per_token + i;
                    REQUIRE(experts[at] == expected[i].expert);
                    REQUIRE(routing_weights[at] == Approx(expected[i].share).epsilon(1e-5).margin(1e-30));
                }
            }
        }
    }
}

namespace {

/// A router over rows, of which the first has no part in a dispatch.
class RouterProblem {
public:
    RouterProblem(kernels::PlanFamily family, uint32_t experts, uint32_t experts_per_token, uint32_t columns,
                  uint32_t seed)
        : device_(family), random_(seed), experts_(experts), experts_per_token_(experts_per_token),
          columns_(columns), source_(random_weight(random_, kernels::Format::f32, experts, columns)),
          weight_(upload_weight(device_, source_, {})), bias_(random_floats(random_, experts)),
          rule_(rule_of(random_, experts)) {}

    /// Logits, choices and their weights of `rows` rows of x, each [rows] of the lengths of one.
    struct Routed {
        std::vector<float> logits;
        std::vector<uint32_t> experts;
        std::vector<float> routing_weights;
    };
    Routed run(const std::vector<float>& x, uint32_t rows, bool biased) {
        const std::vector<float> unset(std::size_t{rows} * experts_, nan_value);
        std::vector<float> all(columns_, nan_value); // row 0, which is not read
        all.insert(all.end(), x.begin(), x.end());
        kernels::ExpertRouter operation{
            .weight = weight_,
            .input = device_.upload_rows(all, rows + 1, columns_),
            .router = device_.upload_rows(std::vector<float>(std::size_t{rows + 1} * experts_, nan_value),
                                          rows + 1, experts_),
            .first = 1,
            .choice = make_choices(device_, rows, experts_, experts_per_token_).choice,
            .counters = device_.upload(std::vector<uint32_t>(rows))};
        operation.rule = uploaded(device_, rule_);
        if (biased)
            operation.bias = device_.upload(bias_);
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            expert_router({library, recorder}, operation);
            recorder.barrier(); // the counters are zero again
            expert_router({library, recorder}, operation);
        });
        for (const uint32_t counter : device_.download<uint32_t>(operation.counters))
            REQUIRE(counter == 0);
        const std::vector<float> logits = device_.download_rows(operation.router);
        return {.logits = {logits.begin() + experts_, logits.end()},
                .experts = device_.download<uint32_t>(operation.choice.experts),
                .routing_weights = device_.download<float>(operation.choice.routing_weights)};
    }

    /// Logits against the twin, and choices against the twin's of these logits.
    void check(const std::vector<float>& x, const Routed& routed, bool biased) const {
        for (uint32_t row = 0; row < routed.logits.size() / experts_; ++row) {
            const auto own = row_of(x, row, columns_);
            const reference::Vector exact = reference::linear(source_.values, own);
            const auto logits = row_of(routed.logits, row, experts_);
            for (uint32_t expert = 0; expert < experts_; ++expert) {
                double sizes = 2;
                for (uint32_t k = 0; k < columns_; ++k)
                    sizes += std::abs(source_.values.row(expert)[k] * own[k]);
                const double added = biased ? bias_[expert] : 0;
                REQUIRE(std::abs(logits[expert] - exact[expert] - added) <=
                        (static_cast<double>(columns_) + 4) * 0x1p-24 * sizes);
            }
            const auto chosen = reference::choose_experts(logits, experts_per_token_, rule_);
            for (uint32_t i = 0; i < experts_per_token_; ++i) {
                const std::size_t at = std::size_t{row} * experts_per_token_ + i;
                REQUIRE(routed.experts[at] == chosen[i].expert);
                REQUIRE(routed.routing_weights[at] == Approx(chosen[i].share).epsilon(1e-5).margin(1e-30));
            }
        }
    }

    std::vector<float> random_rows(uint32_t rows) {
        return random_floats(random_, std::size_t{rows} * columns_);
    }

private:
    DeviceCase device_;
    std::mt19937 random_;
    uint32_t experts_;
    uint32_t experts_per_token_;
    uint32_t columns_;
    WeightSource source_;
    kernels::Matrix weight_;
    std::vector<float> bias_;
    reference::RoutingRule rule_;
};

} // namespace

TEST_CASE("expert_router agrees with the twin, with and without a bias") {
    uint32_t seed = 40;
    for (const auto family : all_families()) {
        for (const auto& [experts, experts_per_token, columns] : {std::array{1U, 1U, 3U},
                                                                  {7U, 2U, 64U},
                                                                  {65U, 32U, 333U},
                                                                  {128U, 8U, 2880U},
                                                                  {256U, 8U, 40U},
                                                                  {1024U, 5U, 40U}}) {
            for (const uint32_t rows : {1U, 3U, 6U}) {
                const bool biased = seed % 2 == 0;
                INFO(to_string(family) << ", " << experts_per_token << " of " << experts << ", " << columns
                                       << " columns, " << rows << " rows");
                RouterProblem problem(family, experts, experts_per_token, columns, seed++);
                const std::vector<float> x = problem.random_rows(rows);
                problem.check(x, problem.run(x, rows, biased), biased);
            }
        }
    }
}

TEST_CASE("a row of expert_router has the same bits alone and in a batch") {
    for (const auto family : all_families()) {
        constexpr uint32_t columns = 1000;
        constexpr uint32_t experts = 37;
        RouterProblem problem(family, experts, 4, columns, 41);
        const std::vector<float> last = problem.random_rows(1);
        const RouterProblem::Routed alone = problem.run(last, 1, true);
        for (const uint32_t rows : {2U, 4U, 9U}) {
            std::vector<float> x = problem.random_rows(rows - 1);
            x.insert(x.end(), last.begin(), last.end());
            const RouterProblem::Routed batch = problem.run(x, rows, true);
            REQUIRE(alone.logits == std::vector<float>(batch.logits.end() - experts, batch.logits.end()));
            REQUIRE(alone.experts == std::vector<uint32_t>(batch.experts.end() - 4, batch.experts.end()));
            REQUIRE(alone.routing_weights ==
                    std::vector<float>(batch.routing_weights.end() - 4, batch.routing_weights.end()));
        }
    }
}

TEST_CASE("expert_router refuses shapes that do not fit and weights that it cannot read") {
    std::mt19937 random(42);
    DeviceCase device(kernels::PlanFamily::amd);
    const WeightSource source = random_weight(random, kernels::Format::f32, 5, 40);
    const kernels::ExpertRouter sound{.weight = upload_weight(device, source, {}),
                                      .input = device.upload_rows(std::vector<float>(120), 3, 40),
                                      .router = device.upload_rows(std::vector<float>(15), 3, 5),
                                      .choice = make_choices(device, 3, 5, 2).choice,
                                      .counters = device.upload(std::vector<uint32_t>(3))};
    const auto refused = [&](const kernels::ExpertRouter& operation) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        expert_router({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    REQUIRE_FALSE(refused(sound));
    kernels::ExpertRouter bad = sound;
    bad.weight.layout.format = kernels::Format::f16;
    REQUIRE(refused(bad));
    bad = sound;
    bad.first = 1;
    REQUIRE(refused(bad));
    bad = sound;
    bad.counters.bytes -= 4;
    REQUIRE(refused(bad));
    bad = sound;
    bad.bias = device.upload(std::vector<float>(4));
    REQUIRE(refused(bad));
    bad = sound;
    bad.choice.count = 4;
    REQUIRE(refused(bad));
}

TEST_CASE("expert_group puts every pair into one tile of its expert") {
    std::mt19937 random(2);
    for (const auto& [rows, count, experts_per_token] : {std::array{1U, 1U, 1U},
                                                         {1U, 128U, 8U},
                                                         {33U, 5U, 2U},
                                                         {64U, 3U, 3U},
                                                         {200U, 1024U, 3U},
                                                         {150U, 100U, 7U}}) {
        INFO(rows << " rows, " << experts_per_token << " of " << count);
        DeviceCase device(kernels::PlanFamily::nvidia);
        const uint32_t pairs = rows * experts_per_token;
        std::vector<uint32_t> experts(pairs);
        for (uint32_t& expert : experts)
            expert = static_cast<uint32_t>(random() % count);
        experts.back() = 0xFFFFFFF0U; // clamped to the last expert
        Choices made = make_choices(device, rows, count, experts_per_token);
        made.choice.experts = device.upload(experts);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            expert_group({library, recorder}, made.choice, made.groups);
        });
        experts.back() = count - 1;
        const auto words = device.download<uint32_t>(made.groups.range);
        const uint32_t columns = made.groups.tile_pairs;
        REQUIRE(words[0] <= std::min(pairs, pairs / columns + count));
        std::vector<uint32_t> seen(pairs);
        for (uint32_t tile = 0; tile < words[0]; ++tile) {
            const uint32_t* at = &words[1 + std::size_t{3} * tile];
            REQUIRE((at[2] >= 1 && at[2] <= columns && at[1] + at[2] <= pairs));
            for (uint32_t index = at[1]; index < at[1] + at[2]; ++index) {
                const uint32_t pair = words[1 + std::size_t{3} * pairs + index];
                REQUIRE(pair < pairs);
                ++seen[pair];
                REQUIRE(experts[pair] == at[0]);
            }
        }
        REQUIRE(std::all_of(seen.begin(), seen.end(), [](uint32_t times) { return times == 1; }));
    }
}

TEST_CASE("expert_linear agrees with the twin over odd sizes, all formats and families") {
    const std::array shapes{ExpertShape{3, 2, 1, 32, 1}, ExpertShape{9, 4, 2, 64, 17},
                            ExpertShape{4, 2, 21, 96, 35}};
    uint32_t seed = 1;
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        ++seed; // so that the families sample both inputs of a format
        for (const auto format : all_formats()) {
            for (ExpertShape shape : in_turn(shapes, kernel++)) {
                shape.width = width_near(format, shape.width);
                const auto reads = seed % 2 == 0 ? kernels::ExpertInput::row : kernels::ExpertInput::pair;
                check_linear(family, format, shape, reads, seed++);
            }
        }
    }
}

TEST_CASE("expert_linear in mxfp4 takes a width of 2880, a multiple of 32 but not of 256") {
    constexpr ExpertShape one_pair_tiles{
        .experts = 5, .experts_per_token = 2, .rows = 1, .width = 2880, .height = 9};
    constexpr ExpertShape full_tiles{
        .experts = 4, .experts_per_token = 2, .rows = 13, .width = 2880, .height = 21};
    for (const auto family : all_families()) {
        check_linear(family, kernels::Format::mxfp4, one_pair_tiles, kernels::ExpertInput::pair, 91);
        check_linear(family, kernels::Format::mxfp4, full_tiles, kernels::ExpertInput::row, 92);
    }
}

TEST_CASE("a pair's result has the same bits whatever the other pairs are") {
    std::mt19937 random(5);
    constexpr ExpertShape shape{.experts = 3, .experts_per_token = 2, .rows = 23, .width = 320, .height = 20};
    for (const auto family : all_families()) {
        DeviceCase device(family);
        const Stack stack =
            make_stack(device, random, exact_layout(device, kernels::Format::q8_0), shape, {0, 1, 2});
        const std::vector<float> x = random_floats(random, std::size_t{shape.rows} * shape.width);
        const auto last_x = static_cast<std::ptrdiff_t>(std::size_t{shape.rows - 1} * shape.width);
        std::vector<std::vector<float>> results;
        for (const uint32_t rows : {1U, 2U, 5U, 23U}) {
            std::vector<float> some(x.begin(), x.begin() + std::ptrdiff_t{rows - 1} * shape.width);
            some.insert(some.end(), x.begin() + last_x, x.end());
            std::vector<uint32_t> experts(std::size_t{rows} * shape.experts_per_token);
            for (uint32_t& expert : experts)
                expert = static_cast<uint32_t>(random() % shape.experts);
            experts[experts.size() - 2] = 2;
            experts.back() = 0;
            Choices made = make_choices(device, rows, shape.experts, shape.experts_per_token);
            made.choice.experts = device.upload(experts);
            const auto input = device.upload_rows(some, rows, shape.width);
            const uint32_t pairs = rows * shape.experts_per_token;
            const auto output = device.upload_rows(
                std::vector<float>(std::size_t{pairs} * shape.height, nan_value), pairs, shape.height);
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                expert_group({library, recorder}, made.choice, made.groups);
                kernels::expert_linear({library, recorder}, {.weights = stack.device,
                                                             .input = input,
                                                             .output = output,
                                                             .choice = made.choice,
                                                             .groups = made.groups});
            });
            const std::vector<float> y = device.download_rows(output);
            results.emplace_back(y.end() - std::ptrdiff_t{2} * shape.height, y.end());
        }
        for (const auto& result : results)
            REQUIRE(result == results.front());
    }
}

TEST_CASE("expert_sum adds each pair by its routing weight, with the bias of its expert") {
    std::mt19937 random(6);
    for (const auto family : all_families()) {
        for (const bool with_bias : {false, true}) {
            for (const SumShape& shape : {SumShape{1, 1, 1}, {3, 4, 63}, {2, 8, 130}}) {
                const SumProblem problem(shape, random);
                const std::vector<float> y = problem.run(family, with_bias, 0);
                for (uint32_t row = 0; row <= shape.rows; ++row) {
                    const reference::Vector expected = problem.expected(with_bias, row);
                    for (uint32_t k = 0; k < shape.width; ++k) {
                        INFO(to_string(family)
                             << " bias " << with_bias << " row " << row << " element " << k);
                        REQUIRE(y[std::size_t{row} * shape.width + k] == Approx(expected[k]).margin(4e-6));
                    }
                }
            }
        }
    }
}

TEST_CASE("expert_sum may replace its output") {
    std::mt19937 random(9);
    constexpr SumShape shape{3, 4, 63};
    for (const auto family : all_families()) {
        const SumProblem problem(shape, random);
        const std::vector<float> y = problem.run(family, true, 0, kernels::Store::replace);
        for (uint32_t row = 0; row <= shape.rows; ++row) {
            const reference::Vector expected = problem.expected(true, row, kernels::Store::replace);
            for (uint32_t k = 0; k < shape.width; ++k)
                REQUIRE(y[std::size_t{row} * shape.width + k] == Approx(expected[k]).margin(4e-6));
        }
    }
}

TEST_CASE("a row's sum of experts has the same bits alone and in a batch") {
    std::mt19937 random(8);
    for (const auto family : all_families()) {
        const SumProblem problem({5, 4, 70}, random);
        const std::vector<float> batch = problem.run(family, true, 0);
        const std::vector<float> alone = problem.run(family, true, 4);
        REQUIRE(alone == std::vector<float>(batch.end() - 140, batch.end()));
    }
}

TEST_CASE("expert_sum refuses a bias that is shorter than its shape") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [](std::size_t count) { return std::vector<float>(count); };
    const Choices made = make_choices(device, 3, 4, 2);
    kernels::ExpertSum operation{.input = device.upload_rows(zeros(240), 6, 40),
                                 .output = device.upload_rows(zeros(120), 3, 40),
                                 .choice = made.choice,
                                 .bias = device.upload(zeros(160))};
    const auto refused = [&] {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        expert_sum({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    REQUIRE_FALSE(refused());
    operation.bias->bytes -= 4;
    REQUIRE(refused());
}

TEST_CASE("experts refuse shapes that do not fit instead of reading past a buffer") {
    std::mt19937 random(7);
    DeviceCase device(kernels::PlanFamily::nvidia);
    constexpr ExpertShape shape{.experts = 4, .experts_per_token = 2, .rows = 3, .width = 32, .height = 8};
    const Stack stack =
        make_stack(device, random, exact_layout(device, kernels::Format::f32), shape, {0, 1, 2, 3});
    const Choices made = make_choices(device, shape.rows, shape.experts, shape.experts_per_token);
    const auto input = device.upload_rows(std::vector<float>(std::size_t{3} * 32), 3, 32);
    const auto output = device.upload_rows(std::vector<float>(std::size_t{6} * 8), 6, 8);
    const auto refused = [&](const kernels::ExpertLinear& operation) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        expert_linear({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    const kernels::ExpertLinear sound{.weights = stack.device,
                                      .input = input,
                                      .output = output,
                                      .choice = made.choice,
                                      .groups = made.groups};
    REQUIRE_FALSE(refused(sound));
    kernels::ExpertLinear more_experts = sound;
    more_experts.choice.count = more_experts.weights.count = 5;
    REQUIRE(refused(more_experts));
    kernels::ExpertLinear other_experts = sound;
    other_experts.choice.count = 3;
    REQUIRE(refused(other_experts));
    kernels::ExpertLinear by_pair = sound; // the input has a row for each row only
    by_pair.reads = kernels::ExpertInput::pair;
    REQUIRE(refused(by_pair));
    kernels::ExpertLinear more_rows = sound;
    more_rows.choice.rows = 4;
    REQUIRE(refused(more_rows));
    kernels::ExpertLinear short_groups = sound;
    short_groups.groups->range.bytes -= 4;
    REQUIRE(refused(short_groups));
}
