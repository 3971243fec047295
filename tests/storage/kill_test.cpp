// The process is killed at any moment: what a function returned from is there, and nothing is half there.
#include "tests/storage/child.hpp"
#include "tests/storage/opened.hpp"

#include <chrono>
#include <map>
#include <random>
#include <thread>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
namespace fs = std::filesystem;

namespace {

std::string name(int number) {
    return "r" + std::to_string(number);
}

/// Operation `number`, every fifth of which deletes what the third before it put; others put a response that
/// goes on from the last, or from none, with an item of a conversation.
bool is_deletion(int number) {
    return number % 5 == 4;
}

bool begins_anew(int number) {
    return number == 0 || number % 7 == 0;
}

int previous_of(int number) {
    return is_deletion(number - 1) ? number - 2 : number - 1;
}

Status operate(Store& store, int number) {
    if (is_deletion(number)) {
        ETNA_TRY(const bool was_there, store.delete_response("ann", name(number - 3)));
        return was_there ? Status() : Error{ErrorKind::internal, "it was not there"};
    }
    std::optional<History> previous;
    if (!begins_anew(number)) {
        ETNA_TRY(previous, store.history("ann", name(previous_of(number))));
        if (!previous)
            return Error{ErrorKind::internal, "it has no history"};
    }
    Response response = response_of(name(number));
    response.events = std::string(static_cast<std::size_t>(number % 11) * 1000, 'e');
    const Addition addition = {.conversation = "c", .items = {{name(number), "item"}}};
    return store.put(response, previous ? &*previous : nullptr, &addition);
}

/// What is there after so many operations: histories by id, and the items.
struct Expected {
    std::map<std::string, std::string> histories;
    std::string items;
};

Expected expected_after(int operations) {
    Expected expected;
    std::map<int, std::string> all;
    for (int i = 0; i < operations; ++i) {
        if (is_deletion(i)) {
            expected.histories.erase(name(i - 3));
            continue;
        }
        all[i] = begins_anew(i) ? name(i) : all[previous_of(i)] + " " + name(i);
        expected.histories[name(i)] = all[i];
        expected.items += (expected.items.empty() ? "" : " ") + name(i);
    }
    return expected;
}

bool is_as_expected(Store& store, int operations) {
    const Expected expected = expected_after(operations);
    if (taken(store.size()).responses != expected.histories.size())
        return false;
    for (const auto& [id, history] : expected.histories) {
        const auto response = taken(store.response("ann", id));
        if (history_of(store, id) != history || response->object != "object of " + id)
            return false;
    }
    return shown(store.items("ann", "c", {.limit = 1'000'000})) == expected.items;
}

/// Operations from `first` on, each told when it is done.
void operate_until_killed(const fs::path& file, int first, int descriptor) {
    std::vector<std::string> warnings;
    auto store = Store::open(wide_options(file), warnings);
    if (!store || !warnings.empty())
        return tell(descriptor, "not opened");
    for (int i = first;; ++i) {
        if (!operate(*store, i))
            return tell(descriptor, "failed");
        tell(descriptor, ".");
    }
}

void kill_again_and_again(int rounds, unsigned seed) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    {
        Store store = open_store(wide_options(file));
        done(store.create({.id = "c", .owner = "ann"}, {}));
    }
    std::mt19937_64 random(seed);
    int operations = 0;
    for (int round = 0; round < rounds; ++round) {
        INFO("round " << round << ", after " << operations << " operations");
        Child child([&](int descriptor) { operate_until_killed(file, operations, descriptor); });
        if (round % 4 != 0) // else it is killed while it opens the file, at times
            child.wait_until_told(".");
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
        child.kill();
        const std::string told = child.told();
        REQUIRE(told == std::string(told.size(), '.'));
        operations += static_cast<int>(told.size());

        Store store = open_store(wide_options(file));
        if (!is_as_expected(store, operations)) {
            ++operations; // done, and killed before it could tell
            REQUIRE(is_as_expected(store, operations));
        }
    }
    CHECK(operations > rounds);
}

} // namespace

TEST_CASE("what was acknowledged is there after the process was killed, and nothing is half there") {
    kill_again_and_again(15, 1);
}

TEST_CASE("the same, two hundred times", "[.long]") {
    kill_again_and_again(200, 2);
}
