#pragma once

#include "server/storage/database.hpp"
#include "server/storage/history.hpp"
#include "server/storage/store.hpp"
#include "server/storage/store_file.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The locked store, and its entries: the owner, id, age and size that responses, conversations and
// completions have in common.
namespace etna::server::storage {

struct Store::Impl {
    StoreOptions options;
    FileLock file_lock; ///< declared before the database: released last
    std::unique_ptr<Database> database;
    std::shared_ptr<NodePins> pins = std::make_shared<NodePins>(); ///< histories may outlive the store
    std::mutex mutex = {};                                         ///< protects the database
};

struct History::Impl {
    std::shared_ptr<NodePins> pins;
    int64_t node; ///< the last node of the chain; pinned
    std::vector<std::string> turns = {};

    Impl(std::shared_ptr<NodePins> store_pins, int64_t last) : pins(std::move(store_pins)), node(last) {
        pins->add(node);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() { pins->remove(node); }
};

enum class Kind : uint8_t { response, conversation, completion }; ///< values as stored in the file
constexpr Kind kinds[] = {Kind::response, Kind::conversation, Kind::completion};

/// Exclusive access to the store: holds its lock and a fixed current time.
class LockedStore {
public:
    explicit LockedStore(Store::Impl& impl);

    [[nodiscard]] Database& database() const { return *impl_->database; }
    [[nodiscard]] NodePins& pins() const { return *impl_->pins; }
    [[nodiscard]] int64_t now_us() const { return now_us_; }
    [[nodiscard]] uint64_t bytes_max() const { return impl_->options.bytes_max; }
    [[nodiscard]] const Bounds& bounds(Kind kind) const;
    [[nodiscard]] bool stores(Kind kind) const { return bounds(kind).entries_max > 0; }

    /// Entries last touched before this time are expired.
    [[nodiscard]] int64_t oldest_us(Kind kind) const;

private:
    std::unique_lock<std::mutex> lock_;
    Store::Impl* impl_; ///< borrowed
    int64_t now_us_;
};

struct EntryName {
    Kind kind;
    const Owner& owner;
    const std::string& id;
};

/// The number of an unexpired entry; empty if there is none, or its kind is not stored.
Result<std::optional<int64_t>> find_entry(const LockedStore& store, const EntryName& name);

/// Adds an entry and returns its number. `bytes` is the size of its texts; owner and id are added to it.
/// Precondition: the entry does not exist.
Result<int64_t> add_entry(const LockedStore& store, const EntryName& name, int64_t bytes);

/// Adds `bytes`, possibly negative, to its size.
Status grow_entry(const LockedStore& store, int64_t number, int64_t bytes);

/// Resets its age after an addition.
Status touch_entry(const LockedStore& store, int64_t number);

/// Removes it with all dependent rows.
Status remove_entry(const LockedStore& store, int64_t number);

/// Adds the entry, or sets the size of the existing one. Returns its number.
Result<int64_t> upsert_entry(const LockedStore& store, const EntryName& name, int64_t bytes);

inline int64_t bytes_of(std::string_view text) {
    return static_cast<int64_t>(text.size());
}

} // namespace etna::server::storage
