#include "server/storage/change.hpp"
#include "server/storage/history.hpp"

#include <utility>

namespace etna::server::storage {
namespace {

constexpr std::string_view response_texts_missing = "the texts of a response are missing";

/// Reads the texts of an entry.
Result<Response> read_response(const LockedStore& store, int64_t number, const Owner& owner,
                               const std::string& id) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT object, input, turn, events, is_pending FROM responses "
                                      "JOIN nodes ON nodes.number = node WHERE responses.number = ?",
                                      {number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return store.database().damaged(response_texts_missing);
    return Response{.id = id,
                    .owner = owner,
                    .object = row.bytes(0),
                    .input = row.bytes(1),
                    .turn = row.bytes(2),
                    .events = row.bytes(3),
                    .is_pending = row.number(4) != 0};
}

/// Returns the entry's number. Responses that continue a replaced one retain their history.
Result<int64_t> write_response(const Change& change, const Response& response,
                               std::optional<int64_t> parent) {
    Database& database = change.database();
    int64_t bytes = bytes_of(response.object) + bytes_of(response.input) + bytes_of(response.events);
    for (const std::string& id : response.turn_ids)
        bytes += bytes_of(id);
    ETNA_TRY(const int64_t number,
             upsert_entry(change, {Kind::response, response.owner, response.id}, bytes));
    ETNA_TRY(const auto replaced,
             database.number("DELETE FROM responses WHERE number = ? RETURNING node", {number}));
    ETNA_TRY(const int64_t node, add_turn(database, response.owner, response.turn, parent));
    ETNA_CHECK(database.run(
        "INSERT INTO responses (number, node, is_pending, object, input, events) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        {number, node, int64_t{response.is_pending}, response.object, response.input, response.events}));
    for (const std::string& id : response.turn_ids) {
        ETNA_CHECK(database.run("INSERT INTO turn_items (id, response) VALUES (?, ?) ON CONFLICT DO NOTHING",
                                {id, number}));
    }
    if (replaced)
        ETNA_CHECK(release_turns(database, change.pins(), *replaced));
    return number;
}

int64_t bytes_with_history(const Response& response, const History* previous) {
    int64_t bytes = bytes_of(response.turn);
    if (previous != nullptr) {
        for (const std::string& turn : previous->turns())
            bytes += bytes_of(turn);
    }
    return bytes;
}

} // namespace

Status Store::put(const Response& response, const History* previous, const Addition* addition) {
    const bool is_stored = impl_->options.responses.entries_max > 0;
    const bool is_added = addition != nullptr && impl_->options.conversations.entries_max > 0;
    if (!is_stored && !is_added)
        return {};
    if (previous != nullptr && previous->impl_->pins != impl_->pins)
        return Error{ErrorKind::internal, "the history is from another store"};
    return retry_change(*impl_, [&]() -> Status {
        ETNA_TRY(Change change, Change::begin(*impl_));
        Inserted inserted;
        if (is_stored) {
            const auto parent = previous != nullptr ? std::optional(previous->impl_->node) : std::nullopt;
            ETNA_TRY(inserted.entries[0], write_response(change, response, parent));
            inserted.history_bytes = bytes_with_history(response, previous);
        }
        if (is_added) {
            ETNA_TRY(const auto conversation,
                     find_entry(change, {Kind::conversation, response.owner, addition->conversation}));
            if (conversation)
                ETNA_CHECK(append_items(change, *conversation, addition->items, OnDuplicate::skip));
            inserted.entries[1] = conversation.value_or(0);
        }
        return change.commit(inserted);
    });
}

Result<std::optional<Response>> Store::response(const Owner& owner, const std::string& id) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_entry(store, {Kind::response, owner, id}));
    if (!number)
        return std::optional<Response>();
    ETNA_TRY(Response response, read_response(store, *number, owner, id));
    return std::optional(std::move(response));
}

Result<bool> Store::delete_response(const Owner& owner, const std::string& id) {
    return delete_entry(*impl_, {Kind::response, owner, id});
}

Result<std::optional<History>> Store::history(const Owner& owner, const std::string& id) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_entry(store, {Kind::response, owner, id}));
    if (!number)
        return std::optional<History>();
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT node, is_pending FROM responses WHERE number = ?", {*number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return store.database().damaged(response_texts_missing);
    if (row.number(1) != 0)
        return std::optional<History>();
    const int64_t node = row.number(0);
    ETNA_TRY(auto turns, turns_up_to(store.database(), node));
    auto history = std::make_unique<History::Impl>(impl_->pins, node);
    history->turns = std::move(turns);
    return std::optional(History(std::move(history)));
}

Result<std::optional<std::string>> Store::turn_of_item(const Owner& owner, const std::string& id) {
    const LockedStore store(*impl_);
    if (!store.stores(Kind::response))
        return std::optional<std::string>();
    ETNA_TRY(Statement row,
             store.database().prepare(
                 "SELECT turn FROM turn_items CROSS JOIN entries ON entries.number = response "
                 "CROSS JOIN responses ON responses.number = response "
                 "CROSS JOIN nodes ON nodes.number = node "
                 "WHERE turn_items.id = ? AND owner = ? AND touched_us >= ? ORDER BY response DESC LIMIT 1",
                 {id, owner, store.oldest_us(Kind::response)}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(row.bytes(0)) : std::nullopt;
}

Result<std::vector<Response>> Store::pending() {
    const LockedStore store(*impl_);
    std::vector<Response> found;
    if (!store.stores(Kind::response))
        return found;
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT entries.number, owner, id FROM responses CROSS JOIN entries "
                                      "ON entries.number = responses.number "
                                      "WHERE is_pending AND touched_us >= ? ORDER BY responses.number",
                                      {store.oldest_us(Kind::response)}));
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return found;
        ETNA_TRY(Response response, read_response(store, row.number(0), row.bytes(1), row.bytes(2)));
        found.push_back(std::move(response));
    }
}

History::History(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

const std::vector<std::string>& History::turns() const {
    return impl_->turns;
}

} // namespace etna::server::storage
