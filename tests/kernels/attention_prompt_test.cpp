#include "core/kernels/operations/attention.hpp"
#include "core/kernels/policy.hpp"
#include "tests/kernels/cache_content.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/attention.hpp"
#include "tests/support/binary16.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

using namespace etna;
using namespace etna::test;

namespace {

using kernels::CacheFormat;
using kernels::CacheFormats;
using kernels::PlanFamily;

constexpr CacheFormats halves{CacheFormat::f16, CacheFormat::f16};
constexpr CacheFormats codes{CacheFormat::q8_0, CacheFormat::q8_0};

/// Largest error of the prompt kernel, relative to the root mean square of a row's output: 4.9e-3 in these
/// tests.
constexpr double rounded_error = 6e-3;
constexpr double exact_error = 2e-5; ///< of the general kernel, absolute

/// A row of a batch of prompts.
struct PromptRow {
    uint32_t sequence = 0;
    uint32_t position = 0;
    uint32_t begin = 0; ///< it attends to [begin, end)
    uint32_t end = 0;
};

struct PromptShape {
    uint32_t group = 1; ///< query heads of a kv head
    uint32_t kv_heads = 1;
    uint32_t head_dim = 64;
    CacheFormats formats = halves;
    uint32_t window = 0; ///< last positions that a row attends to; 0: all
    uint32_t block = 1;  ///< a row attends to the end of its block of positions; 1: causal
    float softcap = 0;
    bool sinks = false;
};

/// Sequences of noise in one cache, whose pages alternate, and the attention of some of their rows. All
/// positions that no sequence has are NaN.
class Prompts {
public:
    Prompts(PlanFamily family, const PromptShape& shape, std::vector<uint32_t> lengths)
        : device_(family), shape_(shape), lengths_(std::move(lengths)) {
        place_pages();
        keys_ = put_cache(shape.formats.keys, cache_.keys, 1);
        values_ = put_cache(shape.formats.values, cache_.values, 1);
        for (const uint32_t length : lengths_)
            q_.push_back(random_floats(random_, std::size_t{length} * width()));
        if (shape.sinks) {
            sinks_ = random_floats(random_, q_heads());
            for (std::size_t head = 0; head < sinks_.size(); ++head)
                sinks_[head] = head == 1 ? -INFINITY : head == 2 ? 40 : sinks_[head] * 4;
        }
    }

    [[nodiscard]] uint32_t q_heads() const { return shape_.group * shape_.kv_heads; }
    [[nodiscard]] uint32_t width() const { return q_heads() * shape_.head_dim; }
    [[nodiscard]] kernels::AttentionShape heads() const {
        return {.q_heads = q_heads(),
                .kv_heads = shape_.kv_heads,
                .head_dim = shape_.head_dim,
                .formats = shape_.formats};
    }
    [[nodiscard]] bool uses_matrices() {
        return attention_plan(device_.library().target(), heads(), kernels::RowPath::prefill).kernel ==
               kernels::AttentionKernel::prompt;
    }

    /// All rows, in the order of a batch.
    [[nodiscard]] std::vector<PromptRow> rows() const {
        std::vector<PromptRow> all;
        for (uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
            for (uint32_t position = 0; position < lengths_[sequence]; ++position) {
                const bool is_cut = shape_.window != 0 && position + 1 > shape_.window;
                all.push_back(
                    {.sequence = sequence,
                     .position = position,
                     .begin = is_cut ? position + 1 - shape_.window : 0,
                     .end = std::min((position / shape_.block + 1) * shape_.block, lengths_[sequence])});
            }
        }
        return all;
    }

