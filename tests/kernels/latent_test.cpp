#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/heads_product.hpp"
#include "core/kernels/operations/latent_store.hpp"
#include "tests/kernels/cache_content.hpp"
#include "tests/kernels/expert_case.hpp"
#include "tests/reference/attention.hpp"
#include "tests/reference/rotary.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>
#include <cmath>

using namespace etna;
using namespace etna::test;
using kernels::CacheFormat;
using kernels::RotaryPairs;

namespace {

struct LatentShape {
    uint32_t q_heads;
    uint32_t unrotated;
    uint32_t latent_dim;
    uint32_t rotated;
    CacheFormat format;
    RotaryPairs pairs = RotaryPairs::adjacent;

    [[nodiscard]] uint32_t key_dim() const { return latent_dim + rotated; }
    [[nodiscard]] uint32_t query_dim() const { return unrotated + rotated; }
};

constexpr float latent_epsilon = 1e-5F;

std::string describe(kernels::PlanFamily family, const LatentShape& shape) {
    return std::string(to_string(family)) + " " + std::to_string(shape.q_heads) + " heads of " +
           std::to_string(shape.unrotated) + " + " + std::to_string(shape.rotated) + ", latent " +
           std::to_string(shape.latent_dim) + ", cache format " +
           std::to_string(static_cast<uint32_t>(shape.format)) +
           (shape.pairs == RotaryPairs::halves ? ", packed" : "");
}

/// A sequence whose rows latent_store stores in chunks and whose attention runs afterwards, and the same
/// computed by the twins.
class LatentSequence {
public:
    LatentSequence(kernels::PlanFamily family, const LatentShape& shape, uint32_t tokens, uint32_t seed)
        : device_(family), shape_(shape), tokens_(tokens), random_(seed) {
        const uint32_t used = (tokens + kernels::page_tokens - 1) / kernels::page_tokens;
        for (uint32_t i = 0; i < used; ++i)
            table_.push_back(used - i);
        const uint64_t bytes = kernels::layer_cache_bytes(shape.format, used + 1, 1, shape.key_dim());
        // every position starts as NaN, so that reading one that was never written shows
        const std::vector<uint32_t> nan(bytes / 4, 0xFFFFFFFFU);
        cache_ = {.formats = {shape.format, CacheFormat::f32}, // of values: not read
                  .kv_heads = 1,
                  .head_dim = shape.key_dim(),
                  .pages = used + 1,
                  .keys = device_.upload(nan),
                  .latent_dim = shape.latent_dim};
        tables_ = device_.upload(table_);
        rotary_ = reference::make_rotary({.rotated = shape.rotated, .base = 100});
        q_ = random_floats(random_, std::size_t{tokens} * shape.q_heads * shape.query_dim());
        kv_ = random_floats(random_, std::size_t{tokens} * shape.key_dim());
        norm_ = random_floats(random_, shape.latent_dim);
        absorbed_ = random_floats(random_, std::size_t{tokens} * shape.q_heads * shape.key_dim());
        prepare_twin();
    }

    /// Stores all rows in chunks, then compares queries and keys, and the attention of the last `rows` rows.
    void check(uint32_t chunk, uint32_t rows, kernels::RowPath path) {
        const uint32_t width = shape_.q_heads * shape_.key_dim();
        const auto q = device_.upload_rows(q_, tokens_, shape_.q_heads * shape_.query_dim());
        const auto kv = device_.upload_rows(kv_, tokens_, shape_.key_dim());
        const auto queries = device_.upload_rows(absorbed_, tokens_, width);
        const vk::Range norm = device_.upload(norm_);
        const vk::Range infos = upload_infos();
        const vk::Range angles = upload_angles();
        for (uint32_t first = 0; first < tokens_; first += chunk) {
            const uint32_t count = std::min(chunk, tokens_ - first);
            device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
                kernels::latent_store({library, recorder}, {.rows = rows_of(infos, first, count),
                                                            .q = q,
                                                            .output = queries,
                                                            .kv = kv,
                                                            .norm = norm,
                                                            .angles = angles,
                                                            .cache = cache_,
                                                            .tables = {tables_},
                                                            .q_heads = shape_.q_heads,
                                                            .unrotated = shape_.unrotated,
                                                            .rotated = shape_.rotated,
                                                            .pairs = shape_.pairs,
                                                            .epsilon = latent_epsilon});
            });
        }
        compare("query", device_.download_rows(queries), queries_, 1e-5);
        compare_keys();
        attend(queries, infos, rows, path);
    }

    /// Bits of the last row's result.
    [[nodiscard]] std::vector<float> last_row() const {
        return {result_.end() - static_cast<std::ptrdiff_t>(shape_.q_heads) * shape_.latent_dim,
                result_.end()};
    }

