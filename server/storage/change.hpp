#pragma once

#include "server/storage/entries.hpp"

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace etna::server::storage {

/// What a change added; surplus removal evicts other entries for it.
struct Kept {
    std::array<int64_t, 2> entries = {}; ///< entry numbers; 0: none
    int64_t history_bytes = 0;           ///< size of the turns that the entries continue
};

/// An atomic change. begin() first removes expired entries. Move-only.
class Change : public Reading {
public:
    static Result<Change> begin(Store::Content& content);
    Change(Change&&) noexcept = default;
    Change& operator=(Change&&) = delete;
    ~Change();

    /// Evicts the oldest entries until the bounds hold, and commits. Error: invalid_argument (the added
    /// entries exceed the bounds); then nothing is changed.
    Status commit(const Kept& kept = {});

private:
    Change(Reading reading, Transaction transaction)
        : Reading(std::move(reading)), transaction_(std::move(transaction)),
          unpinned_(pins().take_unpinned()) {}

    Transaction transaction_;
    std::vector<int64_t> unpinned_; ///< unpinned nodes that this change checks
};

/// Runs a change, and retries it once on an I/O error such as a full disk, after a checkpoint has freed WAL
/// space. `make` begins and commits, and must leave no effect of a failed attempt.
template <class Make>
std::invoke_result_t<Make> make_change(Store::Content& content, const Make& make) {
    auto made = make();
    if (made || made.error().kind != ErrorKind::io)
        return made;
    Reading(content).database().bring_in();
    return make();
}

/// RAII guard that sets whether a change overwrites what it removes, which takes as much space again.
class Overwriting {
public:
    Overwriting(Database& database, bool overwrites) : database_(overwrites ? nullptr : &database) {
        if (database_ != nullptr)
            (void)database_->execute("PRAGMA secure_delete = FAST");
    }
    Overwriting(const Overwriting&) = delete;
    Overwriting& operator=(const Overwriting&) = delete;
    ~Overwriting() {
        if (database_ != nullptr)
            (void)database_->execute("PRAGMA secure_delete = ON");
    }

private:
    Database* database_; ///< borrowed; null: nothing is changed
};

/// Runs a removal, which must succeed even on a full disk: without space for overwriting, it removes without,
/// and later changes overwrite the data. `remove`: as for make_change(); its argument says whether to
/// overwrite.
template <class Remove>
Result<bool> make_removal(Store::Content& content, const Remove& remove) {
    const auto removed = make_change(content, [&] { return remove(true); });
    return removed || removed.error().kind != ErrorKind::io ? removed : remove(false);
}

/// Deletes an entry in a separate change. Returns whether it existed.
Result<bool> delete_entry(Store::Content& content, const EntryName& name);

/// Removes all expired entries.
Status remove_expired(const Reading& reading);

/// Evicts entries beyond the bounds. Error: invalid_argument, as Change::commit.
Status remove_surplus(const Reading& reading, const Kept& kept);

} // namespace etna::server::storage