    /// [rows][width]. The queries are multiplied by `factor`, and the scores divided.
    std::vector<float> attend(std::span<const PromptRow> rows, uint32_t sequences = 0, float factor = 1) {
        std::vector<float> q;
        std::vector<kernels::RowInfo> infos;
        kernels::AttendMax attend_max;
        for (const PromptRow& row : rows) {
            for (std::size_t i = 0; i < width(); ++i)
                q.push_back(q_[row.sequence][std::size_t{row.position} * width() + i] * factor);
            infos.push_back({.position = row.position,
                             .attend_begin = row.begin,
                             .attend_end = row.end,
                             .table = is_consecutive(row.sequence) ? 0 : tables_[row.sequence],
                             .first_page = is_consecutive(row.sequence) ? pages_[row.sequence].front()
                                                                        : kernels::RowInfo::no_page});
            attend_max.include(row.begin, row.end);
        }
        const auto count = static_cast<uint32_t>(rows.size());
        kernels::Attention operation{.rows = {.infos = device_.upload(infos), .count = count},
                                     .q = device_.upload_rows(q, count, width()),
                                     .output =
                                         device_.upload_rows(std::vector<float>(q.size()), count, width()),
                                     .cache = cache_,
                                     .tables = {device_.upload(table_words_)},
                                     .q_heads = q_heads(),
                                     .scale = scale() / factor,
                                     .softcap = shape_.softcap,
                                     .path = kernels::RowPath::prefill,
                                     .sequences = sequences,
                                     .attend_max = attend_max};
        if (shape_.sinks)
            operation.sinks = device_.upload(sinks_);
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            attention({library, recorder}, operation);
        });
        return device_.download_rows(operation.output);
    }

    /// The largest error of rows' results, relative to its bound.
    double error(std::span<const PromptRow> rows, std::span<const float> results) {
        double largest = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const PromptRow& row = rows[i];
            const std::vector<float>& q = q_[row.sequence];
            const auto first = q.begin() + static_cast<std::ptrdiff_t>(std::size_t{row.position} * width());
            const reference::Vector expected = reference::attention(
                {.heads = q_heads(),
                 .kv_heads = shape_.kv_heads,
                 .head_length = shape_.head_dim,
                 .scale = scale(),
                 .soft_cap = shape_.softcap},
                reference::Vector(first, first + width()), keys_[row.sequence], values_[row.sequence],
                {row.begin, row.end}, reference::Vector(sinks_.begin(), sinks_.end()));
            double squares = 0;
            for (const double one : expected)
                squares += one * one;
            const double bound = uses_matrices() ? rounded_error * std::sqrt(squares / width()) : exact_error;
            for (std::size_t d = 0; d < width(); ++d) {
                const double error = std::abs(results[i * width() + d] - expected[d]) / bound;
                largest = error <= largest ? largest : std::isnan(error) ? INFINITY : error;
            }
        }
        return largest;
    }