private:
    void attend(const kernels::Activations& queries, vk::Range infos, uint32_t rows, kernels::RowPath path) {
        const uint32_t width = shape_.q_heads * shape_.latent_dim;
        kernels::Attention operation{
            .rows = rows_of(infos, tokens_ - rows, rows),
            .q = queries,
            .output = device_.upload_rows(std::vector<float>(std::size_t{tokens_} * width), tokens_, width),
            .cache = cache_,
            .tables = {tables_},
            .q_heads = shape_.q_heads,
            .scale = 1 / std::sqrt(static_cast<float>(shape_.key_dim())),
            .path = path,
            .attend_max = {.end = tokens_, .keys = tokens_}};
        const kernels::PlanTarget& target = device_.library().target();
        const uint64_t bytes =
            kernels::attention_partial_bytes(target, operation.shape(), rows, operation.attend_max);
        if (bytes > 0)
            operation.partials = device_.upload(std::vector<uint32_t>(bytes / 4, 0xFFFFFFFFU));
        const std::vector<uint32_t> zeros(
            kernels::attention_counter_bytes(target, operation.shape(), rows, operation.attend_max) / 4);
        if (!zeros.empty())
            operation.counters = device_.upload(zeros);
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            attention({library, recorder}, operation);
            if (attention_needs_merge(library.target(), operation)) {
                attention_merge({library, recorder}, operation);
            }
        });
        if (!zeros.empty())
            REQUIRE(device_.download<uint32_t>(operation.counters) == zeros);
        result_ = device_.download_rows(operation.output);
        compare_output(rows);
    }

    static kernels::Rows rows_of(vk::Range infos, uint32_t first, uint32_t count) {
        return {.infos = infos.part(first * sizeof(kernels::RowInfo), count * sizeof(kernels::RowInfo)),
                .first = first,
                .count = count};
    }

    vk::Range upload_infos() {
        std::vector<kernels::RowInfo> infos;
        infos.reserve(tokens_);
        for (uint32_t token = 0; token < tokens_; ++token)
            infos.push_back({.position = token, .attend_end = token + 1});
        return device_.upload(infos);
    }

    vk::Range upload_angles() {
        std::vector<float> angles;
        for (uint32_t token = 0; token < tokens_; ++token) {
            for (const double frequency : rotary_.inverse_frequencies) {
                angles.push_back(static_cast<float>(std::cos(token * frequency)));
                angles.push_back(static_cast<float>(std::sin(token * frequency)));
            }
        }
        return device_.upload(angles);
    }

    void turn(std::span<double> part, uint32_t position) const {
        reference::rotate(part, position,
                          shape_.pairs == RotaryPairs::halves ? reference::Pairing::half_split
                                                              : reference::Pairing::adjacent,
                          rotary_);
    }

    /// The rotated part replaces that of the absorbed queries; keys are norm(latent) || rotated part.
    void prepare_twin() {
        const std::vector<double> norm(norm_.begin(), norm_.end());
        queries_.assign(absorbed_.begin(), absorbed_.end());
        for (uint32_t token = 0; token < tokens_; ++token) {
            for (uint32_t head = 0; head < shape_.q_heads; ++head) {
                const std::size_t index = std::size_t{token} * shape_.q_heads + head;
                const float* from = q_.data() + index * shape_.query_dim() + shape_.unrotated;
                const auto to =
                    std::span(queries_).subspan(index * shape_.key_dim() + shape_.latent_dim, shape_.rotated);
                std::copy_n(from, shape_.rotated, to.begin());
                turn(to, token);
            }
            const float* kv = kv_.data() + std::size_t{token} * shape_.key_dim();
            std::vector<double> key =
                reference::rms_norm(std::vector<double>(kv, kv + shape_.latent_dim), norm, latent_epsilon);
            key.insert(key.end(), kv + shape_.latent_dim, kv + shape_.key_dim());
            turn(std::span(key).subspan(shape_.latent_dim), token);
            keys_.insert(keys_.end(), key.begin(), key.end());
        }
    }

    void compare(std::string_view what, const std::vector<float>& found, const std::vector<double>& expected,
                 double tolerance) {
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!(std::abs(found[i] - expected[i]) <= tolerance)) {
                FAIL(describe(device_.library().target().family, shape_)
                     << ", " << tokens_ << " tokens: " << what << "[" << i << "] = " << found[i]
                     << ", expected " << expected[i]);
            }
        }
    }

    /// Keys are stored as exactly as their format allows. The content on the device becomes that of the twin:
    /// attention is compared for it, so that its tolerance need not hide a rounding.
    void compare_keys() {
        const auto bytes = device_.download_bytes(cache_.keys);
        stored_keys_.clear();
        stored_values_.clear();
        for (uint32_t token = 0; token < tokens_; ++token) {
            const CacheContent content = read_cache(bytes, {.format = shape_.format,
                                                            .kv_heads = 1,
                                                            .head_dim = shape_.key_dim(),
                                                            .page = table_[token / kernels::page_tokens],
                                                            .kv_head = 0,
                                                            .in_page = token % kernels::page_tokens});
            for (uint32_t d = 0; d < content.values.size(); ++d) {
                const bool is_padding = d >= shape_.key_dim();
                const double exact = is_padding ? 0 : keys_[std::size_t{token} * shape_.key_dim() + d];
                double tolerance = is_padding ? 0 : 1e-5;
                if (shape_.format == CacheFormat::f16)
                    tolerance += std::abs(exact) * 0x1p-11;
                if (shape_.format == CacheFormat::q8_0 && !is_padding)
                    tolerance += content.scales[d] * 0.5;
                if (!(std::abs(content.values[d] - exact) <= tolerance)) {
                    FAIL(describe(device_.library().target().family, shape_)
                         << ": key of token " << token << ", element " << d << " = " << content.values[d]
                         << ", expected " << exact);
                }
            }
            const auto begin = content.values.begin();
            stored_keys_.insert(stored_keys_.end(), begin, begin + shape_.key_dim());
            stored_values_.insert(stored_values_.end(), begin, begin + shape_.latent_dim);
        }
    }

    void compare_output(uint32_t rows) {
        const std::size_t query_width = std::size_t{shape_.q_heads} * shape_.key_dim();
        std::vector<double> expected(result_.size(), 0.0);
        const std::size_t width = std::size_t{shape_.q_heads} * shape_.latent_dim;
        for (std::size_t token = tokens_ - rows; token < tokens_; ++token) {
            const reference::Vector row =
                reference::attention({.heads = shape_.q_heads,
                                      .kv_heads = 1,
                                      .head_length = shape_.key_dim(),
                                      .value_length = shape_.latent_dim},
                                     std::span(queries_).subspan(token * query_width, query_width),
                                     stored_keys_, stored_values_, {0, token + 1});
            std::copy(row.begin(), row.end(), expected.begin() + static_cast<std::ptrdiff_t>(token * width));
        }
        compare("y", result_, expected, 2e-5);
    }

    DeviceCase device_;
    LatentShape shape_;
    uint32_t tokens_;
    std::mt19937 random_;
    std::vector<uint32_t> table_;
    kernels::LayerCache cache_;
    vk::Range tables_;
    std::vector<float> q_, kv_, norm_, absorbed_, result_;
    std::vector<double> queries_, keys_;
    std::vector<double> stored_keys_, stored_values_; ///< as stored on the device
    reference::Rotary rotary_;
};

