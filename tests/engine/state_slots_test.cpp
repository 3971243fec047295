#include "core/engine/state_cache.hpp"
#include "core/engine/state_slots.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace etna::engine {
namespace {

constexpr HashKey slot_key = {11, 12};
constexpr uint32_t page_tokens = 4;

/// The content of `length` tokens, all prefill rows.
struct Content {
    std::vector<ContentId> ids;
    std::vector<RowKind> kinds;
    explicit Content(uint32_t length) : kinds(length, RowKind::prefill) {
        for (uint32_t i = 0; i < length; ++i)
            ids.push_back(100 + i);
    }
    [[nodiscard]] ContentRun content() const { return {ids, kinds}; }
    [[nodiscard]] ContentRun first(uint32_t count) const { return content().part(0, count); }
};

void check_invariants(const StateSlots& slots, const std::vector<const HeldSlot*>& held) {
    const Status status = slots.verify(held);
    INFO((status ? "" : status.error().message));
    CHECK(status);
}

std::vector<StateCopy> taken(StateSlots& slots) {
    std::vector<StateCopy> copies;
    slots.take_copies(copies);
    return copies;
}

TEST_CASE("the longest snapshot that is a prefix of the content is found") {
    StateSlots slots(4, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    HeldSlot held;
    REQUIRE(slots.reserve(held));
    const Content text(8);
    for (const uint32_t positions : {0U, 2U})
        slots.snapshot(held, root, text.first(positions));
    check_invariants(slots, {&held});
    CHECK(slots.find(root, text.first(8))->positions == 2);
    CHECK(slots.find(root, text.first(1))->positions == 0);
    CHECK(!slots.find(root_hash(slot_key, 1, 3), text.first(8)));
    Content decoded = text;
    decoded.kinds[1] = RowKind::decode;
    CHECK(slots.find(root, decoded.first(8))->positions == 0);
    slots.invalidate(held);
    CHECK(!slots.find(root, text.first(8)));
    taken(slots);
    slots.release(held);
    check_invariants(slots, {});
    CHECK(slots.pool().cached() == 0);
}

TEST_CASE("a sequence continues from a copy of a snapshot, and its own slot becomes one when it ends") {
    StateSlots slots(3, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    const Content text(3);
    HeldSlot first;
    REQUIRE(slots.reserve(first));
    CHECK(first.position == 0);
    CHECK(taken(slots).empty());
    first.position = 3;
    slots.publish(first, root, text.first(3));
    const StateSlot snapshot = first.slot;
    slots.release(first);

    HeldSlot second;
    slots.use(second, *slots.find(root, text.first(3)), 3);
    check_invariants(slots, {&second});
    REQUIRE(slots.reserve(second));
    CHECK(second.position == 3);
    CHECK(second.slot != snapshot);
    check_invariants(slots, {&second});
    const std::vector<StateCopy> copies = taken(slots);
    REQUIRE(copies.size() == 1);
    CHECK(copies[0].from == snapshot);
    CHECK(copies[0].to == second.slot);
    check_invariants(slots, {&second});
}

TEST_CASE("copies of one batch do not depend on each other") {
    StateSlots slots(4, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    const Content text(3);
    HeldSlot parent;
    REQUIRE(slots.reserve(parent));
    parent.position = 3;
    HeldSlot child = slots.fork(parent);
    REQUIRE(child.slot != no_state_slot);
    CHECK(child.position == 3);
    slots.publish(child, root, text.first(3)); // the child ends before its copy was made
    slots.release(child);
    HeldSlot next;
    slots.use(next, *slots.find(root, text.first(3)), 3);
    REQUIRE(slots.reserve(next));
    check_invariants(slots, {&parent, &next});
    for (const StateCopy& copy : taken(slots))
        CHECK(copy.from == parent.slot);
    check_invariants(slots, {&parent, &next});
}

TEST_CASE("a snapshot is invalid with the sequence that continued from it") {
    StateSlots slots(3, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    const Content text(3);
    HeldSlot first;
    REQUIRE(slots.reserve(first));
    first.position = 3;
    slots.publish(first, root, text.first(3));
    slots.release(first);
    HeldSlot second;
    slots.use(second, *slots.find(root, text.first(3)), 3);
    REQUIRE(slots.reserve(second));
    slots.invalidate(second);
    CHECK(!slots.find(root, text.first(3)));
    check_invariants(slots, {&second});
}

TEST_CASE("a copy that no sequence needs is evicted if no slot is free") {
    StateSlots slots(2, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    const Content text(3);
    HeldSlot parent;
    REQUIRE(slots.reserve(parent));
    parent.position = 3;
    HeldSlot child = slots.fork(parent);
    slots.publish(child, root, text.first(3));
    slots.release(child);
    slots.release(parent);
    HeldSlot next;
    REQUIRE(slots.reserve(next)); // no batch has come
    check_invariants(slots, {&next});
    CHECK(taken(slots).empty());
    CHECK(!slots.find(root, text.first(3)));
}

TEST_CASE("snapshots are evicted for sequences, and never take the last slot") {
    StateSlots slots(3, slot_key);
    const PageHash root = root_hash(slot_key, 1, 2);
    const Content text(6);
    HeldSlot held;
    REQUIRE(slots.reserve(held));
    for (uint32_t positions = 1; positions < 4; ++positions) {
        slots.snapshot(held, root, text.first(positions)); // sources and targets stay until the batch
        check_invariants(slots, {&held});
    }
    CHECK(slots.find(root, text.first(6))->positions == 1);
    taken(slots);
    slots.snapshot(held, root, text.first(5));
    CHECK(slots.find(root, text.first(6))->positions == 5);
    taken(slots);
    HeldSlot second;
    HeldSlot third;
    HeldSlot fourth;
    REQUIRE(slots.reserve(second));
    REQUIRE(slots.reserve(third));
    CHECK(!slots.find(root, text.first(6)));
    CHECK(!slots.reserve(fourth));
    CHECK(slots.fork(held).slot == no_state_slot);
    check_invariants(slots, {&held, &second, &third});
}

/// One full group, one with a window, and recurrent layers.
Limits mixed_limits(uint32_t state_slots) {
    return {.page_tokens = page_tokens,
            .context_tokens = 1000,
            .batch_rows_max = 8,
            .sequences_max = 2,
            .state_slots = state_slots,
            .groups = {{.page_count = 40},
                       {.kind = CacheKind::sliding_window, .window_tokens = 6, .page_count = 8}}};
}

/// Computes positions [begin, end), with a snapshot wherever `snapshots` names one.
void compute(StateCache& cache, HeldState& tables, const Content& text, uint32_t begin, uint32_t end,
             const std::vector<uint32_t>& snapshots) {
    std::vector<PageCopy> copies;
    std::vector<StateCopy> state_copies;
    for (; begin < end; ++begin) {
        cache.advance(tables, begin);
        REQUIRE(cache.reserve(tables, begin, begin + 1, 0, copies));
        if (std::count(snapshots.begin(), snapshots.end(), begin) > 0)
            cache.snapshot(tables, text.content());
        tables.recurrent.position = begin + 1;
        cache.publish(tables, text.content(), begin + 1);
        cache.take_state_copies(state_copies);
        cache.end_batch();
    }
}

TEST_CASE("a prefix is found at a snapshot if the pages of every group exist") {
    StateCache cache(mixed_limits(6), slot_key, 0);
    const Content text(20);
    HeldState first = cache.make_state(0);
    compute(cache, first, text, 0, 18, {6, 8, 13});
    cache.publish_all(first, text.content(), 18);
    cache.release(first);
    REQUIRE(cache.verify({}));
    const auto found = [&](uint32_t positions_max, PartialPages partial = PartialPages::share) {
        HeldState tables = cache.make_state(0);
        const uint32_t position = cache.find(tables, text.content(), positions_max, partial);
        const HeldState* const held = &tables;
        REQUIRE(cache.verify({&held, 1}));
        CHECK(tables.groups[0].size() == (position + page_tokens - 1) / page_tokens);
        std::vector<PageCopy> copies;
        REQUIRE(cache.reserve(tables, position, positions_max, 0, copies));
        CHECK(tables.recurrent.position == position);
        std::vector<StateCopy> state_copies;
        cache.take_state_copies(state_copies);
        CHECK(state_copies.size() == (position > 0 ? 1U : 0U));
        cache.end_batch();
        cache.release(tables);
        REQUIRE(cache.verify({}));
        return position;
    };
    CHECK(found(19) == 18); // the state of the sequence that ended
    CHECK(found(17) == 13);
    CHECK(found(12) == 8);
    CHECK(found(7) == 6);
    CHECK(found(5) == 0);
    CHECK(found(19, PartialPages::skip) == 8);
}

TEST_CASE("a model without paged layers continues from its snapshots alone") {
    Limits limits = mixed_limits(4);
    limits.groups.clear();
    StateCache cache(limits, slot_key, 0);
    const Content text(20);
    HeldState first = cache.make_state(0);
    compute(cache, first, text, 0, 18, {6});
    cache.publish_all(first, text.content(), 18);
    cache.release(first);
    REQUIRE(cache.verify({}));
    for (const auto& [positions_max, expected] :
         {std::pair(19U, 18U), std::pair(17U, 6U), std::pair(5U, 0U)}) {
        HeldState again = cache.make_state(0);
        CHECK(cache.find(again, text.content(), positions_max, PartialPages::share) == expected);
        cache.release(again);
    }
}

TEST_CASE("a state that covers more than the known content is not found") {
    StateCache cache(mixed_limits(4), slot_key, 0);
    const Content text(12);
    HeldState tables = cache.make_state(0);
    compute(cache, tables, text, 0, 10, {});
    cache.publish_all(tables, text.content(), 9); // the last row was surplus
    cache.release(tables);
    HeldState again = cache.make_state(0);
    CHECK(cache.find(again, text.content(), 11, PartialPages::share) == 0);
}

} // namespace
} // namespace etna::engine
