#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/sampling/parameters.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/operations.hpp"
#include "tests/reference/sampling.hpp"
#include "tests/support/samples.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::test;

namespace {

struct Answer {
    std::vector<kernels::SampleResult> results;
    std::vector<uint32_t> slots;
};

Answer sample(kernels::PlanFamily family, const std::vector<float>& logits, uint32_t vocabulary,
              const std::vector<kernels::SampleInfo>& infos, uint32_t candidates) {
    DeviceCase device(family);
    const auto rows = static_cast<uint32_t>(infos.size());
    const auto input = device.upload_rows(logits, rows, vocabulary);
    const vk::Range info_range = device.upload(infos);
    const vk::Range slots = device.upload(std::vector<uint32_t>(8, 12345));
    const vk::Range results = device.upload(std::vector<kernels::SampleResult>(rows));
    const vk::Range partials = device.upload(
        std::vector<std::byte>(kernels::sample_partial_bytes(rows, vocabulary), std::byte{0xFF}));
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        const kernels::Sample operation{.logits = input,
                                        .count = rows,
                                        .candidates = candidates,
                                        .infos = info_range,
                                        .slots = slots,
                                        .partials = partials,
                                        .results = results};
        sample_partial({library, recorder}, operation);
        sample_finish({library, recorder}, operation);
    });
    return {device.download<kernels::SampleResult>(results), device.download<uint32_t>(slots)};
}

std::vector<float> random_logits(std::mt19937& random, std::size_t count) {
    std::vector<float> logits = random_floats(random, count);
    for (float& logit : logits)
        logit = std::round(logit * 400) / 40; // many ties
    return logits;
}

std::vector<double> row_of(const std::vector<float>& logits, uint32_t row, uint32_t vocabulary) {
    return {logits.begin() + std::size_t{row} * vocabulary,
            logits.begin() + std::size_t{row + 1} * vocabulary};
}

} // namespace

TEST_CASE("candidates and log-sum-exp agree with the twin, ties by smaller id, over odd vocabularies") {
    std::mt19937 random(21);
    const std::array counts{1U, 7U, 64U};
    std::size_t round = 0;
    for (const auto family : all_families()) {
        for (const uint32_t vocabulary : {1U, 63U, 512U, 1024U, 1025U, 5000U, 33333U}) {
            for (const uint32_t candidates : in_turn(counts, round++)) {
                constexpr uint32_t rows = 3;
                const std::vector<float> logits = random_logits(random, std::size_t{rows} * vocabulary);
                const std::vector<kernels::SampleInfo> infos(rows, kernels::SampleInfo{});
                const Answer answer = sample(family, logits, vocabulary, infos, candidates);
                for (uint32_t row = 0; row < rows; ++row) {
                    INFO(to_string(family)
                         << " vocabulary " << vocabulary << " candidates " << candidates << " row " << row);
                    const auto exact = row_of(logits, row, vocabulary);
                    const auto expected = reference::top_candidates(exact, candidates);
                    const kernels::SampleResult& result = answer.results[row];
                    REQUIRE(result.log_sum_exp ==
                            Approx(reference::log_sum_exp(exact)).epsilon(1e-5).margin(1e-5));
                    REQUIRE(result.nan_probe == 0);
                    REQUIRE(result.token == expected[0].token);
                    REQUIRE(result.logit == static_cast<float>(expected[0].logit));
                    for (std::size_t i = 0; i < expected.size(); ++i) {
                        REQUIRE(result.candidates[i].token == expected[i].token);
                        REQUIRE(result.candidates[i].logit == static_cast<float>(expected[i].logit));
                    }
                }
            }
        }
    }
}

TEST_CASE("candidates are right if a few chunks hold nearly all of the largest logits") {
    constexpr uint32_t chunk = 1024;
    constexpr uint32_t candidates = 64;
    std::mt19937 random(22);
    // Each chunk but the last has `candidates` large logits, so that all of them are above the last one's
    // largest.
    std::vector<float> deep;
    for (uint32_t c = 0; c < candidates; ++c) {
        std::vector<float> logits = random_floats(random, chunk);
        for (uint32_t i = 0; c + 1 < candidates && i < candidates; ++i)
            logits[(i * 13 + c) % chunk] += 50;
        deep.insert(deep.end(), logits.begin(), logits.end());
    }
    const std::vector<float> equal(3000, 2.5F);
    std::vector<float> masked(3000, -std::numeric_limits<float>::infinity());
    masked[2500] = 1;
    masked[17] = 2;
    for (const auto family : all_families()) {
        for (const std::vector<float>& logits : {deep, equal, masked}) {
            const auto vocabulary = static_cast<uint32_t>(logits.size());
            const Answer answer =
                sample(family, logits, vocabulary, std::vector<kernels::SampleInfo>(1), candidates);
            const auto expected = reference::top_candidates(row_of(logits, 0, vocabulary), candidates);
            INFO(to_string(family) << " vocabulary " << vocabulary);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                REQUIRE(answer.results[0].candidates[i].token == expected[i].token);
                REQUIRE(answer.results[0].candidates[i].logit == static_cast<float>(expected[i].logit));
            }
        }
    }
}

