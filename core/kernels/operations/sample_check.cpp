#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/logits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

namespace etna::kernels {
namespace {

constexpr uint32_t chunk = 1024; // as in shaders/sample/sample_info.glsl
constexpr uint32_t chunks = 3;
constexpr uint32_t candidates = 5;
constexpr uint32_t list_words = 4 + 2 * candidates; // of a chunk, shaders/sample/arguments.h

struct Summary {
    float largest = -std::numeric_limits<float>::infinity();
    double sum = 0; ///< of exp(logit - largest)
    uint32_t not_a_number = 0;
    std::vector<SampleResult::Pair> best; ///< [candidates]
};

/// Of the logits [first, end) of one row.
Summary summary_of(const std::vector<float>& logits, uint32_t row, uint32_t first, uint32_t end) {
    Summary summary;
    for (uint32_t token = first; token < end; ++token) {
        const float logit = logits[std::size_t{row} * vocabulary + token];
        if (std::isnan(logit)) {
            summary.not_a_number = 1;
        } else {
            summary.best.push_back({token, logit});
        }
    }
    std::stable_sort(summary.best.begin(), summary.best.end(),
                     [](const auto& a, const auto& b) { return a.logit > b.logit; });
    summary.largest = summary.best.front().logit;
    for (const SampleResult::Pair& one : summary.best)
        summary.sum += std::exp(double{one.logit} - summary.largest);
    summary.best.resize(candidates);
    return summary;
}

Summary chunk_summary(const std::vector<float>& logits, uint32_t row, uint32_t index) {
    return summary_of(logits, row, index * chunk, std::min((index + 1) * chunk, vocabulary));
}

void append_pairs(const Summary& summary, std::vector<uint32_t>& words) {
    for (const SampleResult::Pair& one : summary.best)
        words.insert(words.end(), {one.token, word_of(one.logit)});
}

/// Philox4x32-10 as shaders/sample/philox.glsl says, for the counter (position, 0, 0, 0) and key (seed, 0).
double uniform_number(uint32_t seed, uint32_t position) {
    std::array<uint32_t, 4> counter{position, 0, 0, 0};
    std::array<uint32_t, 2> key{seed, 0};
    for (int round = 0; round < 10; ++round) {
        const uint64_t first = uint64_t{0xD2511F53U} * counter[0];
        const uint64_t second = uint64_t{0xCD9E8D57U} * counter[2];
        counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
                   static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
        key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
    }
    return (counter[0] >> 8) * 0x1p-24;
}

constexpr double temperature = 0.75;

/// Index of the candidate that a uniform number selects, with no candidate filtered out.
std::size_t index_of(const Summary& summary, double number) {
    double all = 0;
    for (const SampleResult::Pair& one : summary.best)
        all += std::exp((double{one.logit} - summary.largest) / temperature);
    double mass = 0;
    for (std::size_t i = 0; i < candidates; ++i) {
        mass += std::exp((double{summary.best[i].logit} - summary.largest) / temperature);
        if (mass > number * all)
            return i;
    }
    return candidates - 1;
}

/// A seed whose number is not at a boundary, and selects neither the first nor the last candidate.
uint32_t certain_seed(const Summary& summary, uint32_t position) {
    constexpr double margin = 1e-3;
    uint32_t seed = 1;
    while (seed < 1000) {
        const double number = uniform_number(seed, position);
        const std::size_t index = index_of(summary, number);
        if (index > 0 && index + 1 < candidates && index_of(summary, number - margin) == index &&
            index_of(summary, number + margin) == index)
            break;
        ++seed;
    }
    return seed;
}

void make_sample_partial_problem(KernelRun& run, const KernelUse&) {
    const std::vector<float> logits = random_logits();
    const vk::Range partials = run.put(std::vector<uint32_t>(std::size_t{sample_rows} * chunks * list_words));
    sample_partial({run.library(), run.recorder()},
                   {.logits = run.put_rows(logits, sample_rows, vocabulary),
                    .count = sample_rows,
                    .candidates = candidates,
                    .infos = run.put(std::vector<SampleInfo>(sample_rows)),
                    .slots = run.put(std::vector<uint32_t>(1)),
                    .partials = partials,
                    .results = run.put(std::vector<SampleResult>(sample_rows))});
    for (uint32_t row = 0; row < sample_rows; ++row) {
        for (uint32_t i = 0; i < chunks; ++i) {
            const Summary exact = chunk_summary(logits, row, i);
            const uint64_t at = (uint64_t{row} * chunks + i) * list_words;
            std::vector<uint32_t> words;
            append_pairs(exact, words);
            run.expect_words(words_at(partials, at, 1), {word_of(exact.largest)});
            // exp of differences up to 16, each good for 3 + 2 x 16 units, and a sum over the chunk
            run.expect_numbers(words_at(partials, at + 1, 1),
                               {{exact.sum, (chunk + 80) * rounding * exact.sum}});
            run.expect_words(words_at(partials, at + 2, 1), {exact.not_a_number});
            run.expect_words(words_at(partials, at + 4, words.size()), words);
        }
    }
}

void make_sample_finish_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t position = 77;
    const std::vector<float> logits = random_logits();
    std::vector<uint32_t> words;
    std::vector<Summary> summaries;
    for (uint32_t row = 0; row < sample_rows; ++row) {
        summaries.push_back(summary_of(logits, row, 0, vocabulary));
        for (uint32_t i = 0; i < chunks; ++i) {
            const Summary exact = chunk_summary(logits, row, i);
            words.insert(words.end(), {word_of(exact.largest), word_of(static_cast<float>(exact.sum)),
                                       exact.not_a_number, 0});
            append_pairs(exact, words);
        }
    }
    const uint32_t seed = certain_seed(summaries[1], position);
    const std::vector<SampleInfo> infos{
        {.slot = 1}, {.temperature = temperature, .top_k = candidates, .seed = seed, .position = position}};
    const vk::Range slots = run.put(std::vector<uint32_t>{1234, 1234, 1234});
    const vk::Range results = run.put(std::vector<SampleResult>(sample_rows));
    sample_finish({run.library(), run.recorder()},
                  {.logits = run.put_rows(logits, sample_rows, vocabulary),
                   .count = sample_rows,
                   .candidates = candidates,
                   .infos = run.put(infos),
                   .slots = slots,
                   .partials = run.put(words),
                   .results = results,
                   .nan_probes = run.put(std::vector<uint32_t>{no_nan_probe, 5, 8})});
    const std::array<std::size_t, sample_rows> indices{
        0, index_of(summaries[1], uniform_number(seed, position))};
    for (uint32_t row = 0; row < sample_rows; ++row) {
        const Summary& exact = summaries[row];
        const SampleResult::Pair drawn = exact.best[indices[row]];
        const uint64_t at = row * sizeof(SampleResult) / 4;
        const double log_sum = exact.largest + std::log(exact.sum);
        std::vector<uint32_t> pairs;
        append_pairs(exact, pairs);
        run.expect_words(words_at(results, at, 2), {drawn.token, word_of(drawn.logit)});
        run.expect_numbers(words_at(results, at + 2, 1),
                           {{log_sum, 128 * rounding * (1 + std::abs(log_sum))}});
        run.expect_words(words_at(results, at + 3, 1), {exact.not_a_number != 0 ? 1 + 5U : 0U});
        run.expect_words(words_at(results, at + 4, pairs.size()), pairs);
    }
    run.expect_words(slots, {1234, summaries[0].best[0].token, 1234});
}

} // namespace

const Operation sample_partial_operation{
    .name = "sample_partial",
    .uses =
        [](const PlanTarget& target) {
            return one_use(sample_partial_operation, reduced(target, shaders::sample_partial));
        },
    .make_problem = make_sample_partial_problem,
};

const Operation sample_finish_operation{
    .name = "sample_finish",
    .uses =
        [](const PlanTarget& target) {
            return one_use(sample_finish_operation, reduced(target, shaders::sample_finish));
        },
    .make_problem = make_sample_finish_problem,
};

} // namespace etna::kernels
