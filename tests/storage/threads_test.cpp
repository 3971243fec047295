// Several threads on one store.
#include "tests/storage/test_store.hpp"

#include <array>
#include <atomic>
#include <thread>

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

constexpr int threads = 6;
constexpr int rounds = 60;

/// Builds a history, lists and deletes. Returns the number of wrong results; assertions are not thread-safe.
int work(Store& store, int thread) {
    const std::string owner = "owner" + std::to_string(thread % 2); // shared by several threads
    const std::string own = std::to_string(thread) + "-";
    int wrong = 0;
    const auto expect = [&](bool is_expected) { wrong += is_expected ? 0 : 1; };
    for (int i = 0; i < rounds; ++i) {
        const std::string id = own + std::to_string(i);
        const auto history = store.history(owner, own + std::to_string(i - 1));
        expect(history && history->has_value() == (i > 0));
        const Addition addition = {.conversation = "c", .items = {{id, "body"}}};
        expect(store.put(response_of(id, owner), *history ? &**history : nullptr, &addition).has_value());
        expect(store.put(completion_of(id, owner)).has_value());
        const auto longer = store.history(owner, id);
        expect(longer && *longer && (*longer)->turns().size() == static_cast<std::size_t>(i) + 1);
        expect(store.item(owner, "c", id)->has_value());
        expect(store.completions(owner, {}, {.limit = 3}).has_value());
        expect(store.size().has_value());
        if (i > 2)
            expect(*store.delete_response(owner, own + std::to_string(i - 2)));
    }
    return wrong;
}

/// Continues responses that other threads evict. Returns the number of wrong results.
int continue_evicted(Store& store, int thread) {
    int wrong = 0;
    std::optional<History> last;
    for (int i = 0; i < rounds; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        const Status put = store.put(response_of(id), last ? &*last : nullptr);
        auto next = store.history("ann", id); // may have been evicted
        wrong += put && next ? 0 : 1;
        if (i % 10 == 9) {
            last.reset();
        } else if (next && *next) {
            last = std::move(**next);
        }
    }
    return wrong;
}

} // namespace

TEST_CASE("concurrent operations on one store do not interfere") {
    Store store = open_store(wide_options());
    for (const char* owner : {"owner0", "owner1"})
        done(store.create({.id = "c", .owner = owner}, {}));
    std::atomic<int> wrong = 0;
    {
        std::array<std::jthread, threads> running;
        for (int i = 0; i < threads; ++i)
            running.at(static_cast<std::size_t>(i)) = std::jthread([&, i] { wrong += work(store, i); });
    }
    CHECK(wrong == 0);
    const auto size = taken(store.size());
    CHECK((size.responses == threads * 3 && size.completions == threads * rounds));
    CHECK(taken(store.items("owner0", "c"))->size() == threads / 2 * rounds);
}

TEST_CASE("histories are released on other threads under narrow bounds") {
    StoreOptions options = wide_options();
    options.responses.entries_max = 4;
    options.bytes_max = 2000;
    Store store = open_store(options);
    std::atomic<int> wrong = 0;
    {
        std::array<std::jthread, threads> running;
        for (int i = 0; i < threads; ++i)
            running.at(static_cast<std::size_t>(i)) =
                std::jthread([&, i] { wrong += continue_evicted(store, i); });
    }
    CHECK(wrong == 0);
    CHECK_FALSE(taken(store.delete_response("ann", "nothing")));
    CHECK(taken(store.size()).responses <= 4);
}
