#pragma once

#include "server/memory/entries.hpp"

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace etna::server::memory {

/// What a change has put there, for which others leave.
struct Kept {
    std::array<int64_t, 2> entries = {}; ///< their numbers; 0: none
    int64_t history_bytes = 0;           ///< of the turns that they go on from
};

/// All of it is done, or nothing. Begins without what is past its age. Move-only.
class Change : public Reading {
public:
    static Result<Change> begin(Store::Content& content);
    Change(Change&&) noexcept = default;
    Change& operator=(Change&&) = delete;
    ~Change();

    /// The oldest leave until the bounds are kept. Error: invalid_argument (what is kept is too large for
    /// them), and then nothing is done.
    Status commit(const Kept& kept = {});

private:
    Change(Reading reading, Transaction transaction)
        : Reading(std::move(reading)), transaction_(std::move(transaction)),
          unpinned_(pins().take_unpinned()) {}

    Transaction transaction_;
    std::vector<int64_t> unpinned_; ///< nodes that this change looks at
};

/// Makes a change, and where that fails for want of room, once more: with the room that bringing earlier
/// changes into the file gives back. `make` begins, commits, and keeps nothing of a try that failed.
template <class Make>
std::invoke_result_t<Make> make_change(Store::Content& content, const Make& make) {
    auto made = make();
    if (made || made.error().kind != ErrorKind::io)
        return made;
    Reading(content).database().bring_in();
    return make();
}

/// Whether what a change removes is overwritten, as long as this lives: that takes as much room as it had.
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

/// A change that takes something away, which is the way out of a full disk: where there is no room for
/// overwriting it, it leaves without, and what is kept next overwrites it. `remove`: as for make_change(); is
/// told whether to overwrite.
template <class Remove>
Result<bool> make_removal(Store::Content& content, const Remove& remove) {
    const auto removed = make_change(content, [&] { return remove(true); });
    return removed || removed.error().kind != ErrorKind::io ? removed : remove(false);
}

/// A change of its own. Whether the entry was there.
Result<bool> delete_entry(Store::Content& content, const EntryName& name);

/// Entries past their age, as many as there are: each leaves once.
Status remove_expired(const Reading& reading);

/// Error: invalid_argument, as Change::commit.
Status remove_surplus(const Reading& reading, const Kept& kept);

} // namespace etna::server::memory
