#include "core/engine/sequence.hpp"
#include "core/engine/state_cache.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::engine {
namespace {

constexpr HashKey key = {11, 12};

Limits limits_of(uint32_t page_tokens, const std::vector<uint32_t>& page_counts) {
    Limits limits;
    limits.page_tokens = page_tokens;
    limits.context_tokens = 1000;
    for (const uint32_t count : page_counts)
        limits.groups.push_back({.page_count = count});
    return limits;
}

/// The content of `length` tokens, the first `prompt` of them computed as prefill rows.
struct Text {
    std::vector<ContentId> ids;
    std::vector<RowKind> kinds;
    Text(uint32_t length, uint32_t prompt) {
        for (uint32_t i = 0; i < length; ++i) {
            ids.push_back(100 + i);
            kinds.push_back(i < prompt ? RowKind::prefill : RowKind::decode);
        }
    }
    [[nodiscard]] ContentRun content() const { return {ids, kinds}; }
};

/// One full group, and one with a window of `window_tokens`.
Limits windowed_limits(uint32_t window_tokens, uint32_t page_count) {
    Limits limits = limits_of(4, {100, page_count});
    limits.batch_rows_max = 8;
    limits.groups[1].kind = CacheKind::sliding_window;
    limits.groups[1].window_tokens = window_tokens;
    return limits;
}

/// Computes `text` from position `begin` on in chunks of 8 rows, and releases pages as the scheduler does.
void compute_from(StateCache& cache, HeldState& tables, const Text& text, uint32_t begin) {
    std::vector<PageCopy> copies;
    const auto length = static_cast<uint32_t>(text.ids.size());
    for (uint32_t end = begin; begin < length; begin = end) {
        end = std::min(begin + 8, length);
        cache.advance(tables, begin);
        REQUIRE(cache.reserve(tables, begin, length, 0, copies));
        cache.publish(tables, text.content(), end);
        cache.end_batch();
    }
}

HeldState computed(StateCache& cache, const Text& text, uint64_t salt = 0) {
    HeldState tables = cache.make_state(salt);
    std::vector<PageCopy> copies;
    const auto length = static_cast<uint32_t>(text.ids.size());
    REQUIRE(cache.reserve(tables, 0, length, 0, copies));
    cache.publish(tables, text.content(), length);
    cache.end_batch();
    CHECK(copies.empty());
    return tables;
}

void check_invariants(const StateCache& cache, std::vector<const HeldState*> tables) {
    const Status status = cache.verify(tables);
    INFO((status ? "" : status.error().message));
    CHECK(status);
}

// Test vectors of the authors' reference implementation (vectors.h, 128 bits): key 00 01 .. 0f, input 00 01
// ..
TEST_CASE("SipHash-128 matches the authors' test vectors") {
    const HashKey reference_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    CHECK(sip_hash(reference_key, {}) == PageHash{0xe6a825ba047f81a3, 0x930255c71472f66d});
    const std::array<std::byte, 1> zero{};
    CHECK(sip_hash(reference_key, zero) == PageHash{0x44af996bd8c187da, 0x45fc229b11597634});
}

TEST_CASE("a page's hash covers everything that its content depends on") {
    const Text text(4, 4);
    const Text generated(4, 3);
    const PageHash root = root_hash(key, 1, 2);
    const PageHash hash = page_hash(key, root, text.content());
    CHECK(hash == page_hash(key, root, text.content()));
    CHECK(hash != page_hash({11, 13}, root, text.content()));
    CHECK(hash != page_hash(key, root_hash(key, 1, 3), text.content()));
    CHECK(hash != page_hash(key, root_hash(key, 2, 2), text.content()));
    CHECK(hash != page_hash(key, root, generated.content()));
    Text other = text;
    other.ids.back() += 1;
    CHECK(hash != page_hash(key, root, other.content()));
    other.ids.back() = text.ids.back() + (uint64_t{1} << 32);
    CHECK(hash != page_hash(key, root, other.content()));
}

TEST_CASE("find() returns the longest chain of full pages of the same kinds and salt") {
    StateCache cache(limits_of(4, {20}), key, 0);
    const Text text(14, 9);
    HeldState first = computed(cache, text);
    const auto reused = [&](const Text& request, uint64_t salt, uint32_t positions_max,
                            PartialPages partial = PartialPages::skip) {
        HeldState tables = cache.make_state(salt);
        const uint32_t positions = cache.find(tables, request.content(), positions_max, partial);
        cache.release(tables);
        return positions;
    };
    CHECK(reused(text, 0, 14) == 12);                      // the fourth page is not full
    CHECK(reused(text, 0, 11, PartialPages::share) == 11); // at most positions_max
    CHECK(reused(text, 0, 11) == 8);
    CHECK(reused(text, 0, 8) == 8);
    CHECK(reused(Text(14, 14), 0, 14) == 8); // position 9 was a decode row
    CHECK(reused(text, 1, 14) == 0);
    CHECK(reused(Text(3, 3), 0, 3) == 0);
    cache.release(first);
    CHECK(reused(text, 0, 14) == 12); // cached without an owner
    check_invariants(cache, {});
}

TEST_CASE("a page matches only if every cache group has it") {
    StateCache cache(limits_of(2, {20, 3}), key, 0);
    const Text text(6, 6);
    HeldState first = computed(cache, text);
    cache.release(first);
    HeldState other = cache.make_state(7);
    std::vector<PageCopy> copies;
    REQUIRE(
        cache.reserve(other, 0, 2, 0, copies)); // evicts one page of the small group, the last of the chain
    HeldState again = cache.make_state(0);
    CHECK(cache.find(again, text.content(), 6, PartialPages::share) == 4);
    check_invariants(cache, {&other, &again});
}

TEST_CASE("find() shares the prefix of a page") {
    StateCache cache(limits_of(4, {20, 20}), key, 0);
    Text const text(10, 10);
    HeldState first = cache.make_state(0);
    std::vector<PageCopy> copies;
    REQUIRE(cache.reserve(first, 0, 10, 0, copies));
    cache.publish_all(first, text.content(), 10);
    cache.release(first);

    const auto shared = [&](const Text& request, uint32_t positions_max) {
        HeldState tables = cache.make_state(0);
        const uint32_t positions = cache.find(tables, request.content(), positions_max, PartialPages::share);
        check_invariants(cache, {&tables});
        cache.release(tables);
        return positions;
    };
    CHECK(shared(Text(14, 14), 13) == 10); // two pages, and two positions of the third
    CHECK(shared(Text(14, 9), 13) == 9);   // the tenth is another kind of row
    CHECK(shared(Text(14, 14), 9) == 9);
    Text other = text;
    other.ids[6] = 1;
    CHECK(shared(other, 9) == 6);
    other.ids[0] = 1;
    CHECK(shared(other, 9) == 0);

    HeldState next = cache.make_state(0);
    REQUIRE(cache.find(next, text.content(), 9, PartialPages::share) == 9);
    copies.clear();
    REQUIRE(cache.reserve(next, 9, 14, 0, copies));
    CHECK(copies.size() == 2); // one for each group: the page is not written
    cache.end_batch();
    cache.release(next);
    check_invariants(cache, {});
}

TEST_CASE("evicted pages cannot be matched partially") {
    StateCache cache(limits_of(4, {4}), key, 0);
    for (uint32_t salt = 0; salt < 50; ++salt) {
        HeldState tables = cache.make_state(salt);
        std::vector<PageCopy> copies;
        const Text text(6, 6);
        REQUIRE(cache.reserve(tables, 0, 6, 0, copies));
        cache.publish_all(tables, text.content(), 6);
        cache.release(tables);
    }
    HeldState gone = cache.make_state(0);
    CHECK(cache.find(gone, Text(6, 6).content(), 5, PartialPages::share) == 0);
    HeldState there = cache.make_state(49);
    CHECK(cache.find(there, Text(3, 3).content(), 2, PartialPages::share) == 2);
    cache.release(there);
    check_invariants(cache, {});
}

TEST_CASE("a write to a shared or published page copies it") {
    StateCache cache(limits_of(4, {6}), key, 0);
    const Text text(7, 7);
    HeldState parent = computed(cache, text);
    HeldState child = cache.fork(parent);
    const PageId shared = parent.groups[0][1];
    std::vector<PageCopy> copies;
    REQUIRE(cache.reserve(child, 7, 8, 0, copies));
    REQUIRE(copies.size() == 1);
    CHECK(copies[0].from == shared);
    CHECK(copies[0].to == child.groups[0][1]);
    CHECK(parent.groups[0][1] == shared);
    CHECK(child.groups[0][0] == parent.groups[0][0]);
    cache.end_batch();
    copies.clear();
    REQUIRE(cache.reserve(parent, 7, 8, 0, copies)); // exclusive
    CHECK(copies.empty());
    REQUIRE(cache.reserve(parent, 3, 4, 0, copies)); // published, and the child reads it
    CHECK(copies.size() == 1);
    CHECK(parent.hashes.empty());
    check_invariants(cache, {&parent, &child});
}

TEST_CASE("the source of a copy is not reallocated before the batch ends") {
    StateCache cache(limits_of(4, {2}), key, 0);
    const Text text(4, 4);
    HeldState first = computed(cache, text);
    cache.release(first);
    HeldState tables = cache.make_state(0);
    std::vector<PageCopy> copies;
    REQUIRE(cache.find(tables, text.content(), 3, PartialPages::share) == 3);
    REQUIRE(cache.reserve(tables, 3, 4, 0, copies));
    REQUIRE(copies.size() == 1);
    HeldState other = cache.make_state(0);
    CHECK(!cache.reserve(other, 0, 1, 0, copies)); // both pages are in use until the batch ends
    check_invariants(cache, {&tables, &other});
    cache.end_batch();
    CHECK(cache.reserve(other, 0, 1, 0, copies));
    check_invariants(cache, {&tables, &other});
}

TEST_CASE("reserve() changes nothing if a group has too few pages, or too few spare ones") {
    StateCache cache(limits_of(2, {20, 3}), key, 0);
    HeldState tables = cache.make_state(0);
    std::vector<PageCopy> copies;
    CHECK(!cache.reserve(tables, 0, 7, 0, copies));
    CHECK(!cache.reserve(tables, 0, 6, 1, copies));
    CHECK(tables.groups[0].empty());
    CHECK(cache.reserve(tables, 0, 6, 0, copies));
    CHECK(cache.reserve(tables, 0, 6, 9, copies)); // no page is missing, so none has to be spare
}

TEST_CASE("a sequence forks with its pages") {
    const Limits limits = limits_of(4, {10});
    StateCache cache(limits, key, 0);
    const Text text(10, 10);
    Sequence parent = make_sequence(1, {.prompt = {text.ids.begin(), text.ids.end()}}, limits, cache, {});
    parent.held = computed(cache, text);
    parent.computed_tokens = 10;
    parent.append(5);
    Sequence child = parent.fork({.request = 2}, cache);
    child.append(6);
    CHECK(child.id.request == 2);
    CHECK(child.computed_tokens == 10);
    CHECK(child.held.groups == parent.held.groups);
    CHECK(child.content_ids.back() == 6);
    CHECK(parent.content_ids.back() == 5);
    CHECK(parent.length() == 11);
    CHECK(parent.kind(10) == RowKind::decode);
    check_invariants(cache, {&parent.held, &child.held});
    cache.release(parent.held);
    cache.release(child.held);
    CHECK(cache.pools()[0].available() == 10);
}

TEST_CASE("pages that left a window are released, and are marked in the table") {
    StateCache cache(windowed_limits(6, 5), key, 2);
    HeldState tables = cache.make_state(0);
    const Text text(40, 40);
    compute_from(cache, tables, text, 0);
    cache.advance(tables, 39); // attends to [34, 40): pages 8 and 9
    CHECK(tables.groups[0].size() == 10);
    CHECK(tables.groups[1].size() == 10);
    CHECK(tables.first_held == std::vector<uint32_t>{0, 8});
    CHECK(tables.groups[1][7] == no_page);
    CHECK(tables.pages_of(1).size() == 2);
    CHECK(cache.pools()[1].available() == 3);
    CHECK(cache.pools()[0].available() == 90);
    check_invariants(cache, {&tables});
    HeldState fork = cache.fork(tables);
    check_invariants(cache, {&tables, &fork});
    cache.release(fork);
    cache.release(tables);
    check_invariants(cache, {});
    CHECK(cache.pools()[1].available() == 5);
}

TEST_CASE("a prefix is found if the pages of its last window exist") {
    StateCache cache(windowed_limits(6, 6), key, 2);
    HeldState first = cache.make_state(0);
    const Text text(40, 40);
    compute_from(cache, first, text, 0);
    cache.release(first); // the last six pages are cached: positions 16 to 39
    const auto matched = [&](uint32_t positions_max) {
        HeldState tables = cache.make_state(0);
        const uint32_t positions = cache.find(tables, text.content(), positions_max, PartialPages::share);
        CHECK(tables.groups[0].size() == tables.groups[1].size());
        CHECK(tables.hashes.size() == tables.groups[0].size());
        check_invariants(cache, {&tables});
        cache.release(tables);
        return positions;
    };
    CHECK(matched(39) == 39);
    CHECK(matched(36) == 36);
    CHECK(matched(24) == 24); // its next row attends to [19, 25)
    CHECK(matched(21) == 21); // [16, 22)
    CHECK(matched(20) == 0);  // [15, 21): page 3 has been evicted
    CHECK(matched(8) == 0);
}

TEST_CASE("a sequence that continues a prefix holds no page outside its window") {
    StateCache cache(windowed_limits(6, 12), key, 2);
    HeldState first = cache.make_state(0);
    const Text text(32, 32);
    compute_from(cache, first, text, 0);
    cache.release(first);
    const Text longer(48, 48);
    HeldState next = cache.make_state(0);
    REQUIRE(cache.find(next, longer.content(), 47, PartialPages::share) == 32);
    CHECK(next.first_held == std::vector<uint32_t>{0, 6}); // [27, 33)
    compute_from(cache, next, longer, 32);
    check_invariants(cache, {&next});
    cache.release(next);
}

TEST_CASE("invalid content is not found, pages that left the window included") {
    StateCache cache(windowed_limits(6, 12), key, 2);
    HeldState tables = cache.make_state(0);
    const Text text(40, 40);
    compute_from(cache, tables, text, 0);
    cache.advance(tables, 39);
    cache.invalidate(tables);
    check_invariants(cache, {&tables});
    cache.release(tables);
    check_invariants(cache, {});
    CHECK(cache.pools()[1].cached() == 0);
    CHECK(cache.pools()[0].cached() == 0);
}

TEST_CASE("pages that left a window are evicted before older ones that a window ended with") {
    StateCache cache(windowed_limits(6, 8), key, 2);
    HeldState ended = cache.make_state(0);
    const Text text(24, 24);
    compute_from(cache, ended, text, 0);
    cache.advance(ended, 23);
    cache.release(ended); // cached: pages 4 and 5 of the last window, and 0 to 3, which left it
    HeldState other = cache.make_state(7);
    compute_from(cache, other, Text(40, 40), 0); // ten pages: it evicts its own that left the window
    HeldState again = cache.make_state(0);
    CHECK(cache.find(again, text.content(), 23, PartialPages::share) == 23);
    cache.release(again);
    cache.release(other);
    check_invariants(cache, {});
}

} // namespace
} // namespace etna::engine
