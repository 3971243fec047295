#pragma once

#include "core/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The persistent store of responses, conversations and chat completions. All contents are opaque text (JSON).
namespace etna::server::storage {

/// Retention limits of one kind of entry. Beyond `entries_max`, the oldest entries (by creation or last
/// addition) of the owner with the most are evicted, so that an owner within its fair share loses nothing to
/// others.
struct Bounds {
    uint64_t entries_max = 0;        ///< 0: this kind is not stored or found; writes are dropped
    std::chrono::seconds age_max{0}; ///< since creation, or the last addition to a conversation; 0: no limit
};

struct StoreOptions {
    std::filesystem::path file = {}; ///< empty: in memory, for the store's lifetime
    Bounds responses = {};
    Bounds conversations = {};
    Bounds completions = {};
    uint64_t bytes_max = 0;               ///< of all texts, ids and owners together; 0: no limit
    std::function<int64_t()> now_us = {}; ///< microseconds since 1970; empty: the system clock
};

/// The owner of an entry, which is invisible to all others. Empty if the server requires no keys.
using Owner = std::string;

/// An element of a list, such as an item of a conversation.
struct Item {
    std::string id;
    std::string body;
};

enum class Order : uint8_t { ascending, descending }; ///< by age

/// A page request for a list.
struct PageRequest {
    std::string after = {}; ///< starts after this id; empty: at the first
    uint32_t limit = 20;
    Order order = Order::ascending;
};

struct Page {
    std::vector<Item> items = {};
    bool has_more = false;
};

/// The turns that precede a response, oldest first; retained for the lifetime of this object, even if entries
/// are deleted. Move-only.
class History;

struct Response {
    std::string id;
    Owner owner;
    std::string object;      ///< as returned to clients
    std::string input;       ///< the items of this request only
    std::string turn;        ///< its contribution to the history of subsequent responses
    std::string events = {}; ///< the frames of its stream, empty if not streamed; while it is pending, what
                             ///< responses::read_rerun() reads
    std::vector<std::string> turn_ids = {}; ///< ids of the items in its turn, for turn_of_item()
    bool is_pending = false;                ///< in progress: cannot be continued
};

struct Conversation {
    std::string id;
    Owner owner;
    std::string metadata = {};
    int64_t created_us = 0; ///< set by the store
};

/// The handling of an item whose id is already in the conversation.
enum class OnDuplicate : uint8_t { refuse, skip };

/// Items that a turn adds to a conversation.
struct Addition {
    std::string conversation; ///< its id
    std::vector<Item> items = {};
};

using Metadata = std::map<std::string, std::string>;

struct Completion {
    std::string id;
    Owner owner;
    std::string model = {};
    Metadata metadata = {};
    std::string object = {};   ///< as returned to clients
    std::string messages = {}; ///< the request's messages
};

struct CompletionFilter {
    std::optional<std::string> model = {};
    Metadata metadata = {}; ///< all of these must match
};

/// Thread-safe. Every change is atomic and durable on return, also across a kill or power loss. Blocks: reads
/// and writes files. Expired entries are not found, and are removed at the next change.
///
/// Errors of all functions: io (the disk is full, the file cannot be written; names the file), corrupt (the
/// file is damaged). The store remains usable after an error; reads work even if writes fail. Functions that
/// put or add also return invalid_argument if the new entry, with its preceding turns or its conversation,
/// exceeds bytes_max, or its owner's share while others use theirs.
class Store {
public:
    /// Creates the file (0600) and its folder (0700) if missing. A file that is not a store, or is damaged,
    /// is moved to FILE.damaged-1, -2, ... with an entry in `warnings`; a read-only one is opened for
    /// reading, with a warning. Errors: io (the folder cannot be created; another process holds the file),
    /// busy (another process holds it and has announced its end), unsupported (created by a newer version of
    /// etna).
    static Result<Store> open(StoreOptions options, std::vector<std::string>& warnings);

