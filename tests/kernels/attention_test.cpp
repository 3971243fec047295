#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/policy.hpp"
#include "tests/kernels/cache_content.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/attention.hpp"
#include "tests/reference/decode.hpp"
#include "tests/reference/rotary.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>

using namespace etna;
using namespace etna::test;

namespace {

struct Shape {
    uint32_t q_heads;
    uint32_t kv_heads;
    uint32_t head_dim;
    uint32_t rotated;
    kernels::RotaryPairs pairs;
    kernels::CacheFormats formats;
    bool norms = false;
    uint32_t window = 0; ///< last positions that a row attends to, its own included; 0: all
    float softcap = 0;
    uint32_t block = 1; ///< a row attends to the end of its block of positions; 1: causal
    bool sinks = false;
    float temperature_scale = 0;
    bool norms_values = false;
    float alibi = 0;
};

constexpr uint32_t temperature_tokens = 13;

std::string_view to_string(kernels::CacheFormat format) {
    switch (format) {
    case kernels::CacheFormat::f32:
        return "f32";
    case kernels::CacheFormat::f16:
        return "f16";
    case kernels::CacheFormat::q8_0:
        break;
    }
    return "q8_0";
}

std::string describe(kernels::PlanFamily family, const Shape& shape) {
    return std::string(to_string(family)) + " heads " + std::to_string(shape.q_heads) + "/" +
           std::to_string(shape.kv_heads) + " x " + std::to_string(shape.head_dim) + " rotated " +
           std::to_string(shape.rotated) +
           (shape.pairs == kernels::RotaryPairs::halves ? " packed" : " adjacent") + " " +
           std::string(to_string(shape.formats.keys)) + "/" + std::string(to_string(shape.formats.values)) +
           (shape.norms ? " norms" : "") + " window " + std::to_string(shape.window) + " softcap " +
           std::to_string(shape.softcap) + " block " + std::to_string(shape.block) +
           (shape.sinks ? " sinks" : "") + (shape.temperature_scale != 0 ? " temperature" : "") +
           (shape.norms_values ? " normalised values" : "") + (shape.alibi != 0 ? " ALiBi" : "");
}

constexpr float epsilon = 1e-5F;

/// Largest error of the prompt kernel, relative to the root mean square of a row's output.
constexpr double prompt_error = 5e-3;

/// A sequence whose rows rotary_store stores in chunks and whose attention runs afterwards, and the same
/// computed by the twins.
class PagedSequence {
public:
    PagedSequence(kernels::PlanFamily family, const Shape& shape, uint32_t tokens, bool scattered,
                  uint32_t seed)
        : device_(family), shape_(shape), tokens_(tokens), random_(seed) {
        const uint32_t used = (tokens + kernels::page_tokens - 1) / kernels::page_tokens;
        pages_ = used + 3;
        for (uint32_t i = 0; i < used; ++i)
            table_.push_back(i + 2);
        if (scattered)
            std::shuffle(table_.begin(), table_.end(), random_);
        first_page_ = scattered ? kernels::RowInfo::no_page : 2;
        // every position starts as NaN, so that reading one that was never written shows
        const auto nan = [&](kernels::CacheFormat format) {
            return std::vector<uint32_t>(
                kernels::layer_cache_bytes(format, pages_, shape.kv_heads, shape.head_dim) / 4, 0xFFFFFFFFU);
        };
        cache_ = {.formats = shape.formats,
                  .kv_heads = shape.kv_heads,
                  .head_dim = shape.head_dim,
                  .pages = pages_,
                  .keys = device_.upload(nan(shape.formats.keys)),
                  .values = device_.upload(nan(shape.formats.values))};
        std::vector<uint32_t> words{7, 7, 7}; // the table does not start at 0
        words.insert(words.end(), table_.begin(), table_.end());
        tables_ = device_.upload(words);
        q_ = random_floats(random_, std::size_t{tokens} * shape.q_heads * shape.head_dim);
        k_ = random_floats(random_, std::size_t{tokens} * shape.kv_heads * shape.head_dim);
        v_ = random_floats(random_, std::size_t{tokens} * shape.kv_heads * shape.head_dim);
        for (float& value : q_)
            value *= 3;
        q_norm_ = random_floats(random_, shape.head_dim);
        k_norm_ = random_floats(random_, shape.head_dim);
        if (shape.sinks)
            sinks_ = make_sinks();
        rotary_ = reference::make_rotary({.rotated = shape.rotated, .base = 100});
        prepare_twin();
    }

