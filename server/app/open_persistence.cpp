#include "server/app/open_persistence.hpp"

#include "server/faces/responses/rerun.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server {
namespace {

using Report = std::function<void(std::string_view)>;

Result<storage::Store> open_store(storage::StoreOptions options, const Report& report) {
    std::vector<std::string> warnings;
    auto store = storage::Store::open(std::move(options), warnings);
    for (const std::string& warning : warnings)
        report(warning);
    return store;
}

/// Waits for the process that holds the file to end, if it has announced its end.
Result<storage::Store> wait_for_store(const storage::StoreOptions& options, const Report& report) {
    constexpr std::chrono::milliseconds poll{100};
    auto store = open_store(options, report);
    if (!store && store.error().kind == ErrorKind::busy)
        report(fmt::format("waiting for another etna to release {}", options.file.string()));
    while (!store && store.error().kind == ErrorKind::busy) {
        std::this_thread::sleep_for(poll);
        store = open_store(options, report);
    }
    return store;
}

/// Opens the key next to the store. An unusable key is replaced by a temporary one, and data sealed with it
/// cannot be unsealed.
Result<Seal> open_seal(const std::filesystem::path& store, const Report& report) {
    if (store.empty())
        return Seal::temporary();
    auto seal = Seal::open(store.string() + ".key");
    if (seal)
        return seal;
    report(seal.error().message + "; sealed items are valid until the server ends");
    return Seal::temporary();
}

} // namespace

Result<std::unique_ptr<Persistence>> open_persistence(const PersistenceOptions& options,
                                                      const Report& report) {
    if (!options.is_enabled) {
        ETNA_TRY(auto seal, Seal::temporary());
        return std::make_unique<Persistence>(std::nullopt, seal);
    }
    auto store = wait_for_store(options.store, report);
    const bool is_memory_fallback = !store && options.in_memory;
    if (is_memory_fallback) {
        report(store.error().message + ": responses are kept in memory only, until this server ends");
        store = open_store(*options.in_memory, report);
    }
    if (!store)
        return store.error();
    ETNA_TRY(const auto pending, store->pending());
    for (const storage::Response& response : pending) {
        if (responses::read_rerun(response.events))
            continue;
        if (const Status interrupted = responses::interrupt(*store, response); !interrupted)
            report(interrupted.error().message);
    }
    ETNA_TRY(auto seal, open_seal(options.store.file, report));
    return std::make_unique<Persistence>(std::move(*store), seal,
                                         is_memory_fallback ? std::filesystem::path() : options.store.file,
                                         is_memory_fallback);
}

} // namespace etna::server