const std::vector<LatentShape> latent_shapes{
    {3, 6, 18, 4, CacheFormat::f32},      {4, 32, 34, 14, CacheFormat::f16, RotaryPairs::halves},
    {8, 16, 40, 24, CacheFormat::q8_0},   {6, 192, 512, 64, CacheFormat::f16},
    {16, 128, 512, 64, CacheFormat::f16}, {5, 10, 512, 64, CacheFormat::q8_0},
    {10, 128, 256, 32, CacheFormat::f32},
};

} // namespace

TEST_CASE("latent attention agrees with the twin over shapes, lengths, families and paths") {
    uint32_t seed = 1;
    std::size_t combination = 0;
    for (const auto family : all_families()) {
        for (const LatentShape& shape : latent_shapes) {
            for (const uint32_t tokens : in_turn(std::array{1U, 33U, 130U, 300U}, combination++)) {
                for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
                    LatentSequence sequence(family, shape, tokens, seed++);
                    sequence.check(47, std::min(tokens, 5U), path);
                }
            }
        }
    }
}

TEST_CASE("a row of latent attention has the same bits alone and in company") {
    for (const auto family : all_families()) {
        const auto shape = latent_shapes[3];
        LatentSequence sequence(family, shape, 1100, 7);
        for (const auto path : {kernels::RowPath::prefill, kernels::RowPath::decode}) {
            sequence.check(1100, 1, path);
            const auto alone = sequence.last_row();
            sequence.check(550, 3, path);
            REQUIRE(sequence.last_row() == alone);
        }
    }
}

