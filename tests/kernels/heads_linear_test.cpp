#include "core/kernels/operations/heads_linear.hpp"
#include "tests/kernels/cache_content.hpp"
#include "tests/kernels/tiles_case.hpp"
#include "tests/support/samples.hpp"

#include <algorithm>

using namespace etna;
using namespace etna::test;
using kernels::CacheFormat;
using kernels::Format;
using kernels::PlanFamily;
using kernels::RotaryPairs;

namespace {

struct HeadsCaseShape {
    PlanFamily family;
    Format qk_format;
    Format v_format;
    uint32_t q_heads;
    uint32_t kv_heads;
    uint32_t head_dim;
    uint32_t columns;
    uint32_t count;
    kernels::CacheFormats cache = {};
    RotaryPairs pairs = RotaryPairs::halves;
    bool norms = false;
    bool pending = false;
    float temperature_scale = 0;
    kernels::Precision precision = kernels::Precision::exact;
};

/// The results of a layer's projections.
struct Heads {
    std::vector<float> q;
    std::vector<std::byte> keys;
    std::vector<std::byte> values;

    bool operator==(const Heads&) const = default;
};

/// Projections, rotation and store on the device, in one dispatch for each format or as separate operations,
/// which other tests cover.
class HeadsCase {
public:
    HeadsCase(const HeadsCaseShape& one, uint32_t seed)
        : case_(one), random_(seed),
          device_(kernels::LibraryOptions{.family = one.family, .precision = one.precision}) {
        const uint32_t q_rows = one.q_heads * one.head_dim;
        const uint32_t kv_rows = one.kv_heads * one.head_dim;
        q_ = matrix(one.qk_format, q_rows);
        k_ = matrix(one.qk_format, kv_rows);
        v_ = matrix(one.v_format, kv_rows);
        input_ = random_input(device_, random_, one.count, one.columns, one.pending);
        heads_ = {.rows = {.infos = device_.upload(infos()), .first = 0, .count = one.count},
                  .q = device_.upload_rows(zeros(q_rows), one.count, q_rows),
                  .k = device_.upload_rows(zeros(kv_rows), one.count, kv_rows),
                  .v = device_.upload_rows(zeros(kv_rows), one.count, kv_rows),
                  .angles = device_.upload(random_floats(random_, std::size_t{one.count} * rotated())),
                  .cache = {.formats = one.cache,
                            .kv_heads = one.kv_heads,
                            .head_dim = one.head_dim,
                            .pages = pages,
                            .keys = device_.upload(empty_cache(one.cache.keys)),
                            .values = device_.upload(empty_cache(one.cache.values))},
                  .tables = {device_.upload(std::vector<uint32_t>{9, 1, 3, 0, 2})},
                  .q_heads = one.q_heads,
                  .rotated = rotated(),
                  .pairs = one.pairs,
                  .temperature_scale = one.temperature_scale,
                  .temperature_tokens = 5};
        if (one.norms) {
            heads_.q_norm = device_.upload(random_floats(random_, one.head_dim));
            heads_.k_norm = device_.upload(random_floats(random_, one.head_dim));
        }
        counters_ = device_.upload(
            std::vector<std::byte>(kernels::heads_counter_bytes(one.count, one.q_heads, one.kv_heads)));
    }

    [[nodiscard]] bool is_possible() {
        const auto fuses = [&](const kernels::HeadMatrix& one) {
            return kernels::can_fuse_heads(device_.library().target(), one.weight, case_.head_dim);
        };
        return fuses(q_) && fuses(k_) && fuses(v_);
    }

