// Benchmarks on large stores. Hidden: run with "[.benchmark]".
#include "tests/storage/test_store.hpp"

#include <chrono>

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

/// The shortest of several runs, in milliseconds.
double ms(const std::function<void()>& work, int times = 5) {
    double best = 1e9;
    for (int i = 0; i < times; ++i) {
        const auto began = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - began;
        best = std::min(best, passed.count());
    }
    return best;
}

} // namespace

TEST_CASE("a page of 10,000 completions takes less than 50 ms", "[.benchmark]") {
    const TemporaryFolder folder;
    const StoreOptions options = wide_options(folder.path() / "store");
    {
        Store store = open_store(options);
        const double put_ms = ms(
            [&] {
                for (int i = 0; i < 10'000; ++i) {
                    Completion completion = completion_of("m" + std::to_string(i));
                    completion.model = i % 100 == 0 ? "rare" : "common";
                    completion.metadata = {{"key", std::to_string(i % 2)}, {"rare", std::to_string(i % 500)}};
                    completion.object = std::string(3000, 'o');
                    completion.messages = std::string(3000, 'm');
                    done(store.put(completion));
                }
            },
            1);
        WARN("put: " << put_ms / 10'000 << " ms each");
    }
    Store store = open_store(options);
    const auto list = [&](const char* name, const CompletionFilter& filter, const PageRequest& page,
                          std::size_t expected) {
        const double taken_ms =
            ms([&] { REQUIRE(taken(store.completions("ann", filter, page))->items.size() == expected); });
        WARN(name << ": " << taken_ms << " ms");
        CHECK(taken_ms < 50);
    };
    list("100 of 10,000", {}, {.limit = 100}, 100);
    list("the last 100", {}, {.limit = 100, .order = Order::descending}, 100);
    list("100 from the middle", {}, {.after = "m5000", .limit = 100}, 100);
    list("100 of a model with 100 matches", {.model = "rare"}, {.limit = 100}, 100);
    list("20 of metadata with 20 matches", {.metadata = {{"rare", "7"}}}, {.limit = 100}, 20);
    list("20 of metadata with 20 matches, after one with 5,000", {.metadata = {{"key", "1"}, {"rare", "7"}}},
         {.limit = 100}, 20);
    list("none of metadata and a model without a common match", {.model = "rare", .metadata = {{"key", "1"}}},
         {.limit = 100}, 0);
}

TEST_CASE("opening a large file and loading a long history", "[.benchmark]") {
    const TemporaryFolder folder;
    const StoreOptions options = wide_options(folder.path() / "store");
    {
        Store store = open_store(options);
        std::optional<History> last;
        for (int i = 0; i < 2000; ++i) {
            Response response = response_of("r" + std::to_string(i));
            response.events = std::string(250'000, 'e');
            done(store.put(response, last ? &*last : nullptr));
            last = taken(store.history("ann", response.id));
        }
    }
    WARN("opened: " << ms([&] { open_store(options); }) << " ms, with "
                    << std::filesystem::file_size(options.file) / 1'000'000 << " MB");
    Store store = open_store(options);
    WARN("2,000 turns: " << ms([&] { CHECK(taken(store.history("ann", "r1999"))->turns().size() == 2000); })
                         << " ms");
}