TEST_CASE("partials over a latent of 128 heads take less memory than its keys") {
    const kernels::PlanTarget target{.family = kernels::PlanFamily::nvidia,
                                     .profile = gpu().device.profile()};
    const kernels::AttentionShape shape{.q_heads = 128, .kv_heads = 1, .head_dim = 576, .latent_dim = 512};
    constexpr uint32_t tokens = 131072;
    const uint64_t bytes =
        kernels::attention_partial_bytes(target, shape, 1, {.end = tokens, .keys = tokens});
    CHECK(bytes > 0);
    CHECK(bytes < kernels::layer_cache_bytes(CacheFormat::f16, tokens / kernels::page_tokens, 1, 576));
}

TEST_CASE("latent_store refuses keys that are not a latent and a rotated part") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [](std::size_t count) { return std::vector<float>(count); };
    kernels::LatentStore operation{
        .rows = {.infos = device.upload(std::vector<kernels::RowInfo>(1)), .first = 0, .count = 1},
        .q = device.upload_rows(zeros(40), 1, 40),
        .output = device.upload_rows(zeros(48), 1, 48),
        .kv = device.upload_rows(zeros(24), 1, 24),
        .norm = device.upload(zeros(16)),
        .angles = device.upload(zeros(8)),
        .cache = {.formats = {CacheFormat::f32, CacheFormat::f32},
                  .kv_heads = 1,
                  .head_dim = 24,
                  .pages = 1,
                  .keys = device.upload(zeros(32 * 24)),
                  .latent_dim = 16},
        .tables = {device.upload(zeros(1))},
        .q_heads = 2,
        .unrotated = 12,
        .rotated = 8};
    const auto refused = [&](const kernels::LatentStore& one) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        latent_store({device.library(), *recorder}, one);
        return !recorder->finish().has_value();
    };
    REQUIRE_FALSE(refused(operation));
    const auto changed = [&](auto change) {
        kernels::LatentStore one = operation;
        change(one);
        return refused(one);
    };
    REQUIRE(changed([](auto& one) { one.cache.latent_dim = 18; }));
    REQUIRE(changed([](auto& one) { one.cache.latent_dim = 0; }));
    REQUIRE(changed([](auto& one) { one.cache.keys.bytes -= 4; }));
    REQUIRE(changed([](auto& one) { one.norm.bytes -= 4; }));
    REQUIRE(changed([](auto& one) { one.angles.bytes -= 4; }));
    REQUIRE(changed([](auto& one) { one.unrotated = 10; }));
}

