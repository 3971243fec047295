#pragma once

#include "server/memory/entries.hpp"

#include <array>
#include <cstdint>
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

/// A change of its own. Whether the entry was there.
Result<bool> delete_entry(Store::Content& content, const EntryName& name);

/// Entries past their age, as many as there are: each leaves once.
Status remove_expired(const Reading& reading);

/// Error: invalid_argument, as Change::commit.
Status remove_surplus(const Reading& reading, const Kept& kept);

} // namespace etna::server::memory
