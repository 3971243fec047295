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

// What clients may come back to: responses, conversations, stored chat completions. Everything that is kept
// is text (JSON) that the store does not read.
namespace etna::server::memory {

/// Of one kind of entry. Where there are more, the oldest leave of the owner that has most, by when they were
/// made or added to: whoever has no more than all could have loses nothing to others.
struct Bounds {
    uint64_t entries_max = 0;        ///< 0: nothing of this kind is kept, nor found; what is put is dropped
    std::chrono::seconds age_max{0}; ///< since it was made, or a conversation was last added to; 0: any
};

struct StoreOptions {
    std::filesystem::path file = {}; ///< empty: in memory, for as long as the store lives
    Bounds responses = {};
    Bounds conversations = {};
    Bounds completions = {};
    uint64_t bytes_max = 0;               ///< of all texts, ids and owners together; 0: any
    std::function<int64_t()> now_us = {}; ///< microseconds since 1970; empty: the system's clock
};

/// Whose entry it is: nobody else can see that it is there. Empty where the server asks for no keys.
using Owner = std::string;

/// One text among others, such as an item of a conversation.
struct Item {
    std::string id;
    std::string body;
};

enum class Order : uint8_t { ascending, descending }; ///< by age

/// A part of a list.
struct PageWish {
    std::string after = {}; ///< begins behind this id; empty: at the beginning
    uint32_t limit = 20;
    Order order = Order::ascending;
};

struct Page {
    std::vector<Item> items = {};
    bool has_more = false;
};

/// The turns that a response goes on from, the oldest first; kept as long as this lives, whatever is deleted
/// meanwhile. Move-only.
class History;

struct Response {
    std::string id;
    Owner owner;
    std::string object;      ///< as clients get it
    std::string input;       ///< the items of this request alone
    std::string turn;        ///< what it adds to the history of those that go on from it
    std::string events = {}; ///< the frames of its stream; empty where there was none
    std::vector<std::string> turn_ids =
        {};                  ///< of the items that its turn has: turn_of_item() finds it by each
    bool is_pending = false; ///< still being made: nothing goes on from it
};

struct Conversation {
    std::string id;
    Owner owner;
    std::string metadata = {};
    int64_t created_us = 0; ///< set by the store
};

/// What becomes of an item whose id the conversation has already.
enum class Repeated : uint8_t { refused, left_out };

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
    std::string object = {};   ///< as clients get it
    std::string messages = {}; ///< of the request
};

struct CompletionFilter {
    std::optional<std::string> model = {};
    Metadata metadata = {}; ///< all of these
};

/// Thread-safe. Every change is whole or not there, also after the process was killed or the power went; what
/// a function has returned from is there. Blocking: reads and writes files. What is past its age is not
/// found, and leaves at the next change.
///
/// Errors of all functions: io (the disk is full, the file cannot be written; says which file), corrupt (the
/// file is damaged). After an error the store goes on; reads work while writes do not. Of those that put or
/// add, also invalid_argument: what is put, with the turns that it goes on from or the conversation that it
/// is added to, is larger than bytes_max, or than its owner's part of that where others have theirs.
class Store {
public:
    /// Makes the file, 0600, and its folder, 0700, where they are missing. A file that is no store, or is
    /// damaged, is moved aside to FILE.damaged-1, -2, ..., and told in `warnings`; one that cannot be written
    /// is opened for reading, and told. Errors: io (no such folder can be made; another process has it), busy
    /// (another process has it, and has announced its end), unsupported (a newer version of etna made the
    /// file).
    static Result<Store> open(StoreOptions options, std::vector<std::string>& warnings);

    /// Tells other processes that want the file that this one lets go of it within the time.
    void announce_end(std::chrono::seconds within) const;

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    /// Adds, or replaces in its place and of its age; with the turns that it went on from, if any, and what
    /// it adds to a conversation, all at once. An addition whose conversation is gone by now is left out, and
    /// so are items that the conversation has: the answer is there, and shall not be lost.
    Status put(const Response& response, const History* previous = nullptr,
               const Addition* addition = nullptr);
    Result<std::optional<Response>> response(const Owner& owner, const std::string& id);
    /// Whether it was there. Those that went on from it keep their history, as do those that went on from
    /// what was replaced.
    Result<bool> delete_response(const Owner& owner, const std::string& id);
    /// Turns up to and with this response; empty where there is none, or it is pending.
    Result<std::optional<History>> history(const Owner& owner, const std::string& id);
    /// Response::turn of the newest response that says its turn has an item of this id.
    Result<std::optional<std::string>> turn_of_item(const Owner& owner, const std::string& id);
    /// All owners', the oldest first: at the start, those that an earlier process left.
    Result<std::vector<Response>> pending();

    /// Error: invalid_argument (the id is not new, or two items have the same).
    Status create(const Conversation& conversation, const std::vector<Item>& items);
    Result<std::optional<Conversation>> conversation(const Owner& owner, const std::string& id);
    Result<bool> set_metadata(const Owner& owner, const std::string& id, const std::string& metadata);
    Result<bool> delete_conversation(const Owner& owner, const std::string& id);
    /// Error: invalid_argument (the conversation has an item of the same id, and that is to be refused): then
    /// nothing is added.
    Result<bool> add_items(const Owner& owner, const Addition& addition,
                           Repeated repeated = Repeated::refused);
    /// Empty where there is no such conversation, or no item `after`.
    Result<std::optional<Page>> items(const Owner& owner, const std::string& id, const PageWish& wish);
    /// All of them, the oldest first.
    Result<std::optional<std::vector<Item>>> items(const Owner& owner, const std::string& id);
    Result<std::optional<Item>> item(const Owner& owner, const std::string& id, const std::string& item);
    /// The newest of that id, in whichever conversation.
    Result<std::optional<Item>> item(const Owner& owner, const std::string& item);
    Result<bool> delete_item(const Owner& owner, const std::string& id, const std::string& item);

    /// Adds, or replaces in its place and of its age.
    Status put(const Completion& completion);
    Result<std::optional<Completion>> completion(const Owner& owner, const std::string& id);
    Result<bool> delete_completion(const Owner& owner, const std::string& id);
    /// Lets `edit` change it, and nothing else meanwhile; not its id and owner. Whether it was there.
    Result<bool> change_completion(const Owner& owner, const std::string& id,
                                   const std::function<void(Completion&)>& edit);
    /// Objects, by id. Empty where there is no completion `after`.
    Result<std::optional<Page>> completions(const Owner& owner, const CompletionFilter& filter,
                                            const PageWish& wish);

    /// Of which kinds anything is kept.
    struct Keeps {
        bool responses = false;
        bool conversations = false;
        bool completions = false;
    };
    [[nodiscard]] Keeps keeps() const;

    /// For figures.
    struct Size {
        uint64_t responses = 0;
        uint64_t conversations = 0;
        uint64_t completions = 0;
        uint64_t bytes = 0; ///< as StoreOptions::bytes_max counts them
    };
    Result<Size> size();

    struct Content; ///< for this folder itself

private:
    explicit Store(std::unique_ptr<Content> content);
    std::unique_ptr<Content> content_;
};

class History {
public:
    History(History&&) noexcept;
    History& operator=(History&&) noexcept;
    ~History();

    [[nodiscard]] const std::vector<std::string>& turns() const; ///< Response::turn of each, the oldest first

private:
    friend class Store;
    struct State;
    explicit History(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace etna::server::memory
