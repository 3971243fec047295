#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

namespace etna::kernels {
namespace {

/// Of the general kernel and of attention_merge.
constexpr uint32_t q_heads = 6;
constexpr uint32_t kv_heads = 2;
constexpr uint32_t head_dim = 18;
constexpr uint32_t head_stride = 24;
constexpr uint32_t partial_floats = head_stride + 2; ///< sums, largest score, sum of weights
constexpr uint32_t width = q_heads * head_dim;
constexpr AttentionShape odd_heads{.q_heads = q_heads, .kv_heads = kv_heads, .head_dim = head_dim};

/// A softmax over keys [first, end) of one head and its sink, and the values under it.
struct Softmax {
    double largest = 0;
    double total = 0;              ///< of exp(score - largest)
    std::vector<double> mean = {}; ///< [value_dim], of the values
    double score_error = 0;        ///< of a score
    double weight_error = 0;       ///< of a weight, relative; of a mean, to the largest value twice that
};

struct Problem {
    std::span<const float> query; ///< [head_dim]
    const CacheContent& content;
    uint32_t kv_head;
    uint32_t kv_heads;
    float scale;
    float softcap;
    uint32_t value_dim;
    std::optional<float> sink; ///< a score whose value is zero
    bool is_rounded = false;   ///< factors are rounded to f16

    /// [head_dim], at a position of keys or values.
    [[nodiscard]] const double* head(const std::vector<double>& numbers, uint32_t position) const {
        return numbers.data() + (std::size_t{position} * kv_heads + kv_head) * query.size();
    }
};

Softmax softmax_over(const Problem& problem, uint32_t first, uint32_t end) {
    std::vector<double> scores;
    double size = 0;
    double norm = 0; ///< of the products of a score
    for (uint32_t position = first; position < end; ++position) {
        const double* key = problem.head(problem.content.keys, position);
        double sum = 0;
        double own_size = 0;
        double squares = 0;
        for (std::size_t d = 0; d < problem.query.size(); ++d) {
            sum += problem.query[d] * key[d];
            own_size += std::abs(problem.query[d] * key[d]);
            squares += problem.query[d] * key[d] * problem.query[d] * key[d];
        }
        sum *= problem.scale;
        scores.push_back(problem.softcap == 0 ? sum : problem.softcap * std::tanh(sum / problem.softcap));
        size = std::max(size, own_size * problem.scale);
        norm = std::max(norm, std::sqrt(squares) * problem.scale);
    }
    if (problem.sink)
        scores.push_back(*problem.sink);
    const auto [smallest, largest] = std::minmax_element(scores.begin(), scores.end());
    Softmax result{.largest = *largest, .mean = std::vector<double>(problem.value_dim)};
    for (uint32_t i = 0; i < scores.size(); ++i) {
        const double weight = std::exp(scores[i] - result.largest);
        result.total += weight;
        if (i == end - first) // the sink
            break;
        const double* value = problem.head(problem.content.values, first + i);
        for (std::size_t d = 0; d < result.mean.size(); ++d)
            result.mean[d] += weight * value[d];
    }
    for (double& one : result.mean)
        one /= result.total;
    // Products and sums of a score; exp, good for 3 + 2 |x| units, once a key and once a page; sums over
    // keys.
    const auto keys = static_cast<double>(scores.size());
    const auto additions = static_cast<double>(round_up(problem.query.size(), 8) + 8);
    result.score_error = rounding * (additions * size + 32 * problem.softcap);
    // Independent roundings of a score's factors add up like their norm; those of weights and values are one
    // each.
    constexpr double half_rounding = 0x1p-11;
    if (problem.is_rounded)
        result.score_error += 6 * half_rounding * norm;
    result.weight_error = 2 * result.score_error + (problem.is_rounded ? 2 * half_rounding : 0) +
                          rounding * (6 * (keys / page_tokens + 2) + 4 * (*largest - *smallest) + keys + 16);
    return result;
}

/// The positions that a row attends to.
struct KeyRange {
    uint32_t begin = 0;
    uint32_t end = 0;
};

/// Cache and queries of rows.
struct Setup {
    CacheContent content;
    RunCache cache;
    std::vector<float> q;
    std::vector<KeyRange> keys; ///< [rows]
    std::vector<float> sinks;   ///< [q_heads]; empty: none
    Attention operation;        ///< all but softcap and path
    bool is_rounded = false;    ///< factors are rounded to f16