namespace {

struct ProductShape {
    uint32_t heads;
    uint32_t rows;
    uint32_t columns; ///< of a matrix
    uint32_t height;
    uint32_t input_dim;  ///< of a head, beyond `columns`
    uint32_t output_dim; ///< of a head
};

void check_product(kernels::PlanFamily family, kernels::Format format, ProductShape shape, uint32_t seed) {
    INFO(to_string(family) << " " << to_string(format) << ", " << shape.heads << " heads, " << shape.rows
                           << " rows");
    std::mt19937 random(seed);
    DeviceCase device(family);
    const uint32_t block = block_elements(file_format(format));
    shape.columns = (shape.columns + block - 1) / block * block;
    const uint32_t input_dim = shape.columns + shape.input_dim;
    const kernels::Layout layout{format, exact_arrangement(device.library().target(), format)};
    std::set<uint32_t> all;
    for (uint32_t head = 0; head < shape.heads; ++head)
        all.insert(head);
    const Stack stack = make_stack(device, random, layout,
                                   {.experts = shape.heads,
                                    .experts_per_token = 1,
                                    .rows = shape.rows,
                                    .width = shape.columns,
                                    .height = shape.height},
                                   all);
    constexpr uint32_t first = 2;
    const uint32_t rows = first + shape.rows;
    const auto x = random_floats(random, std::size_t{rows} * shape.heads * input_dim);
    const auto output =
        device.upload_rows(std::vector<float>(std::size_t{rows} * shape.heads * shape.output_dim, 7), rows,
                           shape.heads * shape.output_dim);
    device.run([&](kernels::Library& library, vk::Recorder& recorder) {
        kernels::heads_product(
            {library, recorder},
            {.weights = stack.device,
             .input = {.rows = device.upload_rows(x, rows, shape.heads * input_dim),
                       .head_dim = input_dim,
                       .columns = shape.columns},
             .output = {.rows = output, .head_dim = shape.output_dim, .columns = shape.height},
             .first = first,
             .count = shape.rows});
    });
    const std::vector<float> y = device.download_rows(output);
    for (uint32_t pair = 0; pair < rows * shape.heads; ++pair) {
        const uint32_t head = pair % shape.heads;
        const std::vector<double> own = [&] {
            const float* from = x.data() + std::size_t{pair} * input_dim;
            return std::vector<double>(from, from + shape.columns);
        }();
        const auto exact = reference::linear(stack.values[head], own);
        for (uint32_t m = 0; m < shape.output_dim; ++m) {
            const float found = y[std::size_t{pair} * shape.output_dim + m];
            if (pair < first * shape.heads || m >= shape.height) {
                REQUIRE(found == 7);
            } else {
                REQUIRE(std::abs(found - exact[m]) <= bound(stack, head, m, own));
            }
        }
    }
}

} // namespace

TEST_CASE("heads_product agrees with the twin over shapes, all formats and families") {
    const std::array shapes{ProductShape{4, 1, 32, 24, 16, 40}, ProductShape{32, 3, 64, 17, 0, 20},
                            ProductShape{8, 21, 96, 33, 64, 36}};
    uint32_t seed = 1;
    std::size_t family_number = 0;
    for (const auto family : all_families()) {
        std::size_t format_number = 0;
        for (const auto format : all_formats()) {
            for (const ProductShape& shape : in_turn(shapes, shape_number(family_number, format_number++)))
                check_product(family, format, shape, seed++);
        }
        ++family_number;
    }
}
