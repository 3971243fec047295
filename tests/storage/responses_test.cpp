// Responses and their histories.
#include "tests/storage/test_store.hpp"

#include <algorithm>
#include <numeric>
#include <random>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
using namespace std::string_literals;

namespace {

constexpr std::size_t turns_max = 5000;

std::string turn_id(std::size_t index) {
    return "r" + std::to_string(index);
}

/// Stores r0, r1, ..., each a continuation of the one before.
void put_chain(Store& store, std::size_t turns) {
    done(store.put(response_of(turn_id(0))));
    for (std::size_t i = 1; i < turns; ++i) {
        const auto history = taken(store.history("ann", turn_id(i - 1)));
        done(store.put(response_of(turn_id(i)), &*history));
    }
}

/// The same by SQL: the store would load the complete history for each.
void put_chain_quickly(const std::filesystem::path& file, std::size_t turns) {
    open_store(wide_options(file));
    const std::string count = "WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL SELECT i+1 FROM c WHERE i+1 < " +
                              std::to_string(turns) + ") ";
    run_sql(file,
            count + "INSERT INTO entries SELECT i+1, 0, x'616e6e', CAST('r'||i AS BLOB), 0, i+1, 10 FROM c");
    run_sql(file, count + "INSERT INTO nodes SELECT i+1, nullif(i, 0), CAST('r'||i AS BLOB) FROM c");
    run_sql(file, "INSERT INTO responses SELECT number, number, 0, x'', x'', x'' FROM entries");
}

uint64_t bytes(Store& store) {
    return taken(store.size()).bytes;
}

enum class DeletionOrder : uint8_t { oldest_first, newest_first, shuffled };

/// Deletes the responses one by one; the remaining ones must retain their histories.
void delete_chain(std::size_t turns, DeletionOrder deletion_order) {
    std::vector<std::size_t> order(turns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (deletion_order == DeletionOrder::newest_first)
        std::ranges::reverse(order);
    if (deletion_order == DeletionOrder::shuffled)
        std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
    const TemporaryFolder folder;
    const auto file = folder.path() / "store";
    put_chain_quickly(file, turns);
    {
        Store store = open_store(wide_options(file));
        const std::size_t last = order.back();
        for (std::size_t i = 0; i < turns; ++i) {
            if (i % 100 == 0)
                REQUIRE(taken(store.history("ann", turn_id(last)))->turns().size() == last + 1);
            REQUIRE(taken(store.delete_response("ann", turn_id(order[i]))));
        }
        CHECK(bytes(store) == 0);
    }
    CHECK(run_sql(file, "SELECT count(*) FROM nodes") == 0);
}

} // namespace

TEST_CASE("a response is returned as it was stored, with any bytes") {
    Store store = open_store(wide_options());
    const std::string bytes = "\0 \xff\xfe \xf0\x9f\x98\x80 '\"; DROP TABLE responses; --\0"s;
    for (const std::string& id : {std::string(), std::string(1, '\0'), bytes, std::string("\xc3\x28")}) {
        const Response put = {.id = id,
                              .owner = bytes + id,
                              .object = bytes,
                              .input = std::string(100'000, '\0'),
                              .turn = bytes + bytes,
                              .events = {},
                              .is_pending = true};
        done(store.put(put));
        const auto got = taken(store.response(put.owner, put.id));
        REQUIRE(got);
        CHECK((got->id == put.id && got->owner == put.owner && got->object == put.object));
        CHECK((got->input == put.input && got->turn == put.turn && got->events.empty() && got->is_pending));
    }
    CHECK_FALSE(taken(store.response(bytes, bytes.substr(0, 1) + "x")));
}

TEST_CASE("responses are visible to their owner only, and owners may use the same ids") {
    Store store = open_store(wide_options());
    done(store.put(response_of("r")));
    CHECK_FALSE(has_response(store, "r", "bob"));
    CHECK_FALSE(has_response(store, "r", ""));
    CHECK(history_of(store, "r", "bob") == "none");
    CHECK_FALSE(taken(store.delete_response("bob", "r")));
    Response other = response_of("r", "bob");
    other.turn = "bob's";
    done(store.put(other));
    CHECK((history_of(store, "r") == "r" && history_of(store, "r", "bob") == "bob's"));
    CHECK(taken(store.delete_response("bob", "r")));
    CHECK((has_response(store, "r") && !has_response(store, "r", "bob")));
}

TEST_CASE("a history has the turns up to a response, and outlives deleted responses") {
    Store store = open_store(wide_options());
    put_chain(store, 4);
    put_after(store, "branch", "r1");
    CHECK(history_of(store, "r3") == "r0 r1 r2 r3");
    CHECK(history_of(store, "branch") == "r0 r1 branch");
    CHECK((taken(store.delete_response("ann", "r0")) && taken(store.delete_response("ann", "r2"))));
    CHECK(history_of(store, "r2") == "none");
    CHECK(history_of(store, "r3") == "r0 r1 r2 r3");
    CHECK((taken(store.delete_response("ann", "r3")) && taken(store.delete_response("ann", "r1"))));
    CHECK(history_of(store, "branch") == "r0 r1 branch");
    CHECK(taken(store.delete_response("ann", "branch")));
    CHECK(bytes(store) == 0);
    CHECK_FALSE(taken(store.delete_response("ann", "branch")));
}

TEST_CASE("a pending response has no history, and a replacement frees its turn") {
    Store store = open_store(wide_options());
    put_chain(store, 2);
    Response response = response_of("r2");
    response.is_pending = true;
    {
        const auto history = taken(store.history("ann", "r1"));
        done(store.put(response, &*history));
        CHECK(history_of(store, "r2") == "none");
        CHECK(taken(store.pending()).size() == 1);
        response.is_pending = false;
        done(store.put(response, &*history));
    }
    CHECK((history_of(store, "r2") == "r0 r1 r2" && taken(store.pending()).empty()));
    const uint64_t before = bytes(store);
    for (int i = 0; i < 5; ++i)
        put_after(store, "r2", "r1");
    CHECK((bytes(store) == before && taken(store.size()).responses == 3));
    for (const char* id : {"r0", "r1", "r2"})
        CHECK(taken(store.delete_response("ann", id)));
    CHECK(bytes(store) == 0);
}

TEST_CASE("a turn is found by its item ids, by its owner, while its response exists") {
    Store store = open_store(wide_options());
    const auto response = [](std::string id, std::string turn, std::vector<std::string> ids) {
        return Response{.id = std::move(id),
                        .owner = "ann",
                        .object = "{}",
                        .input = "[]",
                        .turn = std::move(turn),
                        .turn_ids = std::move(ids)};
    };
    done(store.put(response("r1", "first", {"a", "b", "a"})));
    done(store.put(response("r2", "second", {"b", "c"})));
    CHECK(taken(store.turn_of_item("ann", "a")) == "first");
    CHECK(taken(store.turn_of_item("ann", "b")) == "second");
    CHECK_FALSE(taken(store.turn_of_item("bob", "a")));
    CHECK_FALSE(taken(store.turn_of_item("ann", "d")));
    done(store.put(response("r1", "changed", {"d"})));
    CHECK_FALSE(taken(store.turn_of_item("ann", "a")));
    CHECK(taken(store.turn_of_item("ann", "d")) == "changed");
    CHECK(taken(store.delete_response("ann", "r2")));
    CHECK_FALSE(taken(store.turn_of_item("ann", "b")));
}

TEST_CASE("continuations of a replaced response retain their history") {
    Store store = open_store(wide_options());
    put_chain(store, 3);
    Response other = response_of("r1");
    other.turn = "other";
    done(store.put(other));
    CHECK((history_of(store, "r1") == "other" && history_of(store, "r2") == "r0 r1 r2"));
}

TEST_CASE("pending() returns the pending responses of all owners after a restart") {
    const TemporaryFolder folder;
    {
        Store store = open_store(wide_options(folder.path() / "store"));
        for (const char* owner : {"bob", "ann"}) {
            for (const char* id : {"b", "a", "c"}) {
                Response response = response_of(id, owner);
                response.is_pending = response.id != "a";
                done(store.put(response));
            }
        }
    }
    Store store = open_store(wide_options(folder.path() / "store"));
    std::string pending;
    for (const Response& response : taken(store.pending())) {
        pending += response.owner + ":" + response.id + " ";
        CHECK((response.is_pending && response.object == "object of " + response.id));
    }
    CHECK(pending == "bob:b bob:c ann:b ann:c ");
}

TEST_CASE("a held history survives the deletion of its responses") {
    Store store = open_store(wide_options());
    put_chain(store, 3);
    done(store.put(response_of("other")));
    auto held = taken(store.history("ann", "r2"));
    const auto twice = taken(store.history("ann", "r2"));
    for (const char* id : {"r0", "r1", "r2", "other"})
        CHECK(taken(store.delete_response("ann", id)));
    CHECK(bytes(store) == 6); // three turns
    CHECK(held->turns() == std::vector<std::string>{"r0", "r1", "r2"});
    done(store.put(response_of("r3"), &*held));
    held.reset();
    done(store.put(response_of("other")));
    CHECK(history_of(store, "r3") == "r0 r1 r2 r3");
    CHECK((taken(store.delete_response("ann", "r3")) && taken(store.delete_response("ann", "other"))));
    CHECK(bytes(store) == 6); // held once more
}

TEST_CASE("a released history is removed by the next change, and a held one may outlive the store") {
    auto store = std::make_unique<Store>(open_store(wide_options()));
    put_chain(*store, 3);
    {
        const auto held = taken(store->history("ann", "r2"));
        for (const char* id : {"r0", "r1", "r2"})
            CHECK(taken(store->delete_response("ann", id)));
        CHECK(bytes(*store) == 6);
    }
    CHECK_FALSE(taken(store->delete_response("ann", "nothing")));
    CHECK(bytes(*store) == 0);
    put_chain(*store, 2);
    const auto held = taken(store->history("ann", "r1"));
    store.reset();
    CHECK(held->turns().size() == 2);
}

TEST_CASE("turns that an ended process held are removed on opening") {
    const TemporaryFolder folder;
    auto store = std::make_unique<Store>(open_store(wide_options(folder.path() / "store")));
    put_chain(*store, 3);
    const auto held = taken(store->history("ann", "r2"));
    for (const char* id : {"r0", "r1", "r2"})
        CHECK(taken(store->delete_response("ann", id)));
    CHECK(bytes(*store) == 6);
    store.reset();
    Store next = open_store(wide_options(folder.path() / "store"));
    CHECK(bytes(next) == 0);
}

TEST_CASE("a history of another store is refused") {
    Store store = open_store(wide_options());
    Store other = open_store(wide_options());
    put_chain(other, 2);
    const auto history = taken(other.history("ann", "r1"));
    CHECK_FALSE(store.put(response_of("r"), &*history));
    CHECK_FALSE(has_response(store, "r"));
}

TEST_CASE("a history of thousands of turns is loaded and deleted completely") {
    const TemporaryFolder folder;
    StoreOptions options = wide_options(folder.path() / "store");
    put_chain_quickly(options.file, turns_max);
    options.responses.entries_max = 1; // of the others, only the turns remain
    Store store = open_store(options);
    CHECK(taken(store.size()).responses == 1);
    {
        const auto history = taken(store.history("ann", turn_id(turns_max - 1)));
        REQUIRE((history && history->turns().size() == turns_max));
        for (std::size_t i = 0; i < turns_max; ++i)
            REQUIRE(history->turns()[i] == turn_id(i));
    }
    CHECK(taken(store.delete_response("ann", turn_id(turns_max - 1))));
    CHECK(bytes(store) == 0);
}

TEST_CASE("a history can be deleted in any order") {
    delete_chain(400,
                 GENERATE(DeletionOrder::oldest_first, DeletionOrder::newest_first, DeletionOrder::shuffled));
}

TEST_CASE("a history of thousands of turns can be deleted in any order", "[.long]") {
    delete_chain(turns_max,
                 GENERATE(DeletionOrder::oldest_first, DeletionOrder::newest_first, DeletionOrder::shuffled));
}
