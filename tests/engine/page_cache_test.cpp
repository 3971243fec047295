#include "core/engine/page_cache.hpp"
#include "core/engine/sequence.hpp"
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

/// A text of `length` tokens, its first `prompt` of them computed as prompt rows.
struct Text {
    std::vector<TokenId> tokens;
    std::vector<RowKind> kinds;
    Text(uint32_t length, uint32_t prompt) {
        for (uint32_t i = 0; i < length; ++i) {
            tokens.push_back(100 + i);
            kinds.push_back(i < prompt ? RowKind::prefill : RowKind::decode);
        }
    }
    [[nodiscard]] Content content() const { return {tokens, kinds}; }
};

PageTables computed(PageCache& cache, const Text& text, uint64_t salt = 0) {
    PageTables tables = cache.make_tables(salt);
    std::vector<PageCopy> copies;
    const auto length = static_cast<uint32_t>(text.tokens.size());
    REQUIRE(cache.reserve(tables, 0, length, 0, copies));
    cache.publish(tables, text.content(), length);
    cache.end_batch();
    CHECK(copies.empty());
    return tables;
}

void check_invariants(const PageCache& cache, std::vector<const PageTables*> tables) {
    const Status status = cache.verify(tables);
    INFO((status ? "" : status.error().message));
    CHECK(status);
}

// Known answers of the authors' reference implementation (vectors.h, 128 bits): key 00 01 .. 0f, input 00 01
// ..
TEST_CASE("SipHash-128 gives its authors' known answers") {
    const HashKey reference_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    CHECK(sip_hash(reference_key, {}) == PageHash{0xe6a825ba047f81a3, 0x930255c71472f66d});
    const std::array<std::byte, 1> zero{};
    CHECK(sip_hash(reference_key, zero) == PageHash{0x44af996bd8c187da, 0x45fc229b11597634});
}

TEST_CASE("a page's hash depends on everything that its content depends on") {
    const Text text(4, 4);
    const Text generated(4, 3);
    const PageHash root = root_hash(key, 1, 2);
    const PageHash hash = page_hash(key, root, text.tokens, text.kinds);
    CHECK(hash == page_hash(key, root, text.tokens, text.kinds));
    CHECK(hash != page_hash({11, 13}, root, text.tokens, text.kinds));
    CHECK(hash != page_hash(key, root_hash(key, 1, 3), text.tokens, text.kinds));
    CHECK(hash != page_hash(key, root_hash(key, 2, 2), text.tokens, text.kinds));
    CHECK(hash != page_hash(key, root, text.tokens, generated.kinds));
    std::vector<TokenId> other = text.tokens;
    other.back() += 1;
    CHECK(hash != page_hash(key, root, other, text.kinds));
}

TEST_CASE("reuse finds the longest chain of full pages, and only of the same kinds and salt") {
    PageCache cache(limits_of(4, {20}), key, 0);
    const Text text(14, 9);
    PageTables first = computed(cache, text);
    const auto reused = [&](const Text& wanted, uint64_t salt, uint32_t places_max) {
        PageTables tables = cache.make_tables(salt);
        const uint32_t places = cache.reuse(tables, wanted.content(), places_max);
        cache.release(tables);
        return places;
    };
    CHECK(reused(text, 0, 14) == 12); // the fourth page is not full
    CHECK(reused(text, 0, 11) == 11); // never more than was asked for
    CHECK(reused(text, 0, 8) == 8);
    CHECK(reused(Text(14, 14), 0, 14) == 8); // place 9 was a generation row
    CHECK(reused(text, 1, 14) == 0);
    CHECK(reused(Text(3, 3), 0, 3) == 0);
    cache.release(first);
    CHECK(reused(text, 0, 14) == 12); // kept without an owner
    check_invariants(cache, {});
}

TEST_CASE("a chain counts only where every group has its page") {
    PageCache cache(limits_of(2, {20, 3}), key, 0);
    const Text text(6, 6);
    PageTables first = computed(cache, text);
    cache.release(first);
    PageTables other = cache.make_tables(7);
    std::vector<PageCopy> copies;
    REQUIRE(
        cache.reserve(other, 0, 2, 0, copies)); // evicts one page of the small group, the last of the chain
    PageTables again = cache.make_tables(0);
    CHECK(cache.reuse(again, text.content(), 6) == 4);
    check_invariants(cache, {&other, &again});
}

TEST_CASE("a page that agrees in its beginning is shared as far as it does") {
    PageCache cache(limits_of(4, {20, 20}), key, 0);
    Text text(10, 10);
    PageTables first = cache.make_tables(0);
    std::vector<PageCopy> copies;
    REQUIRE(cache.reserve(first, 0, 10, 0, copies));
    cache.publish_all(first, text.content(), 10);
    cache.release(first);

    const auto shared = [&](const Text& wanted, uint32_t places_max) {
        PageTables tables = cache.make_tables(0);
        const uint32_t whole = cache.reuse(tables, wanted.content(), places_max);
        const uint32_t more =
            whole < places_max ? cache.reuse_beginning(tables, wanted.content(), whole, places_max) : 0;
        check_invariants(cache, {&tables});
        cache.release(tables);
        return whole + more;
    };
    CHECK(shared(Text(14, 14), 13) == 10); // two pages, and the two places of the third
    CHECK(shared(Text(14, 9), 13) == 9);   // the tenth is another kind of row
    CHECK(shared(Text(14, 14), 9) == 9);
    Text other = text;
    other.tokens[6] = 1;
    CHECK(shared(other, 9) == 6);
    other.tokens[0] = 1;
    CHECK(shared(other, 9) == 0);

    PageTables next = cache.make_tables(0);
    REQUIRE(cache.reuse(next, text.content(), 9) == 8);
    REQUIRE(cache.reuse_beginning(next, text.content(), 8, 9) == 1);
    copies.clear();
    REQUIRE(cache.reserve(next, 9, 14, 0, copies));
    CHECK(copies.size() == 2); // one for each group: the page stays as it was
    cache.end_batch();
    cache.release(next);
    check_invariants(cache, {});
}