    /// Stores all rows in chunks, then compares q, and the attention of the last `rows` rows by `path`.
    void check(uint32_t chunk, uint32_t rows, kernels::RowPath path) {
        const uint32_t q_width = shape_.q_heads * shape_.head_dim;
        const uint32_t kv_width = shape_.kv_heads * shape_.head_dim;
        const auto q = device_.upload_rows(q_, tokens_, q_width);
        const auto k = device_.upload_rows(k_, tokens_, kv_width);
        const auto v = device_.upload_rows(v_, tokens_, kv_width);
        std::vector<kernels::RowInfo> infos;
        infos.reserve(tokens_);
        kernels::AttendMax attend_max;
        for (uint32_t token = 0; token < tokens_; ++token) {
            const reference::EntryRange range = entries_of(token);
            infos.push_back({.position = token,
                             .attend_begin = static_cast<uint32_t>(range.begin),
                             .attend_end = static_cast<uint32_t>(range.end),
                             .table = 3,
                             .first_page = first_page_});
            if (token >= tokens_ - rows)
                attend_max.include(infos.back().attend_begin, infos.back().attend_end);
        }
        const vk::Range info_range = device_.upload(infos);
        const vk::Range angles = upload_angles();
        for (uint32_t first = 0; first < tokens_; first += chunk) {
            const uint32_t count = std::min(chunk, tokens_ - first);
            kernels::RotaryStore operation{.rows = rows_of(info_range, first, count),
                                           .q = q,
                                           .k = k,
                                           .v = v,
                                           .angles = angles,
                                           .cache = cache_,
                                           .tables = {tables_},
                                           .q_heads = shape_.q_heads,
                                           .rotated = shape_.rotated,
                                           .pairs = shape_.pairs,
                                           .norms_values = shape_.norms_values,
                                           .epsilon = epsilon,
                                           .temperature_scale = shape_.temperature_scale,
                                           .temperature_tokens = temperature_tokens};
            if (shape_.norms) {
                operation.q_norm = device_.upload(q_norm_);
                operation.k_norm = device_.upload(k_norm_);
            }
            device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
                rotary_store({library, recorder}, operation);
            });
        }
        compare_q(device_.download_rows(q));
        compare_cache(cache_.keys, shape_.formats.keys, keys_, stored_keys_);
        compare_cache(cache_.values, shape_.formats.values, values_, stored_values_);
        const auto output =
            device_.upload_rows(std::vector<float>(std::size_t{tokens_} * q_width), tokens_, q_width);
        kernels::Attention operation{.rows = rows_of(info_range, tokens_ - rows, rows),
                                     .q = q,
                                     .output = output,
                                     .cache = cache_,
                                     .tables = {tables_},
                                     .q_heads = shape_.q_heads,
                                     .scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim)),
                                     .alibi = shape_.alibi,
                                     .softcap = shape_.softcap,
                                     .path = path,
                                     .attend_max = attend_max};
        if (shape_.sinks)
            operation.sinks = device_.upload(sinks_);
        const kernels::PlanTarget& target = device_.library().target();
        const uint64_t bytes =
            kernels::attention_partial_bytes(target, operation.shape(), rows, attend_max, path);
        if (bytes > 0)
            operation.partials = device_.upload(std::vector<uint32_t>(bytes / 4, 0xFFFFFFFFU));
        const std::vector<uint32_t> zeros(
            kernels::attention_counter_bytes(target, operation.shape(), rows, attend_max) / 4);
        if (!zeros.empty())
            operation.counters = device_.upload(zeros);
        run_attention(operation);
        compare_output(rows, uses_prompt_kernel(target, operation));
        if (zeros.empty())
            return;
        REQUIRE(device_.download<uint32_t>(operation.counters) == zeros);
        const std::vector<float> first = result_;
        run_attention(operation);
        REQUIRE(result_ == first);
        check_packed(operation);
    }

    /// Bits of the last row's result.
    [[nodiscard]] std::vector<float> last_row() const {
        return {result_.end() - static_cast<std::ptrdiff_t>(shape_.q_heads) * shape_.head_dim, result_.end()};
    }