private:
    /// Scores of about 2.
    [[nodiscard]] float scale() const { return 6 / std::sqrt(static_cast<float>(shape_.head_dim)); }
    [[nodiscard]] static bool is_consecutive(uint32_t sequence) { return sequence % 3 == 2; }

    /// Consecutive pages for every third sequence; those of the others alternate.
    void place_pages() {
        pages_.resize(lengths_.size());
        table_words_ = {7, 7, 7};
        uint32_t next = 1;
        const uint32_t longest =
            (*std::max_element(lengths_.begin(), lengths_.end()) + kernels::page_tokens - 1) /
            kernels::page_tokens;
        for (uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
            for (uint32_t number = 0; is_consecutive(sequence) && number < longest; ++number)
                pages_[sequence].push_back(next++);
        }
        for (uint32_t number = 0; number < longest; ++number) {
            for (uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
                if (!is_consecutive(sequence))
                    pages_[sequence].push_back(next++);
            }
        }
        for (const std::vector<uint32_t>& pages : pages_) {
            tables_.push_back(static_cast<uint32_t>(table_words_.size()));
            table_words_.insert(table_words_.end(), pages.rbegin(), pages.rend());
        }
        for (uint32_t sequence = 0; sequence < lengths_.size(); ++sequence) {
            if (!is_consecutive(sequence))
                std::reverse(pages_[sequence].begin(), pages_[sequence].end());
        }
        cache_ = {.formats = shape_.formats,
                  .kv_heads = shape_.kv_heads,
                  .head_dim = shape_.head_dim,
                  .pages = next + 1};
    }

    /// Writes the positions of a head: noise of about `size`.
    void write(std::vector<std::byte>& bytes, CacheFormat format, std::size_t piece, uint32_t in_page,
               float size) {
        const std::size_t elements = shape_.head_dim;
        const std::vector<float> noise = random_floats(random_, elements);
        const auto put = [&](std::size_t at, auto number) {
            std::memcpy(bytes.data() + at, &number, sizeof number);
        };
        if (format == CacheFormat::f16) {
            for (std::size_t d = 0; d < elements; ++d)
                put(((piece * kernels::page_tokens + in_page) * elements + d) * 2, to_half(size * noise[d]));
            return;
        }
        const std::size_t scale_bytes = (elements + 63) / 64 * 4;
        const std::size_t first = piece * kernels::page_tokens * (elements + scale_bytes);
        for (std::size_t d = 0; d < elements; ++d)
            put(first + in_page * elements + d, static_cast<int8_t>(std::lround(noise[d] * 127)));
        for (std::size_t d = 0; d < elements; d += 32) {
            put(first + kernels::page_tokens * elements + in_page * scale_bytes + d / 32 * 2,
                to_half(size / 127 * (1 + noise[d] / 2)));
        }
    }

    /// Uploads keys or values; returns the numbers of each sequence, [positions][kv_heads][head_dim].
    std::vector<reference::Vector> put_cache(CacheFormat format, vk::Range& range, float size) {
        std::vector<std::byte> bytes(
            kernels::layer_cache_bytes(format, cache_.pages, shape_.kv_heads, shape_.head_dim),
            std::byte{0xFF});
        std::vector<reference::Vector> numbers(lengths_.size());
        for (std::size_t sequence = 0; sequence < lengths_.size(); ++sequence) {
            for (uint32_t position = 0; position < lengths_[sequence]; ++position) {
                const uint32_t page = pages_[sequence][position / kernels::page_tokens];
                for (uint32_t kv_head = 0; kv_head < shape_.kv_heads; ++kv_head) {
                    const uint32_t in_page = position % kernels::page_tokens;
                    write(bytes, format, std::size_t{page} * shape_.kv_heads + kv_head, in_page, size);
                    const CacheContent content = read_cache(bytes, {.format = format,
                                                                    .kv_heads = shape_.kv_heads,
                                                                    .head_dim = shape_.head_dim,
                                                                    .page = page,
                                                                    .kv_head = kv_head,
                                                                    .in_page = in_page});
                    numbers[sequence].insert(numbers[sequence].end(), content.values.begin(),
                                             content.values.end());
                }
            }
        }
        range = device_.upload(bytes);
        return numbers;
    }

    DeviceCase device_;
    PromptShape shape_;
    std::vector<uint32_t> lengths_;
    std::mt19937 random_{17};
    std::vector<std::vector<uint32_t>> pages_;
    std::vector<uint32_t> tables_; ///< first words of the sequences' tables
    std::vector<uint32_t> table_words_;
    kernels::LayerCache cache_;
    std::vector<reference::Vector> keys_, values_;
    std::vector<std::vector<float>> q_;
    std::vector<float> sinks_;
};

/// Those of GPUs differ in sizes that a CPU driver does not have.
constexpr PlanFamily gpu_family = PlanFamily::nvidia;

