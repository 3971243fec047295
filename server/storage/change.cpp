#include "server/storage/change.hpp"

#include <utility>

namespace etna::server::storage {

Result<Change> Change::begin(Store::Impl& impl) {
    LockedStore store(impl);
    ETNA_TRY(Transaction transaction, Transaction::begin(store.database()));
    Change change(std::move(store), std::move(transaction));
    for (const int64_t node : change.unpinned_)
        ETNA_CHECK(release_turns(change.database(), change.pins(), node));
    ETNA_CHECK(remove_expired(change));
    return change;
}

Change::~Change() {
    if (!unpinned_.empty())
        pins().return_unpinned(unpinned_);
}

Status Change::commit(const Inserted& inserted) {
    ETNA_CHECK(evict_surplus(*this, inserted));
    if (inserted.entries != Inserted().entries)
        ETNA_CHECK(database().reserve());
    ETNA_CHECK(transaction_.commit());
    unpinned_.clear();
    return {};
}

Result<bool> delete_entry(Store::Impl& impl, const EntryName& name) {
    return retry_removal(impl, [&](Erasure erasure) -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(impl));
        const ErasureGuard guard(change.database(), erasure);
        ETNA_TRY(const auto number, find_entry(change, name));
        if (number)
            ETNA_CHECK(remove_entry(change, *number));
        ETNA_CHECK(change.commit());
        return number.has_value();
    });
}

} // namespace etna::server::storage