    [[nodiscard]] Problem problem(uint32_t row, uint32_t head, float softcap) const {
        const AttentionShape heads = operation.shape();
        const std::size_t first = (std::size_t{row} * heads.q_heads + head) * heads.head_dim;
        return {.query = std::span(q).subspan(first, heads.head_dim),
                .content = content,
                .kv_head = head / (heads.q_heads / heads.kv_heads),
                .kv_heads = heads.kv_heads,
                .scale = operation.scale,
                .softcap = softcap,
                .value_dim = heads.value_dim(),
                .sink = sinks.empty() ? std::nullopt : std::optional(sinks[head]),
                .is_rounded = is_rounded};
    }
};

/// Keys and values of `heads` are in the format of its keys.
Setup set_up(KernelRun& run, const AttentionShape& heads, std::vector<KeyRange> keys, bool with_sinks) {
    Noise noise(10);
    const uint32_t columns = heads.q_heads * heads.head_dim;
    Setup setup;
    const auto rows = static_cast<uint32_t>(keys.size());
    AttendMax attend_max;
    std::vector<RowInfo> infos;
    infos.reserve(rows);
    for (const KeyRange& range : keys) {
        attend_max.include(range.begin, range.end);
        infos.push_back({.position = range.end - 1,
                         .attend_begin = range.begin,
                         .attend_end = range.end,
                         .table = RunCache::table_start});
    }
    setup.cache = put_noise_cache(
        run, noise, {heads.formats.keys, heads.kv_heads, heads.head_dim, attend_max.end}, setup.content);
    if (heads.latent_dim > 0) {
        setup.cache.device.latent_dim = heads.latent_dim;
        setup.cache.device.values = {};
        setup.content.values = setup.content.keys;
    }
    setup.q = noise.numbers(uint64_t{rows} * columns);
    setup.operation = {.rows = {.infos = run.put(infos), .first = 0, .count = rows},
                       .q = run.put_rows(setup.q, rows, columns),
                       .output = run.put_unset(rows, heads.q_heads * heads.value_dim()),
                       .cache = setup.cache.device,
                       .tables = {run.put(setup.cache.table)},
                       .q_heads = heads.q_heads,
                       .scale = 0.3F,
                       .attend_max = attend_max};
    setup.keys = std::move(keys);
    if (with_sinks) {
        setup.sinks = noise.numbers(heads.q_heads);
        for (float& sink : setup.sinks)
            sink *= 8;
        setup.operation.sinks = run.put(setup.sinks);
    }
    return setup;
}

AttentionShape odd_heads_in(CacheFormat format) {
    AttentionShape heads = odd_heads;
    heads.formats = {format, format};
    return heads;
}

/// Expects the attention of all rows and heads.
void expect_output(KernelRun& run, const Setup& setup) {
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < setup.keys.size(); ++row) {
        for (uint32_t head = 0; head < setup.operation.q_heads; ++head) {
            const Softmax exact = softmax_over(setup.problem(row, head, setup.operation.softcap),
                                               setup.keys[row].begin, setup.keys[row].end);
            for (const double mean : exact.mean)
                expected.push_back({mean, 2 * exact.weight_error * 2});
        }
    }
    run.expect_rows(setup.operation.output, 0, expected);
    if (setup.operation.packed)
        expect_blocks(run, setup.operation.output.packed, expected);
}

/// Rows whose keys lie in one KV split.
void make_whole_problem(KernelRun& run, const AttentionShape& heads, std::vector<KeyRange> keys,
                        float softcap, bool with_sinks) {
    Setup setup = set_up(run, heads, std::move(keys), with_sinks);
    setup.operation.softcap = softcap;
    setup.operation.path = RowPath::prefill;
    setup.is_rounded =
        attention_plan(run.library().target(), heads, RowPath::prefill).kernel == AttentionKernel::prompt;
    attention({run.library(), run.recorder()}, setup.operation);
    expect_output(run, setup);
}

/// Decode rows of one and of several KV splits, merged by the decode kernel.
void make_decode_problem(KernelRun& run, const AttentionShape& heads, std::vector<KeyRange> keys,
                         float softcap, bool with_sinks) {
    const PlanTarget& target = run.library().target();
    Setup setup = set_up(run, heads, std::move(keys), with_sinks);
    Attention& operation = setup.operation;
    operation.softcap = softcap;
    const uint32_t rows = operation.rows.count;
    const uint64_t bytes = attention_partial_bytes(target, heads, rows, operation.attend_max);
    const uint64_t counter_bytes = attention_counter_bytes(target, heads, rows, operation.attend_max);
    const std::vector<uint32_t> zeros(counter_bytes / sizeof(uint32_t));
    operation.partials = run.put(std::vector<uint32_t>(bytes / sizeof(uint32_t), 0xFFFFFFFFU));
    operation.counters = run.put(zeros);
    const uint32_t columns = operation.output.columns;
    operation.packed = reads_packed(target, columns) && attention_writes_packed(target, heads);
    if (operation.packed) {
        operation.output.packed =
            run.put(std::vector<uint32_t>(rows * packed_row_bytes(columns) / sizeof(uint32_t), 0xCDCDCDCD));
    }
    attention({run.library(), run.recorder()}, operation);
    expect_output(run, setup);
    run.expect_words(operation.counters, zeros);
}

/// Whether partials of one row (shaders/attention/arguments.h) match its KV splits.
bool partials_hold(ByteView content, const std::vector<Softmax>& exact) {
    for (std::size_t at = 0; at < exact.size(); ++at) {
        const Softmax& kv_split = exact[at];
        std::vector<float> partial(partial_floats);
        std::memcpy(partial.data(), content.data() + at * partial.size() * 4, partial.size() * 4);
        const double largest = partial[head_stride];
        const double total = partial[head_stride + 1];
        const double total_then = kv_split.total * std::exp(kv_split.largest - largest);
        bool holds = std::abs(largest - kv_split.largest) <= kv_split.score_error &&
                     std::abs(total - total_then) <= kv_split.weight_error * total_then;
        for (uint32_t d = 0; d < head_dim; ++d)
            holds = holds && std::abs(partial[d] / total - kv_split.mean[d]) <= 2 * kv_split.weight_error * 2;
        if (!holds)
            return false;
    }
    return true;
}

/// A row whose keys span two KV splits. The first one counts the sinks.
void make_partial_problem(KernelRun& run, CacheFormat format, bool with_sinks) {
    const PlanTarget& target = run.library().target();
    const uint32_t split_tokens = kv_split_tokens(target);
    const AttentionShape heads = odd_heads_in(format);
    Setup setup = set_up(run, heads, {{0, split_tokens + 41}}, with_sinks);
    const uint64_t bytes = attention_partial_bytes(target, heads, 1, setup.operation.attend_max);
    setup.operation.partials = run.put(std::vector<uint32_t>(bytes / 4, 0xFFFFFFFFU));
    attention({run.library(), run.recorder()}, setup.operation);
    std::vector<Softmax> exact;
    for (uint32_t head = 0; head < q_heads; ++head) {
        exact.push_back(softmax_over(setup.problem(0, head, 0), 0, split_tokens));
        Problem second = setup.problem(0, head, 0);
        second.sink.reset();
        exact.push_back(softmax_over(second, split_tokens, split_tokens + 41));
    }
    run.expect(setup.operation.partials, [exact](ByteView content) { return partials_hold(content, exact); });
}

/// One head's output from its partials.
std::vector<Bounded> merge(std::span<const float> partials) {
    double total = 0;
    std::vector<double> sums(head_dim);
    std::vector<double> sizes(head_dim);
    for (; !partials.empty(); partials = partials.subspan(partial_floats)) {
        // Scores are about 1: no largest one has to be subtracted.
        const double weight = std::exp(partials[head_stride]);
        total += weight * partials[head_stride + 1];
        for (uint32_t d = 0; d < head_dim; ++d) {
            sums[d] += weight * partials[d];
            sizes[d] += weight * std::abs(partials[d]);
        }
    }
    std::vector<Bounded> result;
    for (uint32_t d = 0; d < head_dim; ++d)
        result.push_back({sums[d] / total, 64 * rounding * sizes[d] / total});
    return result;
}

void make_tuned_attention_problem(KernelRun& run, const TunedShape& shape) {
    const AttentionShape heads{.q_heads = shape.rows, .kv_heads = shape.kv_heads, .head_dim = shape.columns};
    if (shape.kernel == TunedKernel::attention_decode)
        make_decode_problem(run, heads, {{0, 200}, {30, 71}, {0, 1}}, 0, true);
    else
        make_whole_problem(run, heads, {{0, 71}, {30, 64}, {0, 1}}, 0, true);
}

void make_attention_problem(KernelRun& run, const KernelUse& use) {
    if (use.variant == shaders::attention_decode()) {
        make_decode_problem(run, {.q_heads = 8, .kv_heads = 2, .head_dim = 128}, {{0, 200}, {0, 71}, {0, 1}},
                            0, true);
        make_decode_problem(run, {.q_heads = 4, .kv_heads = 2, .head_dim = 256}, {{30, 71}, {70, 130}}, 2,
                            false);
        // More keys than 64 tiles have.
        make_decode_problem(run, {.q_heads = 3, .kv_heads = 1, .head_dim = 64}, {{70, 4300}, {4000, 4129}}, 0,
                            false);
        return;
    }
    if (use.variant == shaders::attention_prompt()) {
        const auto last_rows = [](uint32_t count, uint32_t window) {
            constexpr uint32_t tokens = 150;
            std::vector<KeyRange> keys;
            for (uint32_t end = tokens - count + 1; end <= tokens; ++end)
                keys.push_back({.begin = end > window ? end - window : 0, .end = end});
            return keys;
        };
        make_whole_problem(run, {.q_heads = 8, .kv_heads = 2, .head_dim = 128}, last_rows(35, 150), 0, false);
        constexpr CacheFormats q8_0{CacheFormat::q8_0, CacheFormat::q8_0};
        make_whole_problem(run, {.q_heads = 3, .kv_heads = 1, .head_dim = 64, .formats = q8_0},
                           last_rows(70, 45), 0, true);
        make_whole_problem(run, {.q_heads = 4, .kv_heads = 2, .head_dim = 256}, {{0, 71}, {30, 64}, {0, 1}},
                           2, false);
        return;
    }
    make_whole_problem(run, odd_heads_in(CacheFormat::f32), {{0, 71}, {0, 34}, {0, 1}}, 0, false);
    make_whole_problem(run, odd_heads_in(CacheFormat::q8_0), {{30, 71}, {0, 34}, {0, 1}}, 2, false);
    make_whole_problem(run, odd_heads_in(CacheFormat::f16), {{30, 71}, {0, 34}, {0, 1}}, 0, true);
    // Keys that hold their values.
    make_whole_problem(run, {.q_heads = 6, .kv_heads = 1, .head_dim = 30, .latent_dim = 22},
                       {{30, 71}, {0, 1}}, 0, false);
    for (const bool with_sinks : {false, true})
        make_partial_problem(run, CacheFormat::f16, with_sinks);
}

void make_attention_merge_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t rows = 2;
    constexpr uint32_t kv_splits = 11; // the kernel loads eight at a time
    const PlanTarget& target = run.library().target();
    const uint32_t keys = (kv_splits - 1) * kv_split_tokens(target) + 4;
    Noise noise(11);
    const RunCache cache = put_cache(run, {CacheFormat::f16, kv_heads, head_dim, 1}); // no kernel reads it
    const std::vector<RowInfo> infos{{.attend_end = 4}, {.attend_end = keys}};
    std::vector<float> partials;
    for (uint32_t i = 0; i < rows * q_heads * kv_splits; ++i) {
        const auto sums = noise.numbers(head_stride);
        partials.insert(partials.end(), sums.begin(), sums.end());
        partials.push_back(3 * noise.number());
        partials.push_back(2 + noise.number());
    }
    const Activations output = run.put_unset(rows, width);
    attention_merge({run.library(), run.recorder()},
                    {.rows = {.infos = run.put(infos), .first = 0, .count = rows},
                     .q = run.put_unset(rows, width),
                     .output = output,
                     .cache = cache.device,
                     .tables = {run.put(cache.table)},
                     .q_heads = q_heads,
                     .scale = 1,
                     .attend_max = {.end = keys, .keys = keys},
                     .partials = run.put(partials)});
    // The first row's keys lie in one KV split: attention() has finished it.
    std::vector<Bounded> expected(width, {KernelRun::unset, 0});
    for (uint32_t head = 0; head < q_heads; ++head) {
        const auto first = std::size_t{q_heads + head} * kv_splits * partial_floats;
        const auto merged = merge(std::span(partials).subspan(first, kv_splits * partial_floats));
        expected.insert(expected.end(), merged.begin(), merged.end());
    }
    run.expect_rows(output, 0, expected);
}

