#pragma once

#include "server/storage/store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Stores for tests, and helpers to read them.
namespace etna::test {

/// Options with bounds that no test reaches.
server::storage::StoreOptions wide_options(const std::filesystem::path& file = {});

/// Returns the value; an error fails the test case.
template <class T>
T taken(Result<T> result) {
    if (!result)
        FAIL(to_string(result.error().kind) << ": " << result.error().message);
    return std::move(result).value();
}
void done(const Status& status);

/// Opens a store; a warning fails the test case.
server::storage::Store open_store(server::storage::StoreOptions options);

struct OpenedWithWarnings {
    server::storage::Store store;
    std::vector<std::string> warnings;
};
OpenedWithWarnings open_with_warnings(server::storage::StoreOptions options);

/// Test entries whose texts are derived from the id.
server::storage::Response response_of(const std::string& id, const std::string& owner = "ann");
server::storage::Completion completion_of(const std::string& id, const std::string& owner = "ann");

/// Stores response_of(id) as a continuation of `previous`.
void put_after(server::storage::Store& store, const std::string& id, const std::string& previous);

/// The turns of a history, joined with spaces; "none" if it does not exist.
std::string history_of(server::storage::Store& store, const std::string& id,
                       const std::string& owner = "ann");

bool has_response(server::storage::Store& store, const std::string& id, const std::string& owner = "ann");

/// The ids of a page, joined with spaces, followed by "..." if there are more; "none" if there is no page.
std::string shown(const Result<std::optional<server::storage::Page>>& page);

/// Runs SQL on the store's file, without the store. Returns the first number of the last row. Throws
/// std::runtime_error on failure.
int64_t run_sql(const std::filesystem::path& file, const std::string& sql);

std::string content_of(const std::filesystem::path& file);
void overwrite(const std::filesystem::path& file, const std::string& content);

} // namespace etna::test