    /// Announces to other processes that this one will release the file within the given time.
    void announce_end(std::chrono::seconds within) const;

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    /// Adds the response, or replaces it in the same position and with the same age, together with its
    /// preceding turns, if any, and its addition to a conversation, atomically. An addition to a deleted
    /// conversation is skipped, as are items that the conversation already has, so that the answer is not
    /// lost.
    Status put(const Response& response, const History* previous = nullptr,
               const Addition* addition = nullptr);
    Result<std::optional<Response>> response(const Owner& owner, const std::string& id);
    /// Returns whether it existed. Responses that continue it retain their history, as do those that continue
    /// a replaced one.
    Result<bool> delete_response(const Owner& owner, const std::string& id);
    /// The turns up to and including this response; empty if it does not exist or is pending.
    Result<std::optional<History>> history(const Owner& owner, const std::string& id);
    /// Response::turn of the newest response that lists this item id in its turn_ids.
    Result<std::optional<std::string>> turn_of_item(const Owner& owner, const std::string& id);
    /// Pending responses of all owners, oldest first; at startup, those that an earlier process left.
    Result<std::vector<Response>> pending();

    /// Error: invalid_argument (the id is not new, or two items have the same).
    Status create(const Conversation& conversation, const std::vector<Item>& items);
    Result<std::optional<Conversation>> conversation(const Owner& owner, const std::string& id);
    Result<bool> set_metadata(const Owner& owner, const std::string& id, const std::string& metadata);
    Result<bool> delete_conversation(const Owner& owner, const std::string& id);
    /// Error: invalid_argument (the conversation has an item of the same id, and `on_duplicate` is refuse);
    /// then nothing is added.
    Result<bool> add_items(const Owner& owner, const Addition& addition,
                           OnDuplicate on_duplicate = OnDuplicate::refuse);
    /// Empty if there is no such conversation, or no item `after`.
    Result<std::optional<Page>> items(const Owner& owner, const std::string& id, const PageRequest& request);
    /// All items, oldest first.
    Result<std::optional<std::vector<Item>>> items(const Owner& owner, const std::string& id);
    Result<std::optional<Item>> item(const Owner& owner, const std::string& id, const std::string& item);
    /// The newest item with that id, in any conversation.
    Result<std::optional<Item>> item(const Owner& owner, const std::string& item);
    Result<bool> delete_item(const Owner& owner, const std::string& id, const std::string& item);

    /// Adds the completion, or replaces it in the same position and with the same age.
    Status put(const Completion& completion);
    Result<std::optional<Completion>> completion(const Owner& owner, const std::string& id);
    Result<bool> delete_completion(const Owner& owner, const std::string& id);
    /// Applies `edit` atomically; it must not change id and owner. Returns whether the completion existed.
    Result<bool> change_completion(const Owner& owner, const std::string& id,
                                   const std::function<void(Completion&)>& edit);
    /// Lists objects by id. Empty if there is no completion `after`.
    Result<std::optional<Page>> completions(const Owner& owner, const CompletionFilter& filter,
                                            const PageRequest& request);

    /// The kinds of entries that are stored.
    struct StoredKinds {
        bool responses = false;
        bool conversations = false;
        bool completions = false;
    };
    [[nodiscard]] StoredKinds stored_kinds() const;

    /// For metrics.
    struct Size {
        uint64_t responses = 0;
        uint64_t conversations = 0;
        uint64_t completions = 0;
        uint64_t bytes = 0; ///< counted as for StoreOptions::bytes_max
    };
    Result<Size> size();

    struct Impl; ///< internal to this folder

private:
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

class History {
public:
    History(History&&) noexcept;
    History& operator=(History&&) noexcept;
    ~History();

    [[nodiscard]] const std::vector<std::string>& turns() const; ///< Response::turn of each, oldest first

private:
    friend class Store;
    struct Impl;
    explicit History(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::server::storage
