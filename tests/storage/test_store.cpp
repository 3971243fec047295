#include "tests/storage/test_store.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <sqlite3.h>

namespace etna::test {

using namespace server::storage;

StoreOptions wide_options(const std::filesystem::path& file) {
    constexpr Bounds wide = {.entries_max = 1'000'000};
    return {.file = file, .responses = wide, .conversations = wide, .completions = wide};
}

void done(const Status& status) {
    if (!status)
        FAIL(to_string(status.error().kind) << ": " << status.error().message);
}

Store open_store(StoreOptions options) {
    auto [store, warnings] = open_with_warnings(std::move(options));
    for (const std::string& warning : warnings)
        FAIL(warning);
    return std::move(store);
}

OpenedWithWarnings open_with_warnings(StoreOptions options) {
    std::vector<std::string> warnings;
    Store store = taken(Store::open(std::move(options), warnings));
    return {std::move(store), std::move(warnings)};
}

Response response_of(const std::string& id, const std::string& owner) {
    return {.id = id,
            .owner = owner,
            .object = "object of " + id,
            .input = "input of " + id,
            .turn = id,
            .events = "events of " + id};
}

Completion completion_of(const std::string& id, const std::string& owner) {
    return {.id = id, .owner = owner, .object = "object of " + id, .messages = "messages of " + id};
}

void put_after(Store& store, const std::string& id, const std::string& previous) {
    const auto history = taken(store.history("ann", previous));
    REQUIRE(history);
    done(store.put(response_of(id), &*history));
}

std::string history_of(Store& store, const std::string& id, const std::string& owner) {
    const auto history = taken(store.history(owner, id));
    if (!history)
        return "none";
    std::string joined;
    for (const std::string& turn : history->turns())
        joined += (joined.empty() ? "" : " ") + turn;
    return joined;
}

bool has_response(Store& store, const std::string& id, const std::string& owner) {
    return taken(store.response(owner, id)).has_value();
}

std::string shown(const Result<std::optional<Page>>& page) {
    const auto content = taken(page);
    if (!content)
        return "none";
    std::string ids;
    for (const Item& item : content->items)
        ids += (ids.empty() ? "" : " ") + item.id;
    return ids + (content->has_more ? "..." : "");
}

int64_t run_sql(const std::filesystem::path& file, const std::string& sql) {
    sqlite3* database = nullptr;
    int64_t last = 0;
    const auto on_row = [](void* number, int columns, char** texts, char**) {
        if (columns > 0 && texts[0] != nullptr)
            *static_cast<int64_t*>(number) = std::atoll(texts[0]);
        return 0;
    };
    int code = ::sqlite3_open(file.c_str(), &database);
    if (code == SQLITE_OK)
        code = ::sqlite3_exec(database, sql.c_str(), on_row, &last, nullptr);
    const std::string message = ::sqlite3_errmsg(database);
    ::sqlite3_close(database);
    if (code != SQLITE_OK)
        throw std::runtime_error(file.string() + ": " + message);
    return last;
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void overwrite(const std::filesystem::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

} // namespace etna::test
