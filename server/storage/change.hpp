#pragma once

#include "server/storage/eviction.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace etna::server::storage {

/// An atomic change. begin() first removes expired entries. Move-only.
class Change : public LockedStore {
public:
    static Result<Change> begin(Store::Impl& impl);
    Change(Change&&) noexcept = default;
    Change& operator=(Change&&) = delete;
    ~Change();

    /// Evicts the oldest entries until the bounds hold, and commits. Error: invalid_argument (the added
    /// entries exceed the bounds); then nothing is changed.
    Status commit(const Inserted& inserted = {});

private:
    Change(LockedStore store, Transaction transaction)
        : LockedStore(std::move(store)), transaction_(std::move(transaction)),
          unpinned_(pins().take_unpinned()) {}

    Transaction transaction_;
    std::vector<int64_t> unpinned_; ///< unpinned nodes that this change checks
};

/// Runs a change, and retries it once on an I/O error such as a full disk, after a checkpoint has freed WAL
/// space. `apply` begins and commits, and must leave no effect of a failed attempt.
template <class Apply>
std::invoke_result_t<Apply> retry_change(Store::Impl& impl, const Apply& apply) {
    auto result = apply();
    if (result || result.error().kind != ErrorKind::io)
        return result;
    LockedStore(impl).database().checkpoint();
    return apply();
}

/// Whether a removal overwrites the data, which takes as much space again.
enum class Erasure : uint8_t { overwrite, unlink };

/// RAII guard that sets the erasure of a change.
class ErasureGuard {
public:
    ErasureGuard(Database& database, Erasure erasure)
        : database_(erasure == Erasure::overwrite ? nullptr : &database) {
        if (database_ != nullptr)
            (void)database_->execute("PRAGMA secure_delete = FAST");
    }
    ErasureGuard(const ErasureGuard&) = delete;
    ErasureGuard& operator=(const ErasureGuard&) = delete;
    ~ErasureGuard() {
        if (database_ != nullptr)
            (void)database_->execute("PRAGMA secure_delete = ON");
    }

private:
    Database* database_; ///< borrowed; null: nothing is changed
};

/// Runs a removal, which must succeed even on a full disk: without space for overwriting, it only unlinks the
/// data, and later changes overwrite it. `remove`: as for retry_change(), called with the erasure.
template <class Remove>
Result<bool> retry_removal(Store::Impl& impl, const Remove& remove) {
    const auto removed = retry_change(impl, [&] { return remove(Erasure::overwrite); });
    return removed || removed.error().kind != ErrorKind::io ? removed : remove(Erasure::unlink);
}

/// Deletes an entry in a separate change. Returns whether it existed.
Result<bool> delete_entry(Store::Impl& impl, const EntryName& name);

/// Appends items to a conversation, given by its entry number, in this order; touches the conversation and
/// updates its size. Error: invalid_argument (an item was refused).
Status append_items(const Change& change, int64_t conversation, const std::vector<Item>& items,
                    OnDuplicate on_duplicate);

} // namespace etna::server::storage
