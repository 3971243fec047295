#pragma once

#include "server/access.hpp"
#include "server/api_error.hpp"
#include "server/memory/store.hpp"
#include "server/responses/run.hpp"
#include "server/seal.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace etna::server {

/// What is found again later.
struct KeepingOptions {
    bool keeps = true;
    memory::StoreOptions store = {};
    /// What is kept where the file cannot be had; empty: then nothing is opened.
    std::optional<memory::StoreOptions> in_memory = {};
};

/// What a server keeps between requests. Thread-safe.
struct Keeping {
    std::optional<memory::Store> store; ///< empty: nothing is kept
    Seal seal;
    std::filesystem::path file = {}; ///< where it is kept; empty: in memory
    bool is_makeshift = false;       ///< in memory, since the file could not be had
    responses::Runs runs = {};

    [[nodiscard]] memory::Store::Keeps keeps() const {
        return store ? store->keeps() : memory::Store::Keeps{};
    }
};

/// With the responses settled that an earlier process left unfinished. Where another process has the file and
/// has announced its end, waits for that: blocking. What is wrong, and what is waited for, goes to `tell`.
/// Errors: those of memory::Store::open() and Seal::open().
Result<std::unique_ptr<Keeping>> open_keeping(const KeepingOptions& options,
                                              const std::function<void(std::string_view)>& tell);

/// Whose entries a request may see: those of its key.
memory::Owner owner_of(const AccessRules& access, const HttpRequest& request);

/// What went wrong with the store, for clients.
ApiError store_failed(const Error& error);

/// `what`, of which nothing is kept: "conversations".
ApiError nothing_is_kept(std::string_view what);

} // namespace etna::server
