#include "server/keeping.hpp"

#include "core/base/log.hpp"
#include "server/json.hpp"
#include "server/responses/object.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

using Tell = std::function<void(std::string_view)>;

/// Settles a response whose process has ended.
Status settle(storage::Store& store, storage::Response response) {
    response.object = text_of(responses::interrupted(parse_json(response.object)));
    response.is_pending = false;
    return store.put(response);
}

Result<storage::Store> open_store(storage::StoreOptions options, const Tell& tell) {
    std::vector<std::string> warnings;
    auto store = storage::Store::open(std::move(options), warnings);
    for (const std::string& warning : warnings)
        tell(warning);
    return store;
}

/// Waits for the process that holds the file to end, if it has announced its end.
Result<storage::Store> wait_for_store(const storage::StoreOptions& options, const Tell& tell) {
    constexpr std::chrono::milliseconds poll{100};
    auto store = open_store(options, tell);
    if (!store && store.error().kind == ErrorKind::busy)
        tell(fmt::format("waiting for another etna to release {}", options.file.string()));
    while (!store && store.error().kind == ErrorKind::busy) {
        std::this_thread::sleep_for(poll);
        store = open_store(options, tell);
    }
    return store;
}

/// Opens the key next to the store. An unusable key is replaced by a temporary one, and data sealed with it
/// cannot be unsealed.
Result<Seal> open_seal(const std::filesystem::path& store, const Tell& tell) {
    if (store.empty())
        return Seal::temporary();
    auto seal = Seal::open(store.string() + ".key");
    if (seal)
        return seal;
    tell(seal.error().message + ": what is sealed can be opened until the server ends");
    return Seal::temporary();
}

} // namespace

Result<std::unique_ptr<Keeping>> open_keeping(const KeepingOptions& options, const Tell& tell) {
    if (!options.keeps) {
        ETNA_TRY(auto seal, Seal::temporary());
        return std::make_unique<Keeping>(std::nullopt, seal);
    }
    auto store = wait_for_store(options.store, tell);
    const bool is_makeshift = !store && options.in_memory;
    if (is_makeshift) {
        tell(store.error().message + ": responses are kept in memory only, until this server ends");
        store = open_store(*options.in_memory, tell);
    }
    if (!store)
        return store.error();
    ETNA_TRY(const auto pending, store->pending());
    for (const storage::Response& response : pending) {
        if (const Status settled = settle(*store, response); !settled)
            tell(settled.error().message);
    }
    ETNA_TRY(auto seal, open_seal(options.store.file, tell));
    return std::make_unique<Keeping>(
        std::move(*store), seal, is_makeshift ? std::filesystem::path() : options.store.file, is_makeshift);
}

storage::Owner owner_of(const AccessRules& access, const HttpRequest& request) {
    return access.api_keys.empty() ? storage::Owner() : fingerprint(given_key(request));
}

ApiError store_failed(const Error& error) {
    const bool is_too_large = error.kind == ErrorKind::invalid_argument;
    if (!is_too_large)
        log(LogLevel::warning, error.message + (error.hint.empty() ? "" : "; ") + error.hint);
    return {.status = is_too_large ? 400 : 500,
            .message = "what the server keeps cannot be used: " +
                       (is_too_large ? message_for_client(error) : without_folders(error.message)),
            .type = is_too_large ? "invalid_request_error" : "server_error",
            .code = "store_failed"};
}

ApiError nothing_is_kept(std::string_view what) {
    return {.status = 400,
            .message = fmt::format("{} need a server that keeps them, and this one keeps nothing", what),
            .code = "unsupported_operation"};
}

} // namespace etna::server
