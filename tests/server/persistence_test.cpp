// Opening the store while another server holds its file.
#include "server/app/open_persistence.hpp"
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
using server::PersistenceOptions;

namespace {

server::storage::StoreOptions bounded(const std::filesystem::path& file = {}) {
    return {.file = file, .responses = {.entries_max = 10}};
}

struct Opened {
    Result<std::unique_ptr<server::Persistence>> persistence;
    std::vector<std::string> messages;
};

Opened open(const PersistenceOptions& options) {
    std::vector<std::string> messages;
    auto persistence =
        server::open_persistence(options, [&](std::string_view line) { messages.emplace_back(line); });
    return {std::move(persistence), std::move(messages)};
}

server::storage::Response response_of(const std::string& id) {
    return {.id = id, .owner = {}, .object = "{}", .input = "[]", .turn = "[]"};
}

bool has_response(server::Persistence& persistence, const std::string& id) {
    return persistence.store->response("", id).value().has_value();
}

} // namespace

TEST_CASE("if another server holds the default file, the store is in memory, with a message") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    const Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.persistence);
    CHECK(((*first.persistence)->file == file && !(*first.persistence)->is_memory_fallback &&
           first.messages.empty()));
    const Opened second = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(second.persistence);
    CHECK(((*second.persistence)->file.empty() && (*second.persistence)->is_memory_fallback));
    REQUIRE(second.messages.size() == 1);
    CHECK(second.messages[0].find("another process has it open: responses are kept in memory only") !=
          std::string::npos);
    CHECK((*second.persistence)->store->put(response_of("a")));
    CHECK(has_response(**second.persistence, "a"));
    CHECK(!has_response(**first.persistence, "a"));
    const Opened named = open({.store = bounded(file)}); // a file chosen by the operator
    REQUIRE(!named.persistence);
    CHECK(named.persistence.error().message.find("another process has it open") != std::string::npos);
}

TEST_CASE("opening waits for a server that has announced its end, and finds its responses") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.persistence);
    CHECK((*first.persistence)->store->put(response_of("a")));
    (*first.persistence)->store->announce_end(100s);
    std::atomic<bool> is_waiting{false};
    auto second = std::async(std::launch::async, [&] {
        return server::open_persistence(
            {.store = bounded(file), .in_memory = bounded()}, [&](std::string_view line) {
                is_waiting = line == "waiting for another etna to release " + file.string();
            });
    });
    while (!is_waiting && second.wait_for(10ms) != std::future_status::ready) {
    }
    CHECK(is_waiting);
    CHECK(second.wait_for(300ms) == std::future_status::timeout);
    first.persistence->reset();
    const auto opened = second.get();
    REQUIRE(opened);
    CHECK(((*opened)->file == file && !(*opened)->is_memory_fallback && has_response(**opened, "a")));
    const Opened third = open({.store = bounded(file), .in_memory = bounded()});
    CHECK((*third.persistence)->is_memory_fallback); // the announcement was that of the first server
}

TEST_CASE("a server that misses its announced end is no longer waited for") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "responses.db";
    const Opened first = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(first.persistence);
    (*first.persistence)->store->announce_end(1s);
    const Opened second = open({.store = bounded(file), .in_memory = bounded()});
    REQUIRE(second.persistence);
    CHECK((*second.persistence)->is_memory_fallback);
    CHECK(second.messages.size() == 2);
}
