// Conversations and their items.
#include "tests/storage/test_store.hpp"

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

std::vector<Item> items_of(int count) {
    std::vector<Item> items(static_cast<std::size_t>(count));
    int number = 0;
    for (Item& item : items) {
        item = {.id = "i" + std::to_string(number), .body = "body " + std::to_string(number)};
        ++number;
    }
    return items;
}

std::string ids_of(Store& store, const std::string& id) {
    const auto items = taken(store.items("ann", id));
    return items ? shown(std::optional(Page{.items = *items})) : "none";
}

} // namespace

TEST_CASE("items have the order of their addition") {
    Store store = open_store(wide_options());
    done(store.create({.id = "c", .owner = "ann", .metadata = "{}"}, items_of(2)));
    CHECK(taken(store.add_items("ann", {.conversation = "c", .items = {{"z", "1"}, {"a", "2"}}})));
    CHECK(ids_of(store, "c") == "i0 i1 z a");
    CHECK(taken(store.item("ann", "c", "a"))->body == "2");
    CHECK(taken(store.delete_item("ann", "c", "i1")));
    CHECK_FALSE(taken(store.delete_item("ann", "c", "i1")));
    CHECK_FALSE(taken(store.item("ann", "c", "i1")));
    CHECK(ids_of(store, "c") == "i0 z a");
    CHECK(taken(store.add_items("ann", {.conversation = "c", .items = {{"i1", "again"}}})));
    CHECK(ids_of(store, "c") == "i0 z a i1");
}

TEST_CASE("an item is found by id alone, the newest one, and only by its owner") {
    int64_t now_us = 0;
    StoreOptions options = wide_options();
    options.conversations.age_max = std::chrono::seconds(10);
    options.now_us = [&] { return now_us; };
    Store store = open_store(options);
    done(store.create({.id = "old", .owner = "ann"}, {{"a", "first"}, {"b", "second"}}));
    done(store.create({.id = "new", .owner = "ann"}, {{"a", "third"}}));
    done(store.create({.id = "his", .owner = "bob"}, {{"c", "fourth"}}));
    CHECK(taken(store.item("ann", "a"))->body == "third");
    CHECK(taken(store.item("ann", "b"))->body == "second");
    CHECK_FALSE(taken(store.item("ann", "c")));
    CHECK_FALSE(taken(store.item("ann", "d")));
    CHECK(taken(store.delete_conversation("ann", "new")));
    CHECK(taken(store.item("ann", "a"))->body == "first");
    now_us = 11'000'000;
    CHECK_FALSE(taken(store.item("ann", "a")));
}

TEST_CASE("items are paginated in both orders, also if some are deleted between pages") {
    Store store = open_store(wide_options());
    done(store.create({.id = "c", .owner = "ann"}, items_of(7)));
    const auto page = [&](const PageRequest& request) { return shown(store.items("ann", "c", request)); };
    CHECK(page({.limit = 3}) == "i0 i1 i2...");
    CHECK(page({.limit = 7}) == "i0 i1 i2 i3 i4 i5 i6");
    CHECK(page({.limit = 0}) == "...");
    CHECK(page({.after = "i6"}).empty());
    CHECK(page({.after = "i3", .limit = 3}) == "i4 i5 i6");
    CHECK(page({.limit = 2, .order = Order::descending}) == "i6 i5...");
    CHECK(page({.after = "i2", .limit = 2, .order = Order::descending}) == "i1 i0");
    for (const char* id : {"i1", "i3", "i4"})
        CHECK(taken(store.delete_item("ann", "c", id)));
    CHECK(page({.after = "i2", .limit = 2}) == "i5 i6");
    CHECK(page({.after = "i5", .limit = 1, .order = Order::descending}) == "i2...");
    CHECK(page({.after = "i3"}) == "none"); // deleted
    CHECK(shown(store.items("ann", "other", {})) == "none");
}

TEST_CASE("a conversation is visible to its owner only") {
    Store store = open_store(wide_options());
    done(store.create({.id = "c", .owner = "ann", .metadata = "ann's"}, items_of(1)));
    CHECK_FALSE(taken(store.conversation("bob", "c")));
    CHECK_FALSE(taken(store.items("bob", "c")));
    CHECK(shown(store.items("bob", "c", {})) == "none");
    CHECK_FALSE(taken(store.item("bob", "c", "i0")));
    CHECK_FALSE(taken(store.add_items("bob", {.conversation = "c", .items = items_of(3)})));
    CHECK_FALSE(taken(store.set_metadata("bob", "c", "bob's")));
    CHECK_FALSE(taken(store.delete_item("bob", "c", "i0")));
    CHECK_FALSE(taken(store.delete_conversation("bob", "c")));
    done(store.put(response_of("r", "bob"), nullptr, nullptr));
    const Addition addition = {.conversation = "c", .items = {{"bob's", "item"}}};
    done(store.put(response_of("r", "bob"), nullptr, &addition));
    CHECK((ids_of(store, "c") == "i0" && taken(store.conversation("ann", "c"))->metadata == "ann's"));
}

TEST_CASE("a duplicate id is refused, and nothing is added") {
    Store store = open_store(wide_options());
    done(store.create({.id = "c", .owner = "ann"}, items_of(2)));
    const auto size = taken(store.size());
    const auto is_refused = [&](const Status& status) {
        return !status && status.error().kind == ErrorKind::invalid_argument &&
               !status.error().message.empty();
    };
    CHECK(is_refused(store.create({.id = "c", .owner = "ann"}, {})));
    CHECK(is_refused(store.create({.id = "d", .owner = "ann"}, {{"x", ""}, {"y", ""}, {"x", ""}})));
    const auto added = store.add_items("ann", {.conversation = "c", .items = {{"new", ""}, {"i1", ""}}});
    CHECK((!added && added.error().kind == ErrorKind::invalid_argument));
    CHECK((ids_of(store, "c") == "i0 i1" && ids_of(store, "d") == "none"));
    CHECK(taken(store.size()).bytes == size.bytes);
}

TEST_CASE("a response and its addition to a conversation are stored together") {
    Store store = open_store(wide_options());
    done(store.create({.id = "c", .owner = "ann"}, items_of(2)));
    const Addition addition = {.conversation = "c", .items = {{"i1", "known"}, {"new", "1"}, {"new", "2"}}};
    done(store.put(response_of("r"), nullptr, &addition));
    CHECK((has_response(store, "r") && ids_of(store, "c") == "i0 i1 new"));
    CHECK(taken(store.item("ann", "c", "i1"))->body == "body 1");
    CHECK(taken(store.delete_conversation("ann", "c")));
    done(store.put(response_of("r2"), nullptr, &addition)); // the conversation was deleted
    CHECK((has_response(store, "r2") && ids_of(store, "c") == "none"));
    CHECK(taken(store.size()).conversations == 0);
}

TEST_CASE("conversations have metadata and a creation time") {
    StoreOptions options = wide_options();
    int64_t now_us = 5'000'000;
    options.now_us = [&] { return now_us; };
    Store store = open_store(options);
    done(store.create({.id = "c", .owner = "ann", .metadata = "one", .created_us = 77}, {}));
    now_us += 1'000'000;
    CHECK(taken(store.set_metadata("ann", "c", "another, longer")));
    const auto conversation = taken(store.conversation("ann", "c"));
    CHECK((conversation->metadata == "another, longer" && conversation->created_us == 5'000'000));
    CHECK_FALSE(taken(store.set_metadata("ann", "d", "")));
    CHECK(taken(store.size()).bytes == 4 + conversation->metadata.size()); // with id and owner
}
