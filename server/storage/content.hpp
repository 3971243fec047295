#pragma once

#include "server/storage/database.hpp"
#include "server/storage/pins.hpp"
#include "server/storage/store.hpp"
#include "server/storage/store_file.hpp"

#include <memory>
#include <mutex>

namespace etna::server::storage {

struct Store::Content {
    StoreOptions options;
    FileLock file_lock; ///< declared before the database: released last
    std::unique_ptr<Database> database;
    std::shared_ptr<Pins> pins = std::make_shared<Pins>(); ///< histories may outlive the store
    std::mutex mutex = {};                                 ///< protects the database
};

struct History::State {
    std::shared_ptr<Pins> pins;
    int64_t node; ///< the last node of the chain; pinned
    std::vector<std::string> turns = {};

    State(std::shared_ptr<Pins> keeper, int64_t last) : pins(std::move(keeper)), node(last) {
        pins->add(node);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { pins->remove(node); }
};

} // namespace etna::server::storage