    /// Rows [first, first + count), fused.
    Heads run_fused(uint32_t first, uint32_t count) {
        const kernels::HeadsLinear all = operation(first, count);
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            if (case_.qk_format == case_.v_format) {
                heads_linear({library, recorder}, all);
                return;
            }
            kernels::HeadsLinear part = all;
            part.v.reset();
            heads_linear({library, recorder}, part);
            part = all;
            part.q.reset();
            part.k.reset();
            heads_linear({library, recorder}, part);
        });
        return result();
    }

    Heads run_apart() {
        device_.run([&](kernels::Library& library, vk::Recorder& recorder) {
            for (const auto& [matrix, output] :
                 {std::pair{q_, heads_.q}, std::pair{k_, heads_.k}, std::pair{v_, heads_.v}}) {
                kernels::linear({library, recorder}, {.weight = matrix.weight,
                                                      .input = input_.rows,
                                                      .output = output,
                                                      .count = case_.count,
                                                      .bias = matrix.bias,
                                                      .norm = input_.norm});
            }
            rotary_store({library, recorder}, heads_);
        });
        return result();
    }

    [[nodiscard]] std::vector<uint32_t> counters() { return device_.download<uint32_t>(counters_); }

    /// The same numbers, but for the roundings of other orders of sums, and in the cache by one step.
    void compare(const Heads& actual, const Heads& expected) {
        for (std::size_t i = 0; i < expected.q.size(); ++i) {
            INFO("q " << i << " = " << actual.q[i] << ", expected " << expected.q[i]);
            REQUIRE(std::abs(actual.q[i] - expected.q[i]) <= 2e-5 * (1 + std::abs(expected.q[i])));
        }
        for (uint32_t row = 0; row < case_.count; ++row) {
            for (uint32_t head = 0; head < case_.kv_heads; ++head) {
                compare_position(actual.keys, expected.keys, case_.cache.keys, row, head);
                compare_position(actual.values, expected.values, case_.cache.values, row, head);
            }
        }
    }

    bool refuses(const auto& change) {
        kernels::HeadsLinear changed = operation(0, case_.count);
        change(changed);
        auto recorder = vk::Recorder::create(device_.library().device());
        REQUIRE(recorder.has_value());
        heads_linear({device_.library(), *recorder}, changed);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    }

private:
    static constexpr uint32_t pages = 4;
    static constexpr uint32_t table_start = 1;

    [[nodiscard]] uint32_t rotated() const { return case_.head_dim / 4 * 2; }
    [[nodiscard]] uint32_t position(uint32_t row) const { return 29 + row; } // of two pages
    [[nodiscard]] std::vector<float> zeros(uint32_t columns) const {
        return std::vector<float>(std::size_t{case_.count} * columns);
    }
    [[nodiscard]] std::vector<std::byte> empty_cache(CacheFormat format) const {
        return std::vector<std::byte>(
            kernels::layer_cache_bytes(format, pages, case_.kv_heads, case_.head_dim));
    }
    [[nodiscard]] std::vector<kernels::RowInfo> infos() const {
        std::vector<kernels::RowInfo> infos;
        infos.reserve(case_.count);
        for (uint32_t row = 0; row < case_.count; ++row)
            infos.push_back({.position = position(row), .table = table_start});
        return infos;
    }

    kernels::HeadMatrix matrix(Format format, uint32_t rows) {
        const kernels::Layout layout = layout_of(device_, format, case_.columns);
        return {.weight = upload_weight(device_, random_weight(random_, format, rows, case_.columns), layout),
                .bias = device_.upload(random_floats(random_, rows))};
    }

    [[nodiscard]] kernels::HeadsLinear operation(uint32_t first, uint32_t count) const {
        kernels::HeadsLinear all{.q = q_,
                                 .k = k_,
                                 .v = v_,
                                 .input = input_.rows,
                                 .norm = input_.norm,
                                 .heads = heads_,
                                 .counters = counters_};
        constexpr uint64_t info_bytes = sizeof(kernels::RowInfo);
        all.heads.rows = {.infos = heads_.rows.infos.part(first * info_bytes, count * info_bytes),
                          .first = first,
                          .count = count};
        return all;
    }

    Heads result() {
        return {.q = device_.download_rows(heads_.q),
                .keys = device_.download_bytes(heads_.cache.keys),
                .values = device_.download_bytes(heads_.cache.values)};
    }

    void compare_position(std::span<const std::byte> actual, std::span<const std::byte> expected,
                          CacheFormat format, uint32_t row, uint32_t head) {
        constexpr std::array page_of{1U, 3U};
        const CachePosition place{.format = format,
                                  .kv_heads = case_.kv_heads,
                                  .head_dim = case_.head_dim,
                                  .page = page_of[position(row) / kernels::page_tokens],
                                  .kv_head = head,
                                  .in_page = position(row) % kernels::page_tokens};
        const CacheContent is = read_cache(actual, place);
        const CacheContent want = read_cache(expected, place);
        for (uint32_t d = 0; d < case_.head_dim; ++d) {
            INFO("row " << row << " head " << head << " [" << d << "] = " << is.values[d] << ", expected "
                        << want.values[d]);
            const double size = std::abs(want.values[d]);
            const double step = format == CacheFormat::f16 ? 0x1p-10 * size : 1.01 * want.scales[d];
            REQUIRE(std::abs(is.values[d] - want.values[d]) <= 2e-5 * (1 + size) + step);
        }
    }

    HeadsCaseShape case_;
    std::mt19937 random_;
    DeviceCase device_;
    kernels::HeadMatrix q_;
    kernels::HeadMatrix k_;
    kernels::HeadMatrix v_;
    TilesInput input_;
    kernels::RotaryStore heads_;
    vk::Range counters_;
};

