#include "core/kernels/experts.hpp"
#include "tests/kernels/weight_source.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace etna;
using namespace etna::test;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// Memory for choices and groups, all of it NaN at first.
struct Choices {
    kernels::ExpertRouting choice;
    kernels::ExpertGroups groups;
};

Choices make_choices(DeviceCase& device, uint32_t rows, uint32_t count, uint32_t experts_per_token) {
    const std::vector<float> unset(std::size_t{rows} * experts_per_token, nan_value);
    const uint64_t group_words = kernels::expert_group_bytes(rows, experts_per_token) / 4;
    return {.choice = {.experts = device.upload(unset),
                       .routing_weights = device.upload(unset),
                       .count = count,
                       .experts_per_token = experts_per_token,
                       .rows = rows},
            .groups = {device.upload(std::vector<float>(group_words, nan_value))}};
}

std::vector<double> row_of(const std::vector<float>& all, std::size_t row, std::size_t width) {
    return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
            all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
}

struct ExpertShape {
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t rows;
    uint32_t width;  ///< of input
    uint32_t height; ///< of output
};

std::string describe(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape) {
    return std::string(to_string(family)) + " " + std::string(to_string(format)) + " " +
           std::to_string(shape.experts_per_token) + " of " + std::to_string(shape.experts) + " experts [" +
           std::to_string(shape.height) + "," + std::to_string(shape.width) + "] x[" +
           std::to_string(shape.rows) + "]";
}

/// Matrices of a stack; those of unused experts have every bit set, which is NaN.
struct Stack {
    kernels::MatrixStack device;
    std::vector<reference::Matrix> values;
};

Stack make_stack(DeviceCase& device, std::mt19937& random, kernels::Format format, const ExpertShape& shape,
                 const std::set<uint32_t>& in_use) {
    const kernels::Layout layout{format, kernels::exact_arrangement(device.library().target(), format)};
    const kernels::PackedBytes packed = kernels::packed_bytes(layout, shape.height, shape.width);
    std::vector<std::byte> weights(shape.experts * packed.weights, std::byte{0xFF});
    std::vector<std::byte> scales(shape.experts * packed.scales, std::byte{0xFF});
    Stack stack;
    for (uint32_t expert = 0; expert < shape.experts; ++expert) {
        const WeightSource source = random_weight(random, format, shape.height, shape.width);
        stack.values.push_back(source.values);
        if (!in_use.contains(expert))
            continue;
        const Status status = kernels::repack(
            {.layout = layout,
             .row_count = shape.height,
             .columns = shape.width,
             .source = source.bytes,
             .weights = MutableByteView(weights).subspan(expert * packed.weights, packed.weights),
             .scales = MutableByteView(scales).subspan(expert * packed.scales, packed.scales)});
        if (!status)
            FAIL(status.error().message);
    }
    stack.device = {.matrices = {.layout = layout,
                                 .rows = shape.height,
                                 .columns = shape.width,
                                 .weights = device.upload(weights),
                                 .scales = scales.empty() ? vk::Range{} : device.upload(scales)},
                    .count = shape.experts};
    return stack;
}

/// (n + 4) roundings of 2^-24 of the sum of |products|.
double bound(const reference::Matrix& weight, std::size_t row, std::span<const double> x) {
    double magnitudes = 0;
    for (std::size_t k = 0; k < weight.columns; ++k)
        magnitudes += std::abs(weight.row(row)[k] * x[k]);
    return (static_cast<double>(weight.columns) + 4) * 0x1p-24 * (magnitudes + 2);
}

