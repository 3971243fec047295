// Limits of count, age and size, and eviction.
#include "tests/storage/test_store.hpp"

using namespace etna;
using namespace etna::test;
using namespace server::storage;
using namespace std::chrono_literals;

namespace {

/// Options with a manual clock.
struct ManualClock {
    std::shared_ptr<int64_t> now_us = std::make_shared<int64_t>(1'000'000'000);
    StoreOptions options = wide_options();

    ManualClock() {
        options.now_us = [time = now_us] { return *time; };
    }
    void advance(std::chrono::microseconds time) const { *now_us += time.count(); }
};

/// A response of ten bytes, including id and owner.
Response ten_bytes(const std::string& id) {
    return {.id = id, .owner = "ann", .object = std::string(5 - id.size(), 'o'), .input = "i", .turn = "t"};
}

bool is_refused(const Status& status) {
    return !status && status.error().kind == ErrorKind::invalid_argument;
}

} // namespace

TEST_CASE("the oldest entries of a kind are evicted first") {
    ManualClock clock;
    clock.options.responses.entries_max = 2;
    Store store = open_store(clock.options);
    for (const char* id : {"a", "b", "c"})
        done(store.put(response_of(id)));
    CHECK((!has_response(store, "a") && has_response(store, "b") && has_response(store, "c")));
    clock.advance(-100s); // a clock that is set back does not make an entry older
    done(store.put(response_of("d")));
    CHECK((!has_response(store, "b") && has_response(store, "d")));
    done(store.put(completion_of("a")));
    CHECK(taken(store.size()).responses == 2);
}

TEST_CASE("an addition makes a conversation the newest") {
    ManualClock clock;
    clock.options.conversations.entries_max = 2;
    Store store = open_store(clock.options);
    for (const char* id : {"a", "b"})
        done(store.create({.id = id, .owner = "ann"}, {}));
    CHECK(taken(store.add_items("ann", {.conversation = "a", .items = {{"i", ""}}})));
    done(store.create({.id = "c", .owner = "ann"}, {}));
    CHECK((taken(store.conversation("ann", "a")) && !taken(store.conversation("ann", "b"))));
}

TEST_CASE("expired entries are not found, and are removed by the next change") {
    ManualClock clock;
    clock.options.responses.age_max = 10s;
    clock.options.conversations.age_max = 10s;
    clock.options.completions.age_max = 20s;
    Store store = open_store(clock.options);
    Response pending = response_of("pending");
    pending.is_pending = true;
    done(store.put(pending));
    done(store.put(response_of("r")));
    done(store.put(completion_of("m")));
    done(store.create({.id = "c", .owner = "ann"}, {{"i", ""}}));
    clock.advance(6s);
    CHECK(taken(store.add_items("ann", {.conversation = "c", .items = {{"j", ""}}})));
    done(store.put(response_of("r"))); // a replacement has the old age
    clock.advance(4s);
    CHECK((has_response(store, "r") && taken(store.pending()).size() == 1));
    clock.advance(1us);
    CHECK((!has_response(store, "r") && history_of(store, "r") == "none" && taken(store.pending()).empty()));
    CHECK(taken(store.conversation("ann", "c")));
    CHECK(taken(store.size()).responses == 2);
    CHECK_FALSE(taken(store.delete_completion("ann", "nothing"))); // a change
    CHECK(taken(store.size()).responses == 0);
    clock.advance(6s);
    CHECK_FALSE(taken(store.conversation("ann", "c")));
    CHECK_FALSE(taken(store.items("ann", "c")));
    CHECK(shown(store.items("ann", "c", {})) == "none");
    CHECK_FALSE(taken(store.item("ann", "c", "i")));
    CHECK(shown(store.completions("ann", {}, {})) == "m");
    clock.advance(4s);
    CHECK(shown(store.completions("ann", {}, {})).empty());
    CHECK(shown(store.completions("ann", {}, {.after = "m"})) == "none");
    done(store.create({.id = "c", .owner = "ann"}, {})); // its id is free again
    const auto size = taken(store.size());
    CHECK((size.conversations == 1 && size.completions == 0 && size.bytes == 4));
}

TEST_CASE("extreme ages and clock values work") {
    ManualClock clock;
    clock.options.responses.age_max = std::chrono::seconds::max();
    Store store = open_store(clock.options);
    for (const int64_t now : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
        *clock.now_us = now;
        done(store.put(response_of("r" + std::to_string(now))));
        CHECK(has_response(store, "r" + std::to_string(now)));
    }
}

TEST_CASE("a kind with entries_max 0 is neither stored nor found; others are") {
    const TemporaryFolder folder;
    StoreOptions options = wide_options(folder.path() / "store");
    {
        Store store = open_store(options);
        done(store.put(response_of("r")));
        done(store.put(completion_of("m")));
        done(store.create({.id = "c", .owner = "ann"}, {}));
    }
    const int kind = GENERATE(0, 1, 2);
    (kind == 0 ? options.responses : kind == 1 ? options.conversations : options.completions).entries_max = 0;
    Store store = open_store(options);
    const Addition addition = {.conversation = "c", .items = {{"i", "body"}}};
    done(store.put(response_of("r2"), nullptr, &addition));
    done(store.put(completion_of("m2")));
    done(store.create({.id = "c2", .owner = "ann"}, {}));
    for (const char* id : {"r", "r2"}) {
        CHECK(has_response(store, id) == (kind != 0));
        CHECK((history_of(store, id) == "none") == (kind == 0));
    }
    for (const char* id : {"c", "c2"})
        CHECK(taken(store.conversation("ann", id)).has_value() == (kind != 1));
    CHECK(taken(store.add_items("ann", {.conversation = "c2"})) == (kind != 1));
    CHECK(taken(store.items("ann", "c")).value_or(std::vector<Item>()).size() == (kind == 1 ? 0U : 1U));
    CHECK(shown(store.completions("ann", {}, {})) == (kind == 2 ? "" : "m m2"));
    const auto size = taken(store.size());
    CHECK(size.responses == (kind == 0 ? 0U : 2U));
    CHECK(size.conversations == (kind == 1 ? 0U : 2U));
    CHECK(size.completions == (kind == 2 ? 0U : 2U));
}

TEST_CASE("over bytes_max, the oldest entries of any kind are evicted") {
    ManualClock clock;
    clock.options.bytes_max = 30;
    Store store = open_store(clock.options);
    for (const char* id : {"a", "b", "c"}) {
        done(store.put(ten_bytes(id)));
        CHECK(taken(store.size()).bytes <= 30);
    }
    CHECK(taken(store.size()).bytes == 30);
    done(store.put(ten_bytes("d")));
    CHECK((!has_response(store, "a") && has_response(store, "b") && taken(store.size()).bytes == 30));
    done(store.create({.id = "e", .owner = "ann"}, {{"i", std::string(15, 'x')}})); // 20 bytes
    CHECK((!has_response(store, "b") && !has_response(store, "c") && has_response(store, "d")));
    done(store.put(ten_bytes("d"))); // a replacement has the old age, but belongs to this change
    CHECK((has_response(store, "d") && taken(store.conversation("ann", "e"))));
    CHECK(taken(store.add_items("ann", {.conversation = "e", .items = {{"j", "y"}}})));
    CHECK((!has_response(store, "d") && taken(store.size()).bytes == 22));
}

TEST_CASE("an owner's entries do not evict those of an owner with fewer") {
    ManualClock clock;
    clock.options.responses.entries_max = 6;
    clock.options.conversations.entries_max = 6;
    clock.options.completions.entries_max = 6;
    Store store = open_store(clock.options);
    for (const char* id : {"a", "b"}) {
        done(store.put(response_of(id, "bob")));
        done(store.put(completion_of(id, "bob")));
        done(store.create({.id = id, .owner = "bob"}, {}));
    }
    for (int i = 0; i < 20; ++i) {
        done(store.put(response_of("r" + std::to_string(i))));
        done(store.put(completion_of("m" + std::to_string(i))));
        done(store.create({.id = "c" + std::to_string(i), .owner = "ann"}, {}));
    }
    for (const char* id : {"a", "b"}) {
        CHECK(has_response(store, id, "bob"));
        CHECK(taken(store.completion("bob", id)));
        CHECK(taken(store.conversation("bob", id)));
    }
    CHECK((has_response(store, "r16") && !has_response(store, "r15"))); // an owner alone may use all
    for (int i = 0; i < 20; ++i)
        done(store.put(response_of("s" + std::to_string(i), "bob")));
    CHECK((has_response(store, "r17") && !has_response(store, "r16"))); // and half if another needs it
    CHECK((has_response(store, "s17", "bob") && !has_response(store, "s16", "bob")));
}

TEST_CASE("an owner's bytes do not evict those of another within its share") {
    const TemporaryFolder folder;
    ManualClock clock;
    clock.options.file = folder.path() / "store";
    clock.options.bytes_max = 60;
    {
        Store store = open_store(clock.options);
        Response bobs = ten_bytes("b");
        bobs.owner = "bob";
        done(store.put(bobs));
        Status status;
        for (int turns = 1; turns <= 5; ++turns) { // only the last has a response, of 4 bytes
            const auto previous = taken(store.history("ann", "r"));
            const Response response = {
                .id = "r", .owner = "ann", .object = {}, .input = {}, .turn = std::string(10, 't')};
            status = store.put(response, previous ? &*previous : nullptr);
            CHECK(is_refused(status) == (turns == 5));
        }
        CHECK((has_response(store, "b", "bob") && taken(store.size()).bytes == 54));
    }
    Store store = open_store(clock.options); // the sums are recomputed
    done(store.put({.id = "x", .owner = "ann", .object = std::string(26, 'o'), .input = {}, .turn = {}}));
    CHECK((has_response(store, "b", "bob") && has_response(store, "x")));
    const Status refused =
        store.put({.id = "y", .owner = "ann", .object = std::string(56, 'o'), .input = {}, .turn = {}});
    REQUIRE(is_refused(refused)); // it would fit if no other owner had entries
    CHECK(refused.error().message.find("60 bytes") != std::string::npos);
    CHECK(refused.error().message.find("30") != std::string::npos);
    CHECK((has_response(store, "b", "bob") && has_response(store, "x")));
}

TEST_CASE("an entry larger than bytes_max is refused, and nothing is evicted") {
    ManualClock clock;
    clock.options.bytes_max = 30;
    Store store = open_store(clock.options);
    done(store.put(ten_bytes("a")));
    done(store.create({.id = "c", .owner = "ann"}, {}));
    Response large = response_of("large");
    large.object = std::string(30, 'o');
    const Status refused = store.put(large);
    REQUIRE(is_refused(refused));
    CHECK(refused.error().message.find("30") != std::string::npos);
    CHECK_FALSE(refused.error().hint.empty());
    Completion completion = completion_of("m");
    completion.metadata["key"] = std::string(30, 'v');
    CHECK(is_refused(store.put(completion)));
    CHECK(is_refused(store.create({.id = "d", .owner = "ann", .metadata = std::string(30, 'm')}, {})));
    CHECK_FALSE(store.set_metadata("ann", "c", std::string(27, 'm')));
    CHECK_FALSE(store.add_items("ann", {.conversation = "c", .items = {{"i", std::string(26, 'b')}}}));
    const Addition addition = {.conversation = "c", .items = {{"i", std::string(20, 'b')}}};
    CHECK(is_refused(store.put(ten_bytes("r"), nullptr, &addition))); // together
    CHECK((has_response(store, "a") && taken(store.conversation("ann", "c"))));
    CHECK((taken(store.size()).bytes == 14 && taken(store.items("ann", "c"))->empty()));
}

TEST_CASE("a response counts with its history") {
    ManualClock clock;
    clock.options.bytes_max = 100;
    Store store = open_store(clock.options);
    const auto put = [&](const std::string& id, const std::string& previous) {
        const auto history = taken(store.history("ann", previous));
        const Response response = {
            .id = id, .owner = "ann", .object = {}, .input = {}, .turn = std::string(26, 't')};
        return store.put(response, history ? &*history : nullptr);
    };
    done(put("a", ""));
    done(put("b", "a"));
    done(put("c", "b"));
    CHECK(taken(store.size()).bytes == 90);
    CHECK(is_refused(put("d", "c"))); // four turns are 104
    CHECK(history_of(store, "c").size() == 80);
    done(put("e", "")); // a and b are evicted, and their turns retained; then c, and all turns
    CHECK((!has_response(store, "a") && !has_response(store, "c") && has_response(store, "e")));
    CHECK(taken(store.size()).bytes == 30);
}

TEST_CASE("a held history counts, and does not block other entries") {
    ManualClock clock;
    clock.options.bytes_max = 30;
    Store store = open_store(clock.options);
    Response response = ten_bytes("a");
    response.turn = std::string(20, 't');
    done(store.put(response));
    auto held = taken(store.history("ann", "a"));
    CHECK(taken(store.delete_response("ann", "a")));
    for (const char* id : {"b", "c", "d"})
        done(store.put(ten_bytes(id)));
    CHECK((taken(store.size()).bytes == 30 && has_response(store, "d") && !has_response(store, "c")));
    held.reset();
    done(store.put(ten_bytes("e")));
    CHECK((taken(store.size()).bytes == 20 && has_response(store, "d")));
}

TEST_CASE("narrower bounds apply on opening") {
    const TemporaryFolder folder;
    StoreOptions options = wide_options(folder.path() / "store");
    {
        Store store = open_store(options);
        for (int i = 0; i < 20; ++i)
            done(store.put(response_of("r" + std::to_string(i))));
    }
    options.responses.entries_max = 3;
    Store store = open_store(options);
    CHECK((taken(store.size()).responses == 3 && has_response(store, "r17") && !has_response(store, "r16")));
}