private:
    /// The kernel writes the same packed form as pack() for its output.
    void check_packed(kernels::Attention operation) {
        const kernels::PlanTarget& target = device_.library().target();
        const uint32_t columns = operation.output.columns;
        if (operation.path != kernels::RowPath::decode || !kernels::reads_packed(target, columns) ||
            !kernels::attention_writes_packed(target, operation.shape()))
            return;
        const std::vector<float> first = result_;
        const std::vector<std::byte> zeros(tokens_ * kernels::packed_row_bytes(columns));
        operation.packed = true;
        operation.output.packed = device_.upload(zeros);
        run_attention(operation);
        REQUIRE(result_ == first);
        kernels::Activations repacked = operation.output;
        repacked.packed = device_.upload(zeros);
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            kernels::pack({library, recorder},
                          {.rows = repacked, .first = operation.rows.first, .count = operation.rows.count});
        });
        REQUIRE(device_.download_bytes(operation.output.packed) == device_.download_bytes(repacked.packed));
    }

    void run_attention(const kernels::Attention& operation) {
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            attention({library, recorder}, operation);
            if (attention_needs_merge(library.target(), operation)) {
                attention_merge({library, recorder}, operation);
            }
        });
        result_ = device_.download_rows(operation.output);
    }

    static kernels::Rows rows_of(vk::Range infos, uint32_t first, uint32_t count) {
        return {.infos = infos.part(first * sizeof(kernels::RowInfo), count * sizeof(kernels::RowInfo)),
                .first = first,
                .count = count};
    }

    /// Of a score's size; that of the second head takes nothing, that of the third almost everything.
    std::vector<float> make_sinks() {
        std::vector<float> sinks = random_floats(random_, shape_.q_heads);
        for (std::size_t head = 0; head < sinks.size(); ++head)
            sinks[head] = head == 1 ? -INFINITY : head == 2 ? 40 : sinks[head] * 8;
        return sinks;
    }

    [[nodiscard]] reference::EntryRange entries_of(uint32_t token) const {
        const uint32_t end = std::min((token / shape_.block + 1) * shape_.block, tokens_);
        return {shape_.window != 0 && token + 1 > shape_.window ? token + 1 - shape_.window : 0, end};
    }

    vk::Range upload_angles() {
        std::vector<float> angles;
        for (uint32_t token = 0; token < tokens_; ++token) {
            for (const double frequency : rotary_.inverse_frequencies) {
                angles.push_back(static_cast<float>(std::cos(token * frequency)));
                angles.push_back(static_cast<float>(std::sin(token * frequency)));
            }
        }
        if (angles.empty())
            angles.push_back(NAN); // nothing rotates, but a buffer is never empty
        return device_.upload(angles);
    }

    /// Norm and rotation of one row's heads, in-place.
    void turn(std::vector<double>& heads, uint32_t position, const std::vector<float>& norm) const {
        const auto pairing = shape_.pairs == kernels::RotaryPairs::halves ? reference::Pairing::half_split
                                                                          : reference::Pairing::adjacent;
        for (std::size_t at = 0; shape_.norms && at < heads.size(); at += shape_.head_dim) {
            const auto normed = reference::rms_norm(std::span(heads).subspan(at, shape_.head_dim),
                                                    std::vector<double>(norm.begin(), norm.end()), epsilon);
            std::copy(normed.begin(), normed.end(), heads.begin() + static_cast<std::ptrdiff_t>(at));
        }
        reference::rotate_heads(heads, shape_.head_dim, position, pairing, rotary_);
    }

    /// Each head divided by its root mean square.
    [[nodiscard]] std::vector<double> normalised_heads(const std::vector<double>& heads) const {
        const std::vector<double> ones(shape_.head_dim, 1.0);
        std::vector<double> result;
        for (std::size_t start = 0; start < heads.size(); start += shape_.head_dim) {
            const auto one =
                reference::rms_norm(std::span(heads).subspan(start, shape_.head_dim), ones, epsilon);
            result.insert(result.end(), one.begin(), one.end());
        }
        return result;
    }

    void prepare_twin() {
        const auto row = [](const std::vector<float>& all, uint32_t token, std::size_t width) {
            return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(token * width),
                                       all.begin() + static_cast<std::ptrdiff_t>((token + 1) * width));
        };
        const std::size_t kv_width = std::size_t{shape_.kv_heads} * shape_.head_dim;
        for (uint32_t token = 0; token < tokens_; ++token) {
            std::vector<double> query = row(q_, token, std::size_t{shape_.q_heads} * shape_.head_dim);
            std::vector<double> key = row(k_, token, kv_width);
            std::vector<double> value = row(v_, token, kv_width);
            if (shape_.norms_values)
                value = normalised_heads(value);
            turn(query, token, q_norm_);
            turn(key, token, k_norm_);
            for (double& one : query)
                one *= 1 + shape_.temperature_scale * std::log(1.0 + token / temperature_tokens);
            queries_.insert(queries_.end(), query.begin(), query.end());
            keys_.insert(keys_.end(), key.begin(), key.end());
            values_.insert(values_.end(), value.begin(), value.end());
        }
    }

    void compare_q(const std::vector<float>& q) {
        for (std::size_t i = 0; i < q.size(); ++i) {
            if (!(std::abs(q[i] - queries_[i]) <= 1e-5)) {
                FAIL(describe(device_.library().target().family, shape_)
                     << ": q[" << i << "] = " << q[i] << ", expected " << queries_[i]);
            }
        }
    }

    /// Elements are stored as exactly as their format allows, with zeros after each head. `stored` becomes
    /// the content on the device: attention is compared for it, so that its tolerance need not hide a
    /// rounding.
    void compare_cache(vk::Range range, kernels::CacheFormat format, const std::vector<double>& exact,
                       std::vector<double>& stored) {
        const auto bytes = device_.download_bytes(range);
        stored.clear();
        for (uint32_t token = 0; token < tokens_; ++token) {
            for (uint32_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
                const CacheContent content = read_cache(bytes, {.format = format,
                                                                .kv_heads = shape_.kv_heads,
                                                                .head_dim = shape_.head_dim,
                                                                .page = table_[token / kernels::page_tokens],
                                                                .kv_head = kv_head,
                                                                .in_page = token % kernels::page_tokens});
                const auto head = std::span(exact).subspan(
                    (std::size_t{token} * shape_.kv_heads + kv_head) * shape_.head_dim, shape_.head_dim);
                compare_head(content, head, format, token);
                stored.insert(stored.end(), content.values.begin(), content.values.begin() + shape_.head_dim);
            }
        }
    }

    /// 1e-5: error of a rotation in float.
    void compare_head(const CacheContent& content, std::span<const double> exact, kernels::CacheFormat format,
                      uint32_t token) {
        for (std::size_t d = 0; d < content.values.size(); ++d) {
            double expected = 0;
            double tolerance = 0;
            if (d < exact.size()) {
                expected = exact[d];
                tolerance = 1e-5;
                if (format == kernels::CacheFormat::f16)
                    tolerance += std::abs(expected) * 0x1p-11 + 0x1p-25;
                if (format == kernels::CacheFormat::q8_0) {
                    const double scale = scale_of_block(exact, d);
                    REQUIRE(std::abs(content.scales[d] - scale) <= scale * 0x1p-11 + 1e-6);
                    tolerance += content.scales[d] * 0.5; // a code is the nearest for the stored scale
                }
            }
            if (!(std::abs(content.values[d] - expected) <= tolerance)) {
                FAIL(describe(device_.library().target().family, shape_)
                     << ": cache of token " << token << ", element " << d << " = " << content.values[d]
                     << ", expected " << expected << " +- " << tolerance);
            }
        }
    }

    static double scale_of_block(std::span<const double> head, std::size_t element) {
        double largest = 0;
        for (std::size_t d = element / 32 * 32; d < std::min(element / 32 * 32 + 32, head.size()); ++d)
            largest = std::max(largest, std::abs(head[d]));
        return largest / 127;
    }

    static bool uses_prompt_kernel(const kernels::PlanTarget& target, const kernels::Attention& operation) {
        return kernels::attention_plan(target, operation.shape(), operation.path).kernel ==
               kernels::AttentionKernel::prompt;
    }

    /// `is_rounded`: by the prompt kernel, whose factors are f16.
    void compare_output(uint32_t rows, bool is_rounded) {
        const std::size_t width = std::size_t{shape_.q_heads} * shape_.head_dim;
        for (uint32_t token = 0; token < tokens_; ++token) {
            reference::Vector expected(width, 0.0);
            if (token >= tokens_ - rows) {
                expected = reference::attention({.heads = shape_.q_heads,
                                                 .kv_heads = shape_.kv_heads,
                                                 .head_length = shape_.head_dim,
                                                 .soft_cap = shape_.softcap,
                                                 .alibi = shape_.alibi,
                                                 .position = token},
                                                std::span(queries_).subspan(token * width, width),
                                                stored_keys_, stored_values_, entries_of(token),
                                                std::vector<double>(sinks_.begin(), sinks_.end()));
            }
            const double tolerance = is_rounded ? prompt_error * rms_of(expected) : 2e-5;
            for (std::size_t i = 0; i < width; ++i) {
                if (!(std::abs(result_[token * width + i] - expected[i]) <= tolerance)) {
                    FAIL(describe(device_.library().target().family, shape_)
                         << ", " << tokens_ << " tokens: y[" << token << "][" << i
                         << "] = " << result_[token * width + i] << ", expected " << expected[i] << " +- "
                         << tolerance);
                }
            }
        }
    }

    static double rms_of(const reference::Vector& numbers) {
        double sum = 0;
        for (const double number : numbers)
            sum += number * number;
        return std::sqrt(sum / static_cast<double>(numbers.size()));
    }

    DeviceCase device_;
    Shape shape_;
    uint32_t tokens_;
    std::mt19937 random_;
    uint32_t pages_ = 0;
    uint32_t first_page_ = 0;
    std::vector<uint32_t> table_;
    kernels::LayerCache cache_;
    vk::Range tables_;
    std::vector<float> q_, k_, v_, q_norm_, k_norm_, sinks_, result_;
    std::vector<double> queries_, keys_, values_;
    std::vector<double> stored_keys_, stored_values_; ///< as stored on the device
    reference::Rotary rotary_;
};

