#pragma once

#include "server/memory/store.hpp"
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
server::memory::StoreOptions wide_options(const std::filesystem::path& file = {});

/// The value; an error fails the test case.
template <class T>
T taken(Result<T> result) {
    if (!result)
        FAIL(to_string(result.error().kind) << ": " << result.error().message);
    return std::move(result).value();
}
void done(const Status& status);

/// Without a warning.
server::memory::Store open_store(server::memory::StoreOptions options);

struct OpenedWithWarnings {
    server::memory::Store store;
    std::vector<std::string> warnings;
};
OpenedWithWarnings open_with_warnings(server::memory::StoreOptions options);

/// Its texts are told from its id.
server::memory::Response response_of(const std::string& id, const std::string& owner = "ann");
server::memory::Completion completion_of(const std::string& id, const std::string& owner = "ann");

/// Puts response_of(id), which goes on from another.
void put_after(server::memory::Store& store, const std::string& id, const std::string& previous);

/// Turns of a history, joined with spaces; "none".
std::string history_of(server::memory::Store& store, const std::string& id, const std::string& owner = "ann");

bool has_response(server::memory::Store& store, const std::string& id, const std::string& owner = "ann");

/// Ids of a page joined with spaces, "..." behind them where there is more; "none".
std::string shown(const Result<std::optional<server::memory::Page>>& page);

} // namespace etna::test