std::vector<KernelUse> attention_uses(const PlanTarget& target) {
    constexpr AttentionShape usual{.q_heads = 32, .kv_heads = 8, .head_dim = 128}; // a cache in f16
    constexpr AttentionShape odd{.q_heads = 32, .kv_heads = 8, .head_dim = 18};    // of the general kernel
    std::vector<KernelUse> uses;
    const auto add = [&](const AttentionShape& heads, RowPath path) {
        uses.push_back({.operation = &attention_operation,
                        .variant = attention_variant(attention_plan(target, heads, path)),
                        .path = path});
    };
    add(usual, RowPath::prefill);
    add(usual, RowPath::decode);
    add(odd, RowPath::prefill);
    if (uses[2].variant == uses[0].variant || uses[2].variant == uses[1].variant)
        uses.pop_back();
    return uses;
}

} // namespace

const Operation attention_operation{
    .name = "attention",
    .uses = attention_uses,
    .make_problem = make_attention_problem,
    .make_tuned_problem = make_tuned_attention_problem,
};

const Operation attention_merge_operation{
    .name = "attention_merge",
    .uses = [](const PlanTarget&) { return one_use(attention_merge_operation, shaders::attention_merge()); },
    .make_problem = make_attention_merge_problem,
};

} // namespace etna::kernels