using kernels::CacheFormat;
using kernels::RotaryPairs;

constexpr kernels::CacheFormats f32{CacheFormat::f32, CacheFormat::f32};
constexpr kernels::CacheFormats f16{CacheFormat::f16, CacheFormat::f16};
constexpr kernels::CacheFormats q8_0{CacheFormat::q8_0, CacheFormat::q8_0};
constexpr kernels::CacheFormats q8_0_f16{CacheFormat::q8_0, CacheFormat::f16};
constexpr kernels::CacheFormats f32_q8_0{CacheFormat::f32, CacheFormat::q8_0};

const std::vector<Shape> shapes{
    {4, 2, 16, 16, RotaryPairs::adjacent, f32},
    {4, 2, 16, 16, RotaryPairs::halves, f16, true},
    {3, 3, 10, 6, RotaryPairs::halves, f16},
    {6, 1, 34, 34, RotaryPairs::adjacent, f32, true},
    {8, 2, 64, 32, RotaryPairs::adjacent, f16, false, 33},
    {7, 1, 128, 128, RotaryPairs::halves, f16, false, 5},
    {2, 1, 512, 512, RotaryPairs::halves, f32, true},
    {6, 2, 18, 18, RotaryPairs::halves, f32, true, 40, 0.5F},
    {4, 2, 64, 64, RotaryPairs::halves, q8_0},
    {3, 1, 10, 10, RotaryPairs::adjacent, q8_0, true},
    {6, 2, 80, 40, RotaryPairs::halves, q8_0, false, 33},
    {2, 1, 512, 512, RotaryPairs::halves, q8_0_f16, true},
    {4, 4, 104, 104, RotaryPairs::adjacent, f32_q8_0},
    {4, 2, 16, 16, RotaryPairs::halves, f16, false, 0, 0, 100},
    {2, 2, 12, 12, RotaryPairs::adjacent, q8_0, false, 20, 0, 19},
    {8, 1, 64, 64, RotaryPairs::halves, f16, false, 33, 0, 1, true},
    {6, 2, 18, 18, RotaryPairs::adjacent, f32, true, 0, 0.5F, 1, true},
    {3, 3, 10, 6, RotaryPairs::halves, q8_0, false, 5, 0, 7, true},
    {4, 2, 16, 0, RotaryPairs::halves, f16},
    {6, 2, 10, 10, RotaryPairs::adjacent, f32, false, 0, 0, 1, false, 0.3F},
    {4, 2, 18, 18, RotaryPairs::halves, f32, true, 0, 0, 1, false, 0, true},
    {2, 1, 512, 512, RotaryPairs::halves, f16, true, 33, 0, 1, false, 0, true},
};

} // namespace

