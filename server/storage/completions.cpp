#include "server/storage/change.hpp"

#include <limits>
#include <span>
#include <utility>

namespace etna::server::storage {
namespace {

constexpr std::string_view texts_missing = "the texts of a completion are missing";

/// The keys of a list. Each completion has one label of the first and second sort, and any number of the
/// third.
enum class Sort : uint8_t { all, model, metadata }; ///< values as stored in labels.kind

struct Label {
    Sort sort = Sort::all;
    std::string_view name = {};
    std::string_view value = {};
};

std::vector<Label> labels_of(const Completion& completion) {
    std::vector<Label> labels = {{.sort = Sort::all}, {.sort = Sort::model, .value = completion.model}};
    for (const auto& [name, value] : completion.metadata)
        labels.push_back({.sort = Sort::metadata, .name = name, .value = value});
    return labels;
}

/// The first label's list is scanned, and the others are looked up: the most selective comes first.
std::vector<Label> labels_of(const CompletionFilter& filter) {
    std::vector<Label> labels;
    for (const auto& [name, value] : filter.metadata)
        labels.push_back({.sort = Sort::metadata, .name = name, .value = value});
    if (filter.model)
        labels.push_back({.sort = Sort::model, .value = *filter.model});
    if (labels.empty())
        labels.push_back({.sort = Sort::all});
    return labels;
}

Status write_completion(const Change& change, int64_t number, const Completion& completion) {
    Database& database = change.database();
    // Also deletes the labels of a replaced completion.
    ETNA_CHECK(database.run("DELETE FROM completions WHERE number = ?", {number}));
    ETNA_CHECK(database.run("INSERT INTO completions (number, object, messages) VALUES (?, ?, ?)",
                            {number, completion.object, completion.messages}));
    for (const Label& label : labels_of(completion)) {
        ETNA_CHECK(database.run(
            "INSERT INTO labels (owner, kind, name, value, completion) VALUES (?, ?, ?, ?, ?)",
            {completion.owner, static_cast<int64_t>(label.sort), label.name, label.value, number}));
    }
    return {};
}

int64_t bytes_of_texts(const Completion& completion) {
    int64_t bytes = bytes_of(completion.object) + bytes_of(completion.messages);
    for (const Label& label : labels_of(completion))
        bytes += bytes_of(label.name) + bytes_of(label.value);
    return bytes;
}

Status read_labels(const LockedStore& store, int64_t number, Completion& completion) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT kind, name, value FROM labels WHERE completion = ?", {number}));
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return {};
        const int64_t sort = row.number(0);
        if (sort == static_cast<int64_t>(Sort::model))
            completion.model = row.bytes(2);
        if (sort == static_cast<int64_t>(Sort::metadata))
            completion.metadata.emplace(row.bytes(1), row.bytes(2));
    }
}

Result<Completion> read_completion(const LockedStore& store, int64_t number, const Owner& owner,
                                   const std::string& id) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT object, messages FROM completions WHERE number = ?", {number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return store.database().damaged(texts_missing);
    Completion completion = {.id = id, .owner = owner, .object = row.bytes(0), .messages = row.bytes(1)};
    ETNA_CHECK(read_labels(store, number, completion));
    return completion;
}

Result<bool> has_labels(const LockedStore& store, const Owner& owner, int64_t number,
                        std::span<const Label> labels) {
    for (const Label& label : labels) {
        ETNA_TRY(const auto found,
                 store.database().number(
                     "SELECT 1 FROM labels WHERE owner = ? AND kind = ? AND name = ? "
                     "AND value = ? AND completion = ?",
                     {owner, static_cast<int64_t>(label.sort), label.name, label.value, number}));
        if (!found)
            return false;
    }
    return true;
}

/// CROSS fixes the join order, so that the order of the labels is the order of the list.
constexpr std::string_view ascending =
    "SELECT completion, id FROM labels CROSS JOIN entries ON number = completion "
    "WHERE labels.owner = ? AND labels.kind = ? AND name = ? AND value = ? AND completion > ? AND touched_us "
    ">= ? "
    "ORDER BY completion";
constexpr std::string_view descending =
    "SELECT completion, id FROM labels CROSS JOIN entries ON number = completion "
    "WHERE labels.owner = ? AND labels.kind = ? AND name = ? AND value = ? AND completion < ? AND touched_us "
    ">= ? "
    "ORDER BY completion DESC";

Result<std::string> object_of(const LockedStore& store, int64_t number) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT object FROM completions WHERE number = ?", {number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return store.database().damaged(texts_missing);
    return row.bytes(0);
}

} // namespace

Status Store::put(const Completion& completion) {
    if (impl_->options.completions.entries_max == 0)
        return {};
    return retry_change(*impl_, [&]() -> Status {
        ETNA_TRY(Change change, Change::begin(*impl_));
        ETNA_TRY(const int64_t number,
                 upsert_entry(change, {Kind::completion, completion.owner, completion.id},
                              bytes_of_texts(completion)));
        ETNA_CHECK(write_completion(change, number, completion));
        return change.commit({.entries = {number}});
    });
}

Result<std::optional<Completion>> Store::completion(const Owner& owner, const std::string& id) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_entry(store, {Kind::completion, owner, id}));
    if (!number)
        return std::optional<Completion>();
    ETNA_TRY(Completion completion, read_completion(store, *number, owner, id));
    return std::optional(std::move(completion));
}

Result<bool> Store::change_completion(const Owner& owner, const std::string& id,
                                      const std::function<void(Completion&)>& edit) {
    return retry_change(*impl_, [&]() -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*impl_));
        ETNA_TRY(const auto number, find_entry(change, {Kind::completion, owner, id}));
        if (!number)
            return false;
        ETNA_TRY(Completion completion, read_completion(change, *number, owner, id));
        edit(completion);
        ETNA_TRY(const int64_t same,
                 upsert_entry(change, {Kind::completion, owner, id}, bytes_of_texts(completion)));
        ETNA_CHECK(write_completion(change, same, completion));
        ETNA_CHECK(change.commit({.entries = {same}}));
        return true;
    });
}

Result<bool> Store::delete_completion(const Owner& owner, const std::string& id) {
    return delete_entry(*impl_, {Kind::completion, owner, id});
}

Result<std::optional<Page>> Store::completions(const Owner& owner, const CompletionFilter& filter,
                                               const PageRequest& request) {
    const LockedStore store(*impl_);
    const bool is_ascending = request.order == Order::ascending;
    int64_t after = is_ascending ? 0 : std::numeric_limits<int64_t>::max();
    if (!request.after.empty()) {
        ETNA_TRY(const auto found, find_entry(store, {Kind::completion, owner, request.after}));
        if (!found)
            return std::optional<Page>();
        after = *found;
    }
    Page page;
    if (!store.stores(Kind::completion))
        return std::optional(page);
    const std::vector<Label> labels = labels_of(filter);
    const Label& first = labels.front();
    ETNA_TRY(Statement row,
             store.database().prepare(is_ascending ? ascending : descending,
                                      {owner, static_cast<int64_t>(first.sort), first.name, first.value,
                                       after, store.oldest_us(Kind::completion)}));
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return std::optional(std::move(page));
        ETNA_TRY(const bool fits, has_labels(store, owner, row.number(0), std::span(labels).subspan(1)));
        if (!fits)
            continue;
        page.has_more = page.items.size() == request.limit;
        if (page.has_more)
            return std::optional(std::move(page));
        ETNA_TRY(std::string object, object_of(store, row.number(0)));
        page.items.push_back({.id = row.bytes(1), .body = std::move(object)});
    }
}

} // namespace etna::server::storage
