#pragma once

#include "server/storage/store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Stores for tests, and short ways to ask them.
namespace etna::test {

/// Bounds that nothing comes near.
server::storage::StoreOptions wide_options(const std::filesystem::path& file = {});

/// The value; an error fails the test case.
template <class T>
T taken(Result<T> result) {
    if (!result)
        FAIL(to_string(result.error().kind) << ": " << result.error().message);
    return std::move(result).value();
}
void done(const Status& status);

/// Without a warning.
server::storage::Store open_store(server::storage::StoreOptions options);

struct OpenedWithWarnings {
    server::storage::Store store;
    std::vector<std::string> warnings;
};
OpenedWithWarnings open_with_warnings(server::storage::StoreOptions options);

/// Its texts are told from its id.
server::storage::Response response_of(const std::string& id, const std::string& owner = "ann");
server::storage::Completion completion_of(const std::string& id, const std::string& owner = "ann");

/// Puts response_of(id), which goes on from another.
void put_after(server::storage::Store& store, const std::string& id, const std::string& previous);

/// Turns of a history, joined with spaces; "none".
std::string history_of(server::storage::Store& store, const std::string& id,
                       const std::string& owner = "ann");

bool has_response(server::storage::Store& store, const std::string& id, const std::string& owner = "ann");

/// Ids of a page joined with spaces, "..." behind them where there is more; "none".
std::string shown(const Result<std::optional<server::storage::Page>>& page);

} // namespace etna::test