TEST_CASE("rotary_store and attention agree with the twins over shapes, lengths, chunks and both paths") {
    const std::array lengths{1U, 31U, 33U, 100U};
    uint32_t seed = 1;
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        for (const Shape& shape : shapes) {
            for (const uint32_t tokens : in_turn(lengths, kernel++)) {
                PagedSequence sequence(family, shape, tokens, seed % 2 == 0, seed);
                sequence.check(29, tokens, kernels::RowPath::prefill);
                sequence.check(tokens, std::min(tokens, 3U), kernels::RowPath::decode);
                ++seed;
            }
        }
    }
}

TEST_CASE("decode rows of common shapes agree with the twins over groups, head sizes and lengths") {
    const std::vector<Shape> common{
        {4, 1, 128, 128, RotaryPairs::halves, f16},
        {8, 1, 128, 64, RotaryPairs::halves, f16, true, 70},
        {6, 3, 128, 128, RotaryPairs::adjacent, f16, false, 0, 0, 1, true},
        {3, 3, 64, 64, RotaryPairs::halves, f16, false, 100, 2.0F},
        {8, 2, 64, 64, RotaryPairs::halves, f16, false, 128, 0, 1, true},
        {7, 1, 64, 64, RotaryPairs::halves, f16},
        {2, 1, 256, 256, RotaryPairs::halves, f16, true, 0, 3.0F},
        {3, 1, 256, 256, RotaryPairs::halves, f16, false, 65, 0, 1, true},
        {4, 2, 64, 64, RotaryPairs::halves, f16, false, 0, 0, 100},
    };
    const std::array lengths{1U, 32U, 63U, 64U, 65U, 129U, 200U, 333U};
    uint32_t seed = 200;
    std::size_t kernel = 0;
    for (const auto family : all_families()) {
        for (const Shape& shape : common) {
            for (const uint32_t tokens : in_turn(lengths, kernel++)) {
                PagedSequence sequence(family, shape, tokens, seed % 2 == 0, seed);
                sequence.check(tokens, std::min(tokens, 5U), kernels::RowPath::decode);
                ++seed;
            }
        }
    }
}