TEST_CASE("the device draws the token of the definition, for many parameters, seeds and positions") {
    std::mt19937 random(22);
    uint32_t near_a_border = 0;
    uint32_t draws = 0;
    for (const auto family : all_families()) {
        for (int round = 0; round < 12; ++round) {
            constexpr uint32_t vocabulary = 3000;
            constexpr uint32_t rows = 16;
            const std::vector<float> logits = random_logits(random, std::size_t{rows} * vocabulary);
            std::vector<kernels::SampleInfo> infos;
            infos.reserve(rows);
            for (uint32_t row = 0; row < rows; ++row) {
                infos.push_back(
                    {.temperature = row % 5 == 0 ? 0.0F : 0.3F + 0.4F * static_cast<float>(random() % 5),
                     .top_k = 1 + static_cast<uint32_t>(random() % 64),
                     .top_p = row % 3 == 0 ? 1.0F : 0.5F + 0.1F * static_cast<float>(random() % 5),
                     .min_p = row % 2 == 0 ? 0.0F : 0.03F,
                     .seed = static_cast<uint32_t>(random()),
                     .position = static_cast<uint32_t>(random() % 100000)});
            }
            const Answer answer = sample(family, logits, vocabulary, infos, 64);
            for (uint32_t row = 0; row < rows; ++row) {
                const kernels::SampleInfo& info = infos[row];
                const sampling::Parameters parameters{.temperature = info.temperature,
                                                      .top_k = info.top_k,
                                                      .top_p = info.top_p,
                                                      .min_p = info.min_p,
                                                      .seed = info.seed};
                const auto choices = reference::distribution(row_of(logits, row, vocabulary), parameters);
                const double number = reference::uniform(info.seed, info.position);
                const TokenId expected = reference::draw(choices, number);
                const TokenId before = reference::draw(choices, std::max(0.0, number - 1e-5));
                const TokenId after = reference::draw(choices, std::min(0.9999999, number + 1e-5));
                ++draws;
                if (before != after) { // float sums may fall on either side
                    ++near_a_border;
                    continue;
                }
                INFO(to_string(family)
                     << " temperature " << info.temperature << " top_k " << info.top_k << " top_p "
                     << info.top_p << " min_p " << info.min_p << " seed " << info.seed << " position "
                     << info.position << " uniform " << number << " of " << choices.size());
                REQUIRE(answer.results[row].token == expected);
            }
        }
    }
    REQUIRE(near_a_border * 100 < draws);
}

TEST_CASE("a drawn id is written to its slot only") {
    for (const auto family : all_families()) {
        std::vector<float> logits(200, 0.0F);
        logits[17] = 5;
        logits[100 + 99] = 5;
        const Answer answer =
            sample(family, logits, 100, {{.slot = 3}, {.slot = kernels::SampleInfo::no_slot}}, 1);
        REQUIRE(answer.slots == std::vector<uint32_t>{12345, 12345, 12345, 17, 12345, 12345, 12345, 12345});
        REQUIRE(answer.results[1].token == 99);
    }
}

TEST_CASE("NaN anywhere is reported, and infinities are accepted") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const auto family : all_families()) {
        for (const uint32_t position : {0U, 1500U, 2999U}) {
            std::vector<float> logits(6000, 1.0F);
            logits[position] = nan;
            logits[3000 + position] = -infinity;
            const Answer answer = sample(family, logits, 3000, std::vector<kernels::SampleInfo>(2), 1);
            INFO(to_string(family) << " position " << position);
            REQUIRE(answer.results[0].nan_probe == 1 + kernels::no_nan_probe);
            REQUIRE(answer.results[1].nan_probe == 0);
            REQUIRE(answer.results[1].log_sum_exp == Approx(1 + std::log(2999.0)).epsilon(1e-5));
            REQUIRE(answer.results[1].token == (position == 0 ? 1U : 0U));
        }
    }
}