/// Devices without large push constants have no such kernel; the test reports that.
bool has_kernel() {
    const auto variant = shaders::heads_linear(shaders::Format::q4_k);
    const Status status = kernels::usable(variant, gpu().device.profile());
    if (!status)
        WARN(status.error().message);
    return status.has_value();
}

void check_heads(const HeadsCaseShape& one, uint32_t seed) {
    HeadsCase heads(one, seed);
    if (!heads.is_possible()) // not in tiles
        return;
    INFO(to_string(one.family) << " " << to_string(one.qk_format) << " " << to_string(one.v_format) << " "
                               << one.q_heads << "/" << one.kv_heads << " x " << one.head_dim << ", "
                               << one.count << " rows");
    const Heads fused = heads.run_fused(0, one.count);
    for (const uint32_t counter : heads.counters())
        REQUIRE(counter == 0);
    heads.compare(fused, heads.run_apart());
}

constexpr kernels::CacheFormats f32_cache{.keys = CacheFormat::f32, .values = CacheFormat::f32};

} // namespace

TEST_CASE("heads_linear is projections, rotation and store, in all formats and families") {
    if (!has_kernel())
        return;
    uint32_t seed = 2100;
    for (const auto family : all_families()) {
        for (const auto format : all_formats()) {
            ++seed;
            const auto precision = seed % 2 == 0 ? kernels::Precision::exact : kernels::Precision::fast;
            check_heads({family, format, format, 4, 2, 64, 512, 1 + seed % 5, f32_cache,
                         seed % 3 == 0 ? RotaryPairs::adjacent : RotaryPairs::halves, seed % 4 < 2,
                         seed % 3 == 1, seed % 5 == 0 ? 0.2F : 0, precision},
                        seed);
        }
        check_heads({family, Format::q4_k, Format::q6_k, 3, 1, 24, 256, 2, {}}, ++seed);
        check_heads({family,
                     Format::q4_k,
                     Format::q6_k,
                     8,
                     2,
                     128,
                     1024,
                     9,
                     {.keys = CacheFormat::q8_0, .values = CacheFormat::f16},
                     RotaryPairs::halves,
                     true,
                     true},
                    ++seed);
    }
    // Two groups of rows a workgroup, and the largest head and workgroup.
    check_heads({PlanFamily::nvidia,
                 Format::q4_k,
                 Format::q4_k,
                 32,
                 4,
                 128,
                 4096,
                 1,
                 {},
                 RotaryPairs::halves,
                 false,
                 true},
                ++seed);
    check_heads({PlanFamily::nvidia, Format::q8_0, Format::q8_0, 2, 1, 512, 512, 3, f32_cache}, ++seed);
}

TEST_CASE("a row of heads_linear has the same bits whatever the other rows are") {
    if (!has_kernel())
        return;
    for (const auto format : {Format::q4_k, Format::q8_0, Format::bf16}) {
        HeadsCase heads({PlanFamily::nvidia,
                         format,
                         format,
                         4,
                         2,
                         64,
                         1024,
                         7,
                         {},
                         RotaryPairs::halves,
                         true,
                         true,
                         0,
                         format == Format::q8_0 ? kernels::Precision::fast : kernels::Precision::exact},
                        2200);
        REQUIRE(heads.is_possible());
        const Heads together = heads.run_fused(0, 7);
        for (const uint32_t count : {1U, 2U, 4U})
            REQUIRE(heads.run_fused(7 - count, count) == together);
    }
}

TEST_CASE("heads_linear refuses what does not fit") {
    if (!has_kernel())
        return;
    HeadsCase heads({PlanFamily::nvidia,
                     Format::q4_0,
                     Format::q4_0,
                     2,
                     1,
                     32,
                     512,
                     2,
                     {},
                     RotaryPairs::halves,
                     false,
                     true},
                    2300);
    REQUIRE(heads.is_possible());
    using kernels::HeadsLinear;
    REQUIRE_FALSE(heads.refuses([](HeadsLinear&) {}));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.q.reset(), one.k.reset(), one.v.reset(); }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.q->weight.rows -= 8; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.k->weight.weights.bytes -= 16; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.v->weight.layout.format = Format::q8_0; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.v->bias->bytes -= 4; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.norm->squares.bytes -= 4; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.counters.bytes -= 4; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.heads.angles.bytes -= 4; }));
    REQUIRE(heads.refuses([](HeadsLinear& one) { one.heads.q_heads = 3; }));
}