TEST_CASE("KV splits of the decode kernel grow with a row's keys, aligned or not") {
    const Shape plain{2, 1, 64, 64, RotaryPairs::halves, f16};
    const Shape window{2, 2, 64, 64, RotaryPairs::halves, f16, false, 4200, 0, 1, true};
    for (const uint32_t tokens : {4098U, 8200U}) {
        PagedSequence sequence(kernels::PlanFamily::nvidia, plain, tokens, true, tokens);
        sequence.check(tokens, 4, kernels::RowPath::decode); // of two split lengths in a step
    }
    for (const uint32_t tokens : {4198U, 4280U, 5000U}) {
        PagedSequence sequence(kernels::PlanFamily::nvidia, window, tokens, true, tokens);
        sequence.check(tokens, 3, kernels::RowPath::decode);
    }
}

TEST_CASE("decode rows whose keys span several KV splits are merged") {
    for (const auto family : all_families()) {
        PagedSequence plain(family, {4, 2, 8, 8, RotaryPairs::adjacent, f32}, 2100, true, 50);
        plain.check(700, 3, kernels::RowPath::decode);
        PagedSequence window(family, {2, 1, 8, 8, RotaryPairs::halves, f16, false, 600}, 1100, false, 51);
        window.check(1100, 2, kernels::RowPath::decode);
        PagedSequence capped(family, {2, 2, 6, 6, RotaryPairs::halves, f32, false, 0, 1.0F}, 700, true, 52);
        capped.check(700, 2, kernels::RowPath::decode);
        PagedSequence ahead(family, {2, 1, 8, 8, RotaryPairs::halves, f16, false, 600, 0, 70}, 1100, true,
                            53);
        ahead.check(1100, 60, kernels::RowPath::decode);
    }
}

