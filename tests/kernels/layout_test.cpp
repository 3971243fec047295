#include "core/kernels/layout.hpp"
#include "tests/kernels/weight_source.hpp"

using namespace etna;
using namespace etna::test;

TEST_CASE("packed sizes are multiples of 8 rows and 32 columns") {
    using kernels::Arrangement;
    using kernels::Format;
    const auto q8_rows = kernels::packed_bytes({Format::q8_0, Arrangement::rows}, 9, 64);
    REQUIRE(q8_rows.weights == 16 * 64);
    REQUIRE(q8_rows.scales == 16 * 4); // two f16 in a word
    const auto q8_lanes = kernels::packed_bytes({Format::q8_0, Arrangement::lanes}, 9, 64);
    REQUIRE(q8_lanes.scales == q8_rows.scales);
    // 18 blocks of 32: 16 bytes of low bits each, and 4 bytes of high bits each padded to a multiple of four
    // words
    const auto q5_0 = kernels::packed_bytes({Format::q5_0, Arrangement::rows}, 8, 576);
    REQUIRE(q5_0.weights == 8 * (18 * 16 + 5 * 16));
    REQUIRE(q5_0.scales == 8 * 9 * 4);
    const auto q4_k = kernels::packed_bytes({Format::q4_k, Arrangement::rows}, 8, 256);
    REQUIRE(q4_k.weights + q4_k.scales == 8 * (128 + 20)); // the file's 144, with scales in bytes
    const auto f16 = kernels::packed_bytes({Format::f16, Arrangement::rows}, 8, 33);
    REQUIRE(f16.weights == 8 * 64 * 2);
    REQUIRE(f16.scales == 0);
}

TEST_CASE("repacking refuses sizes that contradict each other") {
    std::vector<std::byte> source(34);
    std::vector<std::byte> weights(8 * 32);
    std::vector<std::byte> scales(32);
    kernels::Repack task{.layout = {kernels::Format::q8_0, kernels::Arrangement::rows},
                         .row_count = 1,
                         .columns = 32,
                         .source = source,
                         .weights = weights,
                         .scales = scales};
    REQUIRE(kernels::repack(task).has_value());
    task.columns = 33;
    REQUIRE_FALSE(kernels::repack(task).has_value());
    task.columns = 32;
    task.source = ByteView(source).first(33);
    REQUIRE_FALSE(kernels::repack(task).has_value());
}

TEST_CASE("repacking to lanes interleaves eight rows and their scales") {
    std::vector<std::byte> source;
    for (uint32_t row = 0; row < 3; ++row) {
        append(source, reference::double_to_half(row + 0.5));
        for (int i = 0; i < 32; ++i)
            append(source, static_cast<int8_t>(i == 5 ? 100 + row : 0));
    }
    const kernels::Layout layout{kernels::Format::q8_0, kernels::Arrangement::lanes};
    std::vector<uint32_t> weights(8 * 8, 0xFFFFFFFF);
    std::vector<uint32_t> scales(8, 0xFFFFFFFF);
    REQUIRE(kernels::repack({.layout = layout,
                             .row_count = 3,
                             .columns = 32,
                             .source = source,
                             .weights = std::as_writable_bytes(std::span(weights)),
                             .scales = std::as_writable_bytes(std::span(scales))})
                .has_value());
    REQUIRE(scales == std::vector<uint32_t>{0x3800, 0x3E00, 0x4100, 0, 0, 0, 0, 0}); // 0.5, 1.5, 2.5
    for (uint32_t word = 0; word < 8; ++word) { // element 5 is byte 1 of word 1
        for (uint32_t row = 0; row < 8; ++row)
            REQUIRE(weights[word * 8 + row] == (word == 1 && row < 3 ? (100 + row) << 8 : 0U));
    }
}
