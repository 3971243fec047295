#pragma once

#include "server/storage/store.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::test {

/// A simple reference implementation of the store: no file, no index, no cached sums.
class ReferenceStore {
public:
    struct Turn {
        std::string text;
        std::string owner;
        std::shared_ptr<const Turn> previous;
    };
    using Chain = std::shared_ptr<const Turn>;
    using Items = std::vector<server::storage::Item>;
    enum class Kind : uint8_t { response, conversation, completion };

    /// Uses the clock of the options.
    explicit ReferenceStore(server::storage::StoreOptions options) : options_(std::move(options)) {}

    // Changes return whether they were accepted, or whether the entry existed; empty: not accepted.
    bool put(const server::storage::Response& response, const Chain& previous,
             const server::storage::Addition* addition);
    bool put(const server::storage::Completion& completion);
    bool create(const server::storage::Conversation& conversation, const Items& items);
    std::optional<bool> set_metadata(const std::string& owner, const std::string& id,
                                     const std::string& metadata);
    std::optional<bool> add_items(const std::string& owner, const server::storage::Addition& addition);
    bool delete_item(const std::string& owner, const std::string& id, const std::string& item);
    bool remove(Kind kind, const std::string& owner, const std::string& id);
    /// As if the process had ended and a new one had started.
    void restart();

    void hold(const Chain& chain) { held_.push_back(chain); }
    void release(const Chain& chain);

    [[nodiscard]] std::optional<server::storage::Response> response(const std::string& owner,
                                                                    const std::string& id) const;
    [[nodiscard]] Chain history(const std::string& owner, const std::string& id) const;
    [[nodiscard]] std::vector<server::storage::Response> pending() const;
    [[nodiscard]] std::optional<server::storage::Conversation> conversation(const std::string& owner,
                                                                            const std::string& id) const;
    [[nodiscard]] std::optional<Items> items(const std::string& owner, const std::string& id) const;
    [[nodiscard]] std::optional<server::storage::Completion> completion(const std::string& owner,
                                                                        const std::string& id) const;
    [[nodiscard]] std::optional<server::storage::Page>
    items(const std::string& owner, const std::string& id, const server::storage::PageRequest& request) const;
    [[nodiscard]] std::optional<server::storage::Page>
    completions(const std::string& owner, const server::storage::CompletionFilter& filter,
                const server::storage::PageRequest& request) const;
    [[nodiscard]] server::storage::Store::Size size() const;

private:
    struct Entry {
        Kind kind = Kind::response;
        std::string owner;
        std::string id;
        int64_t touched_us = 0;
        uint64_t freshness = 0;
        server::storage::Response response = {};
        Chain chain = nullptr;
        server::storage::Conversation conversation = {};
        Items items = {};
        server::storage::Completion completion = {};

        [[nodiscard]] uint64_t bytes() const;
    };
    using Entries = std::vector<Entry>; ///< in order of creation

    [[nodiscard]] const server::storage::Bounds& bounds(Kind kind) const;
    [[nodiscard]] bool is_visible(const Entry& entry) const;
    [[nodiscard]] const Entry* find(Kind kind, const std::string& owner, const std::string& id) const;
    [[nodiscard]] Entries without_expired() const;
    Entry* find(Entries& entries, Kind kind, const std::string& owner, const std::string& id) const;
    Entry& upsert(Entries& entries, Kind kind, const std::string& owner, const std::string& id);
    void touch(Entry& entry);
    bool commit(Entries entries, const std::vector<uint64_t>& inserted = {}, const Chain& chain = nullptr);
    /// The items after `request.after`, in its order; empty if there is no such item.
    static std::optional<Items> items_after(Items all, const server::storage::PageRequest& request);
    static bool remove_oldest(Entries& entries, const std::string& owner, std::optional<Kind> kind,
                              const std::vector<uint64_t>& inserted);
    using Shares = std::map<std::string, uint64_t>; ///< by owner; never 0
    static bool remove_surplus(Entries& entries, const Shares& shares, uint64_t bound,
                               std::optional<Kind> kind, const std::vector<uint64_t>& inserted);
    [[nodiscard]] static Shares counts_of(const Entries& entries, Kind kind);
    [[nodiscard]] static Shares bytes_of(const Entries& entries, std::vector<Chain> chains);
    static uint64_t sum_of(const Shares& shares);

    server::storage::StoreOptions options_;
    Entries entries_;
    uint64_t freshness_ = 0;
    std::vector<Chain> held_;
    std::vector<Chain> released_; ///< count until the next change
};

} // namespace etna::test