TEST_CASE("ALiBi lowers scores by the distance, before and after a row") {
    for (const auto family : all_families()) {
        for (const uint32_t heads : {1U, 4U, 6U}) {
            const Shape shape{heads, 1, 64,    64, RotaryPairs::halves, f16, false, 0, 0, 50,
                              false, 0, false, 8};
            PagedSequence sequence(family, shape, 120, true, heads);
            sequence.check(120, 70, kernels::RowPath::prefill);
            sequence.check(120, 3, kernels::RowPath::decode);
        }
    }
}

TEST_CASE("a row's sinks count once, in however many KV splits its keys lie") {
    for (const auto family : all_families()) {
        PagedSequence plain(family, {4, 2, 8, 8, RotaryPairs::adjacent, f32, false, 0, 0, 1, true}, 2100,
                            true, 54);
        PagedSequence window(family, {4, 1, 8, 8, RotaryPairs::halves, f16, false, 600, 0, 1, true}, 1100,
                             false, 55);
        for (const auto path : {kernels::RowPath::decode, kernels::RowPath::prefill}) {
            plain.check(700, 3, path);
            window.check(1100, 2, path);
        }
    }
}

TEST_CASE("a row's attention has the same bits alone and in a batch, in scattered and consecutive pages") {
    for (const auto family : all_families()) {
        for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
            for (const bool sinks : {false, true}) {
                for (const uint32_t head_dim : {16U, 64U}) {
                    const Shape shape{4, 2, head_dim, 16, RotaryPairs::adjacent, f16, false, 0, 0, 1, sinks};
                    PagedSequence sequence(family, shape, 1050, false, 60);
                    sequence.check(1050, 1, path);
                    const auto alone = sequence.last_row();
                    sequence.check(64, 40, path);
                    REQUIRE(sequence.last_row() == alone);
                }
            }
        }
    }
}

