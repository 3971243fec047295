#include "server/memory/change.hpp"

#include <fmt/format.h>

namespace etna::server::memory {
namespace {

/// The work of any change is that of what it removes: nothing is looked through but
/// what is being made, which stays: it was promised to be found.
Status remove_surplus_of(const Reading& reading, Kind kind, const Kept& kept) {
    Database& database = reading.database();
    const auto number = static_cast<int64_t>(kind);
    for (;;) {
        ETNA_TRY(const auto count, database.number("SELECT count FROM totals WHERE kind = ?", {number}));
        if (static_cast<uint64_t>(count.value_or(0)) <= reading.bounds(kind).entries_max)
            return {};
        ETNA_TRY(const auto oldest,
                 database.number("SELECT number FROM entries WHERE kind = ? AND number NOT IN (?, ?) "
                                 "AND number NOT IN (SELECT number FROM responses WHERE is_pending) "
                                 "ORDER BY freshness LIMIT 1",
                                 {number, kept.entries[0], kept.entries[1]}));
        if (!oldest)
            return {};
        ETNA_CHECK(remove_entry(reading, *oldest));
    }
}

Status check_fits(const Reading& reading, const Kept& kept) {
    ETNA_TRY(const auto own,
             reading.database().number("SELECT sum(bytes) FROM entries WHERE number IN (?, ?)",
                                       {kept.entries[0], kept.entries[1]}));
    const int64_t bytes = own.value_or(0) + kept.history_bytes;
    if (static_cast<uint64_t>(bytes) <= reading.bytes_max())
        return {};
    return Error{
        ErrorKind::invalid_argument,
        fmt::format("what is to be kept has {} bytes, with the turns that it goes on from; all that is "
                    "kept may have {}",
                    bytes, reading.bytes_max()),
        "keep less, or start the server with a higher bound"};
}

Status remove_surplus_bytes(const Reading& reading, const Kept& kept) {
    Database& database = reading.database();
    for (;;) {
        ETNA_TRY(const auto bytes, database.number("SELECT sum(bytes) FROM totals"));
        if (static_cast<uint64_t>(bytes.value_or(0)) <= reading.bytes_max())
            return {};
        ETNA_TRY(const auto oldest,
                 database.number("SELECT number FROM entries WHERE number NOT IN (?, ?) "
                                 "AND number NOT IN (SELECT number FROM responses WHERE is_pending) "
                                 "ORDER BY freshness LIMIT 1",
                                 {kept.entries[0], kept.entries[1]}));
        if (!oldest) // what is left is being made, or gone on from at this moment
            return {};
        ETNA_CHECK(remove_entry(reading, *oldest));
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
    ETNA_CHECK(check_fits(reading, kept));
    return remove_surplus_bytes(reading, kept);
}

} // namespace etna::server::memory