void check_linear(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape,
                  kernels::ExpertInput reads, uint32_t seed) {
    INFO(describe(family, format, shape));
    std::mt19937 random(seed);
    DeviceCase device(family);
    const uint32_t pairs = shape.rows * shape.experts_per_token;
    std::vector<uint32_t> experts(pairs);
    for (uint32_t& expert : experts)
        expert = static_cast<uint32_t>(random() % shape.experts) / 2 * 2; // odd experts have no pairs
    const Stack stack = make_stack(device, random, format, shape, {experts.begin(), experts.end()});
    Choices made = make_choices(device, shape.rows, shape.experts, shape.experts_per_token);
    made.choice.experts = device.upload(experts);
    const uint32_t input_rows = reads == kernels::ExpertInput::row ? shape.rows : pairs;
    const std::vector<float> x = random_floats(random, std::size_t{input_rows} * shape.width);
    const auto input = device.upload_rows(x, input_rows, shape.width);
    const auto output = device.upload_rows(std::vector<float>(std::size_t{pairs} * shape.height, nan_value),
                                           pairs, shape.height);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        expert_group(library, recorder, made.choice, made.groups);
        recorder.barrier();
        expert_linear(library, recorder,
                      {.weights = stack.device,
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
            if (!(std::abs(value - exact[m]) <= bound(weight, m, row)))
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
    [[nodiscard]] std::vector<float> run(kernels::PlanFamily family, bool with_bias, uint32_t first) const {
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
            .choice = made.choice};
        if (with_bias)
            operation.bias = device.upload(bias_);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            expert_sum(library, recorder, operation);
        });
        return device.download_rows(output);
    }

    [[nodiscard]] reference::Vector expected(bool with_bias, uint32_t row) const {
        const std::vector<double> start = row_of(before_, row, shape_.width);
        if (row == shape_.rows)
            return start;
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

} // namespace

TEST_CASE("expert_route agrees with the twin, equals and infinities included") {
    std::mt19937 random(1);
    for (const auto family : all_families()) {
        for (const auto& [count, experts_per_token] : {std::pair{1U, 1U},
                                                       {3U, 3U},
                                                       {7U, 2U},
                                                       {64U, 6U},
                                                       {65U, 32U},
                                                       {128U, 8U},
                                                       {1023U, 3U},
                                                       {1024U, 5U}}) {
            INFO(to_string(family) << ", " << experts_per_token << " of " << count);
            constexpr uint32_t rows = 4;
            DeviceCase device(family);
            std::vector<float> logits = random_floats(random, std::size_t{rows} * count);
            for (std::size_t i = 0; i < logits.size(); ++i) // the first row has equals
                logits[i] = i < count ? std::round(logits[i] * 2) : logits[i] * 20;
            if (experts_per_token < count)
                logits[std::size_t{2} * count + count - 1] = -INFINITY;
            const auto router = device.upload_rows(logits, rows, count);
            const Choices made = make_choices(device, rows, count, experts_per_token);
            const bool normalised = count % 2 == 0;
            device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                expert_route(library, recorder,
                             {.router = router, .choice = made.choice, .normalised = normalised});
            });
            const auto experts = device.download<uint32_t>(made.choice.experts);
            const auto routing_weights = device.download<float>(made.choice.routing_weights);
            for (uint32_t row = 0; row < rows; ++row) {
                const auto expected =
                    reference::choose_experts(row_of(logits, row, count), experts_per_token, normalised);
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
            expert_group(library, recorder, made.choice, made.groups);
        });
        experts.back() = count - 1;
        const auto words = device.download<uint32_t>(made.groups.range);
        const uint32_t columns = kernels::expert_tile_pairs(pairs, count);
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
        const Stack stack = make_stack(device, random, kernels::Format::q8_0, shape, {0, 1, 2});
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
                expert_group(library, recorder, made.choice, made.groups);
                recorder.barrier();
                expert_linear(library, recorder,
                              {.weights = stack.device,
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
        expert_sum(device.library(), *recorder, operation);
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
    const Stack stack = make_stack(device, random, kernels::Format::f32, shape, {0, 1, 2, 3});
    const Choices made = make_choices(device, shape.rows, shape.experts, shape.experts_per_token);
    const auto input = device.upload_rows(std::vector<float>(std::size_t{3} * 32), 3, 32);
    const auto output = device.upload_rows(std::vector<float>(std::size_t{6} * 8), 6, 8);
    const auto refused = [&](const kernels::ExpertLinear& operation) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        expert_linear(device.library(), *recorder, operation);
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
    short_groups.groups.range.bytes -= 4;
    REQUIRE(refused(short_groups));
}