TEST_CASE("attention refuses fewer sinks than query heads") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [](std::size_t count) { return std::vector<float>(count); };
    const uint64_t cache_words = kernels::layer_cache_bytes(CacheFormat::f32, 1, 2, 8) / 4;
    kernels::Attention operation{
        .rows = {.infos = device.upload(std::vector<kernels::RowInfo>(1)), .first = 0, .count = 1},
        .q = device.upload_rows(zeros(32), 1, 32),
        .output = device.upload_rows(zeros(32), 1, 32),
        .cache = {.formats = f32,
                  .kv_heads = 2,
                  .head_dim = 8,
                  .pages = 1,
                  .keys = device.upload(zeros(cache_words)),
                  .values = device.upload(zeros(cache_words))},
        .tables = {device.upload(zeros(1))},
        .q_heads = 4,
        .scale = 1,
        .attend_max = {.end = 1, .keys = 1},
        .sinks = device.upload(zeros(4))};
    const auto refused = [&] {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        attention({device.library(), *recorder}, operation);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    REQUIRE_FALSE(refused());
    operation.sinks->bytes -= 4;
    REQUIRE(refused());
}

TEST_CASE("attention over many keys is complete on drivers that limit the iterations of loops") {
    struct Case {
        Shape shape;
        uint32_t tokens;
    };
    // Many tiles, and many iterations in each.
    const std::array cases{Case{{2, 1, 16, 16, RotaryPairs::adjacent, f32}, 33000},
                           Case{{8, 1, 256, 0, RotaryPairs::adjacent, f16}, 4200}};
    for (const Case& one : cases) {
        PagedSequence sequence(kernels::PlanFamily::lavapipe, one.shape, one.tokens, true, 91);
        for (const kernels::RowPath path : {kernels::RowPath::prefill, kernels::RowPath::decode})
            sequence.check(4096, 2, path);
    }
}

TEST_CASE("attention refuses decode rows with too little scratch memory or too few counters") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [](std::size_t count) { return std::vector<float>(count); };
    constexpr uint32_t tokens = 3 * kernels::decode_tile_tokens;
    constexpr kernels::AttentionShape heads{.q_heads = 4, .kv_heads = 1, .head_dim = 64};
    const kernels::AttendMax attend_max{.end = tokens, .keys = tokens};
    const kernels::PlanTarget& target = device.library().target();
    const auto floats_of = [](uint64_t bytes) { return bytes / sizeof(float); };
    const uint32_t pages = tokens / kernels::page_tokens;
    const auto cache =
        zeros(floats_of(kernels::layer_cache_bytes(CacheFormat::f16, pages, 1, heads.head_dim)));
    kernels::Attention operation{
        .rows = {.infos = device.upload(std::vector<kernels::RowInfo>(1)), .first = 0, .count = 1},
        .q = device.upload_rows(zeros(256), 1, 256),
        .output = device.upload_rows(zeros(256), 1, 256),
        .cache = {.kv_heads = 1,
                  .head_dim = heads.head_dim,
                  .pages = pages,
                  .keys = device.upload(cache),
                  .values = device.upload(cache)},
        .tables = {device.upload(zeros(pages))},
        .q_heads = heads.q_heads,
        .scale = 1,
        .attend_max = attend_max,
        .partials =
            device.upload(zeros(floats_of(kernels::attention_partial_bytes(target, heads, 1, attend_max)))),
        .counters =
            device.upload(zeros(floats_of(kernels::attention_counter_bytes(target, heads, 1, attend_max))))};
    const auto refused = [&](const kernels::Attention& one) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        attention({device.library(), *recorder}, one);
        return !recorder->finish().has_value();
    };
    REQUIRE_FALSE(refused(operation));
    kernels::Attention little = operation;
    little.partials.bytes -= 4;
    REQUIRE(refused(little));
    operation.counters.bytes -= 4;
    REQUIRE(refused(operation));
}
