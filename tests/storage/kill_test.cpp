// The process is killed at random moments: completed changes are durable, and no change is partial.
#include "tests/storage/child.hpp"
#include "tests/storage/test_store.hpp"

#include <chrono>
#include <map>
#include <random>
#include <thread>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
namespace fs = std::filesystem;

namespace {

std::string response_id(int number) {
    return "r" + std::to_string(number);
}

/// Every fifth operation deletes the response of three operations before; others store a response that
/// continues the previous one, or none, with an item of a conversation.
bool is_deletion(int number) {
    return number % 5 == 4;
}

bool starts_history(int number) {
    return number == 0 || number % 7 == 0;
}

int previous_of(int number) {
    return is_deletion(number - 1) ? number - 2 : number - 1;
}

Status operate(Store& store, int number) {
    if (is_deletion(number)) {
        ETNA_TRY(const bool was_there, store.delete_response("ann", response_id(number - 3)));
        return was_there ? Status() : Error{ErrorKind::internal, "the response is missing"};
    }
    std::optional<History> previous;
    if (!starts_history(number)) {
        ETNA_TRY(previous, store.history("ann", response_id(previous_of(number))));
        if (!previous)
            return Error{ErrorKind::internal, "the history is missing"};
    }
    Response response = response_of(response_id(number));
    response.events = std::string(static_cast<std::size_t>(number % 11) * 1000, 'e');
    const Addition addition = {.conversation = "c", .items = {{response_id(number), "item"}}};
    return store.put(response, previous ? &*previous : nullptr, &addition);
}

/// The expected content after a number of operations.
struct Expected {
    std::map<std::string, std::string> histories; ///< by id
    std::string items;
};

Expected expected_after(int operations) {
    Expected expected;
    std::map<int, std::string> all;
    for (int i = 0; i < operations; ++i) {
        if (is_deletion(i)) {
            expected.histories.erase(response_id(i - 3));
            continue;
        }
        all[i] = starts_history(i) ? response_id(i) : all[previous_of(i)] + " " + response_id(i);
        expected.histories[response_id(i)] = all[i];
        expected.items += (expected.items.empty() ? "" : " ") + response_id(i);
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

/// Runs operations from `first` on, and reports each when it is done.
void operate_until_killed(const fs::path& file, int first, int descriptor) {
    std::vector<std::string> warnings;
    auto store = Store::open(wide_options(file), warnings);
    if (!store || !warnings.empty())
        return write_all(descriptor, "not opened");
    for (int i = first;; ++i) {
        if (!operate(*store, i))
            return write_all(descriptor, "failed");
        write_all(descriptor, ".");
    }
}

void kill_repeatedly(int rounds, unsigned seed) {
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
        if (round % 4 != 0) // otherwise it may be killed while it opens the file
            child.wait_for_output(".");
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000)); // a kill at any moment
        child.kill();
        const std::string output = child.output();
        REQUIRE(output == std::string(output.size(), '.'));
        operations += static_cast<int>(output.size());

        Store store = open_store(wide_options(file));
        if (!is_as_expected(store, operations)) {
            ++operations; // done, and killed before the report
            REQUIRE(is_as_expected(store, operations));
        }
    }
    CHECK(operations > rounds);
}

} // namespace

TEST_CASE("acknowledged changes survive a kill, and no change is partial") {
    kill_repeatedly(15, 1);
}

TEST_CASE("acknowledged changes survive two hundred kills", "[.long]") {
    kill_repeatedly(200, 2);
}