TEST_CASE("beginnings are forgotten with their pages") {
    PageCache cache(limits_of(4, {4}), key, 0);
    for (uint32_t salt = 0; salt < 50; ++salt) {
        PageTables tables = cache.make_tables(salt);
        std::vector<PageCopy> copies;
        const Text text(6, 6);
        REQUIRE(cache.reserve(tables, 0, 6, 0, copies));
        cache.publish_all(tables, text.content(), 6);
        cache.release(tables);
    }
    PageTables gone = cache.make_tables(0);
    CHECK(cache.reuse_beginning(gone, Text(6, 6).content(), 0, 5) == 0);
    PageTables there = cache.make_tables(49);
    CHECK(cache.reuse_beginning(there, Text(3, 3).content(), 0, 2) == 2);
    cache.release(there);
    check_invariants(cache, {});
}

TEST_CASE("who writes into a shared or published page gets a copy") {
    PageCache cache(limits_of(4, {6}), key, 0);
    const Text text(7, 7);
    PageTables parent = computed(cache, text);
    PageTables child = cache.fork(parent);
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
    REQUIRE(cache.reserve(parent, 7, 8, 0, copies)); // its own now
    CHECK(copies.empty());
    REQUIRE(cache.reserve(parent, 3, 4, 0, copies)); // published, and the child reads it
    CHECK(copies.size() == 1);
    CHECK(parent.hashes.empty());
    check_invariants(cache, {&parent, &child});
}

TEST_CASE("the source of a copy is not handed out before the batch is complete") {
    PageCache cache(limits_of(4, {2}), key, 0);
    const Text text(4, 4);
    PageTables first = computed(cache, text);
    cache.release(first);
    PageTables tables = cache.make_tables(0);
    std::vector<PageCopy> copies;
    REQUIRE(cache.reuse(tables, text.content(), 3) == 3);
    REQUIRE(cache.reserve(tables, 3, 4, 0, copies));
    REQUIRE(copies.size() == 1);
    PageTables other = cache.make_tables(0);
    CHECK(!cache.reserve(other, 0, 1, 0, copies)); // both pages are needed until the copy is done
    check_invariants(cache, {&tables, &other});
    cache.end_batch();
    CHECK(cache.reserve(other, 0, 1, 0, copies));
    check_invariants(cache, {&tables, &other});
}

TEST_CASE("reserve changes nothing when one group has too few pages, or too few to spare") {
    PageCache cache(limits_of(2, {20, 3}), key, 0);
    PageTables tables = cache.make_tables(0);
    std::vector<PageCopy> copies;
    CHECK(!cache.reserve(tables, 0, 7, 0, copies));
    CHECK(!cache.reserve(tables, 0, 6, 1, copies));
    CHECK(tables.groups[0].empty());
    CHECK(cache.reserve(tables, 0, 6, 0, copies));
    CHECK(cache.reserve(tables, 0, 6, 9, copies)); // nothing is missing, so nothing must be spare
}

TEST_CASE("truncate gives whole pages back and forgets their hashes") {
    PageCache cache(limits_of(4, {6}), key, 0);
    PageTables tables = computed(cache, Text(14, 14));
    cache.truncate(tables, 9);
    CHECK(tables.groups[0].size() == 3);
    CHECK(tables.hashes.size() == 2);
    std::vector<PageCopy> copies;
    REQUIRE(cache.reserve(tables, 9, 10, 0, copies)); // the third is published: others may find it as it was
    CHECK(copies.size() == 1);
    check_invariants(cache, {&tables});
}

TEST_CASE("a sequence forks and truncates with its pages") {
    const Limits limits = limits_of(4, {10});
    PageCache cache(limits, key, 0);
    const Text text(10, 10);
    Sequence parent = make_sequence(1, {.prompt = text.tokens}, limits, cache, {});
    parent.pages = computed(cache, text);
    parent.computed = 10;
    parent.append(5);
    Sequence child = parent.fork({.request = 2}, cache);
    child.truncate(6, cache);
    CHECK(child.id.request == 2);
    CHECK(child.computed == 6);
    CHECK(child.tokens == std::vector<TokenId>(text.tokens.begin(), text.tokens.begin() + 6));
    CHECK(child.pages.groups[0].size() == 2);
    CHECK(parent.length() == 11);
    CHECK(parent.kind(10) == RowKind::decode);
    check_invariants(cache, {&parent.pages, &child.pages});
    cache.release(parent.pages);
    cache.release(child.pages);
    CHECK(cache.pools()[0].available() == 10);
}

} // namespace
} // namespace etna::engine
