#include "server/storage/change.hpp"

#include "server/storage/turns.hpp"

#include <utility>

namespace etna::server::storage {

Result<Change> Change::begin(Store::Content& content) {
    Reading reading(content);
    ETNA_TRY(Transaction transaction, Transaction::begin(reading.database()));
    Change change(std::move(reading), std::move(transaction));
    for (const int64_t node : change.unpinned_)
        ETNA_CHECK(release_turns(change.database(), change.pins(), node));
    ETNA_CHECK(remove_expired(change));
    return change;
}

Change::~Change() {
    if (!unpinned_.empty())
        pins().put_back(unpinned_);
}

Status Change::commit(const Kept& kept) {
    ETNA_CHECK(remove_surplus(*this, kept));
    if (kept.entries != Kept().entries)
        ETNA_CHECK(database().reserve());
    ETNA_CHECK(transaction_.commit());
    unpinned_.clear();
    return {};
}

Result<bool> delete_entry(Store::Content& content, const EntryName& name) {
    return make_removal(content, [&](bool overwrites) -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(content));
        const Overwriting overwriting(change.database(), overwrites);
        ETNA_TRY(const auto number, find_entry(change, name));
        if (number)
            ETNA_CHECK(remove_entry(change, *number));
        ETNA_CHECK(change.commit());
        return number.has_value();
    });
}

} // namespace etna::server::storage
