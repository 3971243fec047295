// A full disk, simulated by a file size limit in a child process.
#include "tests/storage/child.hpp"
#include "tests/storage/test_store.hpp"

#include <csignal>

#include <sys/resource.h>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
namespace fs = std::filesystem;

namespace {

void set_file_bytes_max(rlim_t bytes) {
    rlimit limit = {};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
}

Response large(int number) {
    Response response = response_of("r" + std::to_string(number));
    response.object = std::string(20'000, 'o');
    return response;
}

bool has_all(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
        const auto response = store.response("ann", "r" + std::to_string(i));
        if (!response || !*response || (*response)->object != large(i).object)
            return false;
    }
    return true;
}

/// Fills the store, frees space, and continues. Returns the failure; empty: none.
std::string fill(const fs::path& file, rlim_t bytes_max) {
    std::signal(SIGXFSZ, SIG_IGN);
    std::vector<std::string> warnings;
    auto store = Store::open(wide_options(file), warnings);
    if (!store)
        return store.error().message;
    set_file_bytes_max(bytes_max);
    int count = 0;
    Status status;
    while (count < 1000 && (status = store->put(large(count))))
        ++count;
    if (count == 0 || count == 1000)
        return "never full, or full immediately";
    if (status.error().kind != ErrorKind::io || status.error().hint.empty() ||
        status.error().message.find(file.string()) != 0)
        return "another error: " + status.error().message;
    for (int i = 0; i < 5; ++i) {
        if (store->put(large(count)))
            return "the store is not full";
        if (!has_all(*store, count))
            return "a response is unreadable";
        const auto size = store->size();
        if (!size || size->responses != static_cast<uint64_t>(count))
            return "a response is partially stored";
    }
    set_file_bytes_max(RLIM_INFINITY);
    if (!store->put(large(count)) || !has_all(*store, count + 1))
        return "the store does not continue";
    return {};
}

/// Fills the store with all kinds of entries, and deletes them one by one.
std::string empty_when_full(const fs::path& file, rlim_t bytes_max) {
    std::signal(SIGXFSZ, SIG_IGN);
    std::vector<std::string> warnings;
    auto store = Store::open(wide_options(file), warnings);
    if (!store)
        return store.error().message;
    if (!store->create({.id = "c", .owner = "ann"}, {}))
        return "no conversation";
    set_file_bytes_max(bytes_max);
    int count = 0;
    const auto name = [](int number) { return std::to_string(number); };
    const auto put = [&](int number) -> Status {
        Completion completion = completion_of(name(number));
        completion.object = std::string(20'000, 'o');
        const Item item = {.id = name(number), .body = std::string(20'000, 'b')};
        ETNA_CHECK(store->put(large(number)));
        ETNA_CHECK(store->put(completion));
        const auto added = store->add_items("ann", {.conversation = "c", .items = {item}});
        return added ? Status() : added.error();
    };
    while (count < 1000 && put(count))
        ++count;
    if (count == 0 || count == 1000)
        return "never full, or full immediately";
    for (int i = 0; i < count; ++i) {
        const auto response = store->delete_response("ann", "r" + name(i));
        const auto completion = store->delete_completion("ann", name(i));
        const auto item = store->delete_item("ann", "c", name(i));
        for (const auto* deleted : {&response, &completion, &item}) {
            if (!*deleted || !**deleted)
                return *deleted ? "an entry is missing" : deleted->error().message;
        }
        if (i == 0 && !put(count))
            return "no space for an entry of the size of a deleted one";
    }
    const auto conversation = store->delete_conversation("ann", "c");
    return conversation && *conversation ? "" : "the conversation was not deleted";
}

} // namespace

TEST_CASE("on a full disk nothing is lost, and the store continues when there is space") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    for (const rlim_t bytes_max : {190'000U, 300'000U, 1'000'000U, 4'500'000U, 9'000'000U}) {
        INFO(bytes_max << " bytes");
        fs::remove_all(folder.path());
        CHECK(in_child([&] { return fill(file, bytes_max); }).empty());
        Store store = open_store(wide_options(file));
        CHECK(has_all(store, static_cast<int>(taken(store.size()).responses)));
    }
}

TEST_CASE("on a full disk everything can be deleted, which frees space") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    for (const rlim_t bytes_max : {300'000U, 1'000'000U, 4'500'000U, 9'000'000U}) {
        INFO(bytes_max << " bytes");
        fs::remove_all(folder.path());
        CHECK(in_child([&] { return empty_when_full(file, bytes_max); }) == "");
        open_store(wide_options(file)); // intact
    }
}

TEST_CASE("creating a store on a full disk is an io error") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    CHECK(in_child([&]() -> std::string {
              std::signal(SIGXFSZ, SIG_IGN);
              set_file_bytes_max(5000);
              std::vector<std::string> warnings;
              const auto store = Store::open(wide_options(file), warnings);
              return !store && store.error().kind == ErrorKind::io ? "" : "opened, or a wrong error";
          }).empty());
    Store store = open_store(wide_options(file));
    done(store.put(response_of("r")));
}
