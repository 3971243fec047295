// Several threads at one store.
#include "tests/storage/opened.hpp"

#include <array>
#include <atomic>
#include <thread>

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

constexpr int threads = 6;
constexpr int rounds = 60;

/// Makes a chain, lists, deletes; what went otherwise than it should. No assertions: they are not
/// thread-safe.
int work(Store& store, int thread) {
    const std::string owner = "owner" + std::to_string(thread % 2); // some share one
    const std::string own = std::to_string(thread) + "-";
    int wrong = 0;
    const auto expect = [&](bool is_right) { wrong += is_right ? 0 : 1; };
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

/// Goes on from responses that others crowd out.
int crowd(Store& store, int thread) {
    int wrong = 0;
    std::optional<History> last;
    for (int i = 0; i < rounds; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        const Status put = store.put(response_of(id), last ? &*last : nullptr);
        auto next = store.history("ann", id); // gone at times
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

TEST_CASE("threads at one store do not disturb each other") {
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

TEST_CASE("histories that end on other threads while bounds are narrow") {
    StoreOptions options = wide_options();
    options.responses.entries_max = 4;
    options.bytes_max = 2000;
    Store store = open_store(options);
    std::atomic<int> wrong = 0;
    {
        std::array<std::jthread, threads> running;
        for (int i = 0; i < threads; ++i)
            running.at(static_cast<std::size_t>(i)) = std::jthread([&, i] { wrong += crowd(store, i); });
    }
    CHECK(wrong == 0);
    CHECK_FALSE(taken(store.delete_response("ann", "nothing")));
    CHECK(taken(store.size()).responses <= 4);
}
