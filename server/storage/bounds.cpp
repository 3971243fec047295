#include "server/storage/change.hpp"
#include "server/storage/shares.hpp"

#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

/// The fair share of each owner.
uint64_t share_of(uint64_t bound, const std::vector<Holder>& holders) {
    return holders.empty() ? bound : bound / holders.size();
}

/// An owner's oldest entry of a kind, except entries just added and pending ones, which must remain
/// retrievable.
struct Oldest {
    int64_t number = 0;
    int64_t freshness = 0;
};

Result<std::optional<Oldest>> oldest_of(const Reading& reading, const Owner& owner, Kind kind,
                                        const Kept& kept) {
    ETNA_TRY(Statement row, reading.database().prepare(
                                "SELECT number, freshness FROM entries WHERE owner = ? AND kind = ? "
                                "AND number NOT IN (?, ?) "
                                "AND number NOT IN (SELECT number FROM responses WHERE is_pending) "
                                "ORDER BY freshness LIMIT 1",
                                {owner, static_cast<int64_t>(kind), kept.entries[0], kept.entries[1]}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Oldest{.number = row.number(0), .freshness = row.number(1)})
                    : std::nullopt;
}

/// The entry to evict: the oldest one of the owner with the most, among owners over their share. Empty if the
/// surplus is pending, in use by a live history, or just added.
Result<std::optional<int64_t>> find_leaver(const Reading& reading, const std::vector<Holder>& holders,
                                           uint64_t share, std::span<const Kind> of, const Kept& kept) {
    for (const Holder& holder : holders) {
        std::optional<Oldest> leaver;
        for (const Kind kind : of) {
            if (holder.amount <= share)
                break;
            ETNA_TRY(const auto oldest, oldest_of(reading, holder.owner, kind, kept));
            if (oldest && (!leaver || oldest->freshness < leaver->freshness))
                leaver = oldest;
        }
        if (leaver)
            return std::optional(leaver->number);
    }
    return std::optional<int64_t>();
}

/// The cost is that of the removed entries plus reading each owner's sums.
Status remove_surplus_of(const Reading& reading, Kind kind, const Kept& kept) {
    const uint64_t most = reading.bounds(kind).entries_max;
    for (;;) {
        ETNA_TRY(const auto count, reading.database().number("SELECT count FROM totals WHERE kind = ?",
                                                             {static_cast<int64_t>(kind)}));
        if (static_cast<uint64_t>(count.value_or(0)) <= most)
            return {};
        ETNA_TRY(const auto holders, holders_of(reading, kind));
        ETNA_TRY(const auto leaver,
                 find_leaver(reading, holders, share_of(most, holders), std::span(&kind, 1), kept));
        if (!leaver)
            return {};
        ETNA_CHECK(remove_entry(reading, *leaver));
    }
}

/// Checks that the added entries fit if all else of their owner is evicted.
Status check_fits(const Reading& reading, const Kept& kept, uint64_t bytes_max, std::string_view who) {
    ETNA_TRY(const auto own,
             reading.database().number("SELECT sum(bytes) FROM entries WHERE number IN (?, ?)",
                                       {kept.entries[0], kept.entries[1]}));
    const int64_t bytes = own.value_or(0) + kept.history_bytes;
    if (static_cast<uint64_t>(bytes) <= bytes_max)
        return {};
    return Error{ErrorKind::invalid_argument,
                 fmt::format("what is to be kept has {} bytes, with the turns that it goes on from; {} may "
                             "have {}",
                             bytes, who, bytes_max),
                 "keep less, or start the server with a higher bound"};
}

Status remove_surplus_bytes(const Reading& reading, const Kept& kept) {
    for (;;) {
        ETNA_TRY(const auto bytes, reading.database().number("SELECT sum(bytes) FROM totals"));
        if (static_cast<uint64_t>(bytes.value_or(0)) <= reading.bytes_max())
            return {};
        ETNA_TRY(const auto holders, holders_of_bytes(reading));
        const uint64_t share = share_of(reading.bytes_max(), holders);
        ETNA_TRY(const auto leaver, find_leaver(reading, holders, share, kinds, kept));
        if (!leaver)
            return check_fits(reading, kept, share, "a key that shares the store with others");
        ETNA_CHECK(remove_entry(reading, *leaver));
    }
}

} // namespace

Status remove_expired(const Reading& reading) {
    for (const Kind kind : kinds) {
        for (;;) {
            ETNA_TRY(const auto expired,
                     reading.database().number(
                         "SELECT number FROM entries WHERE kind = ? AND touched_us < ? LIMIT 1",
                         {static_cast<int64_t>(kind), reading.oldest_us(kind)}));
            if (!expired)
                break;
            ETNA_CHECK(remove_entry(reading, *expired));
        }
    }
    return {};
}

Status remove_surplus(const Reading& reading, const Kept& kept) {
    for (const Kind kind : kinds)
        ETNA_CHECK(remove_surplus_of(reading, kind, kept));
    if (reading.bytes_max() == 0)
        return {};
    ETNA_CHECK(check_fits(reading, kept, reading.bytes_max(), "all that is kept"));
    return remove_surplus_bytes(reading, kept);
}

} // namespace etna::server::storage
