#include "server/storage/entries.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace etna::server::storage {
namespace {

using std::chrono::microseconds;

int64_t system_us() {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

int64_t number_of(Kind kind) {
    return static_cast<int64_t>(kind);
}

int64_t bytes_with_name(const EntryName& name, int64_t bytes) {
    return bytes + bytes_of(name.owner) + bytes_of(name.id);
}

} // namespace

LockedStore::LockedStore(Store::Impl& impl)
    : lock_(impl.mutex), impl_(&impl), now_us_(impl.options.now_us ? impl.options.now_us() : system_us()) {}

const Bounds& LockedStore::bounds(Kind kind) const {
    switch (kind) {
    case Kind::response:
        return impl_->options.responses;
    case Kind::conversation:
        return impl_->options.conversations;
    case Kind::completion:
        break;
    }
    return impl_->options.completions;
}

int64_t LockedStore::oldest_us(Kind kind) const {
    constexpr int64_t any = std::numeric_limits<int64_t>::min();
    constexpr auto longest = std::chrono::duration_cast<std::chrono::seconds>(microseconds::max());
    const auto age_max = std::min(bounds(kind).age_max, longest);
    if (age_max.count() <= 0)
        return any;
    const int64_t age_us = microseconds(age_max).count();
    return now_us_ < any + age_us ? any : now_us_ - age_us;
}

Result<std::optional<int64_t>> find_entry(const LockedStore& store, const EntryName& name) {
    if (!store.stores(name.kind))
        return std::optional<int64_t>();
    return store.database().number(
        "SELECT number FROM entries WHERE kind = ? AND owner = ? AND id = ? AND touched_us >= ?",
        {number_of(name.kind), name.owner, name.id, store.oldest_us(name.kind)});
}

Result<int64_t> add_entry(const LockedStore& store, const EntryName& name, int64_t bytes) {
    ETNA_TRY(
        const auto number,
        store.database().number(
            "INSERT INTO entries (kind, owner, id, touched_us, freshness, bytes) "
            "VALUES (?, ?, ?, ?, (SELECT coalesce(max(freshness), 0) + 1 FROM entries), ?) RETURNING number",
            {number_of(name.kind), name.owner, name.id, store.now_us(), bytes_with_name(name, bytes)}));
    return *number;
}

Status grow_entry(const LockedStore& store, int64_t number, int64_t bytes) {
    return store.database().run("UPDATE entries SET bytes = bytes + ? WHERE number = ?", {bytes, number});
}

Status touch_entry(const LockedStore& store, int64_t number) {
    return store.database().run("UPDATE entries SET touched_us = ?, "
                                "freshness = (SELECT max(freshness) + 1 FROM entries) WHERE number = ?",
                                {store.now_us(), number});
}

Status remove_entry(const LockedStore& store, int64_t number) {
    Database& database = store.database();
    ETNA_TRY(const auto node,
             database.number("DELETE FROM responses WHERE number = ? RETURNING node", {number}));
    ETNA_CHECK(database.run("DELETE FROM entries WHERE number = ?", {number}));
    return node ? release_turns(database, store.pins(), *node) : Status();
}

Result<int64_t> upsert_entry(const LockedStore& store, const EntryName& name, int64_t bytes) {
    ETNA_TRY(const auto existing, find_entry(store, name));
    if (!existing)
        return add_entry(store, name, bytes);
    ETNA_CHECK(store.database().run("UPDATE entries SET bytes = ? WHERE number = ?",
                                    {bytes_with_name(name, bytes), *existing}));
    return *existing;
}

} // namespace etna::server::storage
