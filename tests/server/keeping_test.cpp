// Where responses are kept, and what is done where another server has the file.
#include "server/keeping.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace etna;
using namespace std::chrono_literals;
using server::KeepingOptions;

namespace {

server::storage::StoreOptions bounded(const std::filesystem::path& file = {}) {
    return {.file = file, .responses = {.entries_max = 10}};
}

struct Opened {
    Result<std::unique_ptr<server::Keeping>> keeping;
    std::vector<std::string> told;
};

Opened open(const KeepingOptions& options) {
    std::vector<std::string> told;
    auto keeping = server::open_keeping(options, [&](std::string_view line) { told.emplace_back(line); });
    return {std::move(keeping), std::move(told)};
}

server::storage::Response response_of(const std::string& id) {
    return {.id = id, .owner = {}, .object = "{}", .input = "[]", .turn = "[]"};
}

bool has(server::Keeping& keeping, const std::string& id) {
    return keeping.store->response("", id).value().has_value();
}

} // namespace

TEST_CASE("where another server has the usual file, memory stands in for it, and that is told") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    const Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.keeping);
    CHECK(((*first.keeping)->file == file && !(*first.keeping)->is_makeshift && first.told.empty()));
    const Opened second = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(second.keeping);
    CHECK(((*second.keeping)->file.empty() && (*second.keeping)->is_makeshift));
    REQUIRE(second.told.size() == 1);
    CHECK(second.told[0].find("another process has it open: responses are kept in memory only") !=
          std::string::npos);
    CHECK((*second.keeping)->store->put(response_of("a")));
    CHECK(has(**second.keeping, "a"));
    CHECK(!has(**first.keeping, "a"));
    const Opened named = open({.store = bounded(file)}); // a file of the operator's choice
    REQUIRE(!named.keeping);
    CHECK(named.keeping.error().message.find("another process has it open") != std::string::npos);
}

TEST_CASE("a server that is about to end is waited for, and its responses are there then") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.keeping);
    CHECK((*first.keeping)->store->put(response_of("a")));
    (*first.keeping)->store->announce_end(100s);
    std::atomic<bool> is_waiting{false};
    auto second = std::async(std::launch::async, [&] {
        return server::open_keeping(
            {.store = bounded(file), .in_memory = bounded()}, [&](std::string_view line) {
                is_waiting = line == "waiting for another etna to release " + file.string();
            });
    });
    while (!is_waiting && second.wait_for(10ms) != std::future_status::ready) {
    }
    CHECK(is_waiting);
    CHECK(second.wait_for(300ms) == std::future_status::timeout);
    first.keeping->reset();
    const auto opened = second.get();
    REQUIRE(opened);
    CHECK(((*opened)->file == file && !(*opened)->is_makeshift && has(**opened, "a")));
    const Opened third = open({.store = bounded(file), .in_memory = bounded()});
    CHECK((*third.keeping)->is_makeshift); // what the first announced is not the second's
}

TEST_CASE("a server that has not ended when it said is not waited for") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    const Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.keeping);
    (*first.keeping)->store->announce_end(1s);
    const Opened second = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(second.keeping);
    CHECK((*second.keeping)->is_makeshift);
    CHECK(second.told.size() == 2);
}
