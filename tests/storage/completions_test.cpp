// Stored chat completions and their lists.
#include "tests/storage/test_store.hpp"

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

void put(Store& store, const std::string& id, const std::string& model, const Metadata& metadata,
         const std::string& owner = "ann") {
    Completion completion = completion_of(id, owner);
    completion.model = model;
    completion.metadata = metadata;
    done(store.put(completion));
}

std::string listed(Store& store, const CompletionFilter& filter, const PageRequest& page = {}) {
    return shown(store.completions("ann", filter, page));
}

} // namespace

TEST_CASE("a completion is returned as it was stored") {
    Store store = open_store(wide_options());
    const std::string odd("\0\xff\n", 3);
    put(store, odd, odd, {{"", ""}, {odd, odd}, {"model", "no"}});
    const auto got = taken(store.completion("ann", odd));
    REQUIRE(got);
    CHECK((got->id == odd && got->owner == "ann" && got->model == odd));
    CHECK(got->metadata == Metadata{{"", ""}, {odd, odd}, {"model", "no"}});
    CHECK((got->object == "object of " + odd && got->messages == "messages of " + odd));
    CHECK(listed(store, {.model = odd, .metadata = {{"", ""}}}) == odd);
    CHECK(listed(store, {.model = "no"}).empty());
    CHECK(taken(store.delete_completion("ann", odd)));
    CHECK_FALSE(taken(store.delete_completion("ann", odd)));
    CHECK(taken(store.size()).bytes == 0);
}

TEST_CASE("completions are listed by model and metadata") {
    Store store = open_store(wide_options());
    put(store, "a", "small", {{"color", "red"}, {"size", "1"}});
    put(store, "b", "large", {{"color", "red"}});
    put(store, "c", "small", {{"color", "blue"}, {"size", "1"}});
    put(store, "d", "small", {{"red", "color"}});
    put(store, "e", "small", {{"color", "red"}}, "bob");
    CHECK(listed(store, {}) == "a b c d");
    CHECK(listed(store, {.model = "small"}) == "a c d");
    CHECK(listed(store, {.metadata = {{"color", "red"}}}) == "a b");
    CHECK(listed(store, {.metadata = {{"color", "red"}, {"size", "1"}}}) == "a");
    CHECK(listed(store, {.model = "large", .metadata = {{"size", "1"}}}).empty());
    CHECK(listed(store, {.model = "small"}, {.limit = 2, .order = Order::descending}) == "d c...");
    CHECK(listed(store, {.metadata = {{"color", "red"}}}, {.limit = 1}) == "a...");
    CHECK(listed(store, {.model = "small"}, {.after = "b"}) == "c d"); // b has another model
    CHECK(listed(store, {}, {.after = "e"}) == "none");                // e has another owner
    CHECK(taken(store.completions("ann", {}, {.limit = 1}))->items[0].body == "object of a");
}

TEST_CASE("a replaced completion has the old position and the new labels") {
    Store store = open_store(wide_options());
    for (const char* id : {"a", "b", "c"})
        put(store, id, "small", {{"color", "red"}});
    const auto before = taken(store.size());
    put(store, "b", "large", {{"color", "blue"}});
    CHECK(listed(store, {}) == "a b c");
    CHECK(listed(store, {.model = "small"}) == "a c");
    CHECK(listed(store, {.metadata = {{"color", "red"}}}) == "a c");
    CHECK(listed(store, {.model = "large", .metadata = {{"color", "blue"}}}) == "b");
    const auto after = taken(store.size());
    CHECK((after.completions == 3 && after.bytes == before.bytes + 1)); // "blue" is longer than "red"
}

TEST_CASE("completions are paginated in both orders, also if some are deleted between pages") {
    Store store = open_store(wide_options());
    for (const char* id : {"a", "b", "c", "d", "e", "f", "g"})
        put(store, id, "", {});
    CHECK(listed(store, {}, {.limit = 3}) == "a b c...");
    CHECK(taken(store.delete_completion("ann", "d")));
    CHECK(taken(store.delete_completion("ann", "a")));
    CHECK(listed(store, {}, {.after = "c", .limit = 2}) == "e f...");
    put(store, "h", "", {});
    CHECK(listed(store, {}, {.after = "f", .limit = 2}) == "g h");
    CHECK(listed(store, {}, {.after = "g", .limit = 2, .order = Order::descending}) == "f e...");
    CHECK(taken(store.delete_completion("ann", "e")));
    CHECK(listed(store, {}, {.after = "e", .limit = 2, .order = Order::descending}) == "none");
    CHECK(listed(store, {}, {.after = "f", .limit = 2, .order = Order::descending}) == "c b");
    CHECK(listed(store, {}, {.limit = 0}) == "...");
}

TEST_CASE("a change of a completion is atomic, and does not restore a deleted one") {
    Store store = open_store(wide_options());
    Completion completion = completion_of("c");
    completion.metadata = {{"a", "b"}};
    done(store.put(completion));
    CHECK(taken(store.change_completion("ann", "c", [](Completion& one) {
        one.metadata = {{"a", "c"}};
        one.object = "changed";
    })));
    CHECK(taken(store.completion("ann", "c"))->object == "changed");
    CHECK(taken(store.completions("ann", {.metadata = {{"a", "b"}}}, {}))->items.empty());
    CHECK(taken(store.completions("ann", {.metadata = {{"a", "c"}}}, {}))->items.size() == 1);
    CHECK(taken(store.delete_completion("ann", "c")));
    CHECK_FALSE(taken(store.change_completion("ann", "c", [](Completion& one) { one.object = "back"; })));
    CHECK_FALSE(taken(store.change_completion("bob", "c", [](Completion&) {})));
    CHECK_FALSE(taken(store.completion("ann", "c")));
}