/// The features of wide heads are tested with narrow ones too, which CPU drivers compile in less time.
const std::vector<PromptShape> prompt_shapes{
    {.group = 4, .kv_heads = 2, .head_dim = 128},
    {.group = 1, .kv_heads = 2, .head_dim = 16, .window = 33},
    {.group = 8, .kv_heads = 1, .head_dim = 64, .formats = codes, .sinks = true},
    {.group = 7, .kv_heads = 1, .head_dim = 96, .formats = {CacheFormat::q8_0, CacheFormat::f16}},
    {.group = 2, .kv_heads = 1, .head_dim = 32, .window = 5, .softcap = 1.5F},
    {.group = 3,
     .kv_heads = 2,
     .head_dim = 32,
     .formats = {CacheFormat::f16, CacheFormat::q8_0},
     .window = 70},
    {.group = 16, .kv_heads = 1, .head_dim = 80, .formats = codes, .block = 19},
    {.group = 2, .kv_heads = 1, .head_dim = 256, .softcap = 2.0F, .sinks = true},
    {.group = 1, .kv_heads = 3, .head_dim = 48, .formats = codes, .window = 40, .block = 100},
    {.group = 5, .kv_heads = 1, .head_dim = 16, .window = 64, .block = 9, .sinks = true},
    {.group = 2, .kv_heads = 1, .head_dim = 160, .formats = codes},
};

/// Of sequences whose rows are neighbours in a batch.
const std::vector<std::vector<uint32_t>> prompt_lengths{
    {1}, {33, 31, 64}, {130}, {3, 1, 2, 1, 4, 1, 1, 5, 2, 3}, {97, 2, 1, 40}};

std::string describe(const PromptShape& shape) {
    return "heads of " + std::to_string(shape.head_dim) + ", group of " + std::to_string(shape.group) +
           ", window " + std::to_string(shape.window) + ", block " + std::to_string(shape.block);
}

} // namespace

TEST_CASE("attention of prompts agrees with the twin over heads, formats, windows and batches") {
    std::size_t kernel = 0;
    for (const PromptShape& shape : prompt_shapes) {
        for (const std::vector<uint32_t>& lengths : in_turn(prompt_lengths, kernel++)) {
            Prompts prompts(gpu_family, shape, lengths);
            const std::vector<PromptRow> rows = prompts.rows();
            INFO(describe(shape) << ", " << lengths.size() << " sequences");
            const double error = prompts.error(rows, prompts.attend(rows));
            CHECK(error <= 1);
        }
    }
}

TEST_CASE("a prompt's rows have the same bits alone, in company and in steps of any length") {
    for (const PromptShape& shape :
         {PromptShape{.group = 4, .kv_heads = 2, .head_dim = 64, .window = 50, .sinks = true},
          PromptShape{.group = 2, .kv_heads = 1, .head_dim = 128, .formats = codes, .block = 11},
          PromptShape{.group = 2, .kv_heads = 1, .head_dim = 256, .softcap = 3}}) {
        Prompts prompts(gpu_family, shape, {70, 1, 45, 20});
        const std::vector<PromptRow> rows = prompts.rows();
        const std::vector<float> together = prompts.attend(rows, 4);
        INFO(describe(shape));
        REQUIRE(prompts.attend(rows) == together);
        for (const std::size_t step : {1U, 7U, 29U}) {
            std::vector<float> in_steps;
            for (std::size_t first = 0; first < rows.size(); first += step) {
                const auto some = std::span(rows).subspan(first, std::min(step, rows.size() - first));
                const std::vector<float> results = prompts.attend(some);
                in_steps.insert(in_steps.end(), results.begin(), results.end());
            }
            REQUIRE(in_steps == together);
        }
    }
}

TEST_CASE("queries of any size neither overflow nor lose bits in attention of prompts") {
    Prompts prompts(gpu_family, {.group = 2, .kv_heads = 1, .head_dim = 64}, {40});
    const std::vector<PromptRow> rows = prompts.rows();
    const std::vector<float> usual = prompts.attend(rows);
    CHECK(prompts.error(rows, usual) <= 1);
    for (const float factor : {0x1p-40F, 0x1p40F})
        CHECK(prompts.attend(rows, 0, factor) == usual);
}
