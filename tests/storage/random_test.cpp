// Random operations, compared with the reference store after each.
#include "tests/storage/reference_store.hpp"
#include "tests/storage/test_store.hpp"

#include <random>

using namespace etna;
using namespace etna::test;
using namespace server::storage;

namespace {

struct Scene {
    const char* name;
    StoreOptions options; ///< without a clock
    int operations;
    unsigned seed;
};

std::string printed(const Item& item) {
    return item.id + "=" + item.body + ";";
}

std::string printed(const std::optional<Page>& page) {
    if (!page)
        return "none";
    std::string text;
    for (const Item& item : page->items)
        text += printed(item);
    return text + (page->has_more ? "..." : "");
}

std::string printed(const std::optional<Response>& response) {
    if (!response)
        return "none";
    return response->id + "|" + response->owner + "|" + response->object + "|" + response->input + "|" +
           response->turn + "|" + response->events + "|" + (response->is_pending ? "pending" : "");
}

std::string printed(const std::optional<Conversation>& conversation) {
    if (!conversation)
        return "none";
    return conversation->id + "|" + conversation->owner + "|" + conversation->metadata + "|" +
           std::to_string(conversation->created_us);
}

std::string printed(const std::optional<Completion>& completion) {
    if (!completion)
        return "none";
    std::string text = completion->id + "|" + completion->owner + "|" + completion->model + "|" +
                       completion->object + "|" + completion->messages;
    for (const auto& [key, value] : completion->metadata)
        text.append("|").append(key).append("=").append(value);
    return text;
}

std::string printed(const Store::Size& size) {
    return std::to_string(size.responses) + " " + std::to_string(size.conversations) + " " +
           std::to_string(size.completions) + " " + std::to_string(size.bytes);
}

std::string printed(const std::vector<std::string>& turns) {
    std::string text;
    for (const std::string& turn : turns)
        text += turn + ";";
    return text;
}

std::string printed(const ReferenceStore::Chain& chain) {
    std::string text;
    for (const ReferenceStore::Turn* turn = chain.get(); turn != nullptr; turn = turn->previous.get())
        text.insert(0, turn->text + ";");
    return text;
}

/// The store and the reference, with the same operations.
class StorePair {
public:
    explicit StorePair(const Scene& scene)
        : options_(with_clock(scene.options)), store_(std::make_unique<Store>(open_store(options_))),
          reference_(options_), random_(scene.seed) {}

    void step() {
        now_us_ += below(20) == 0 ? -int64_t{5'000'000} : int64_t(below(400'000));
        switch (below(14)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return put_response();
        case 4:
            return hold();
        case 5:
            return release();
        case 6:
        case 7:
            return put_completion();
        case 8:
            return create();
        case 9:
            return add_items();
        case 10:
            return set_metadata();
        case 11:
            return delete_item();
        case 12:
            return remove();
        default:
            return below(10) == 0 ? restart() : remove();
        }
    }

    void compare() {
        CHECK(printed(taken(store_->size())) == printed(reference_.size()));
        for (const char* owner : {"", "ann", "bob"}) {
            for (int i = 0; i < ids; ++i)
                compare(owner, id(i));
            compare_completions(owner);
        }
        const auto pending = taken(store_->pending());
        const auto expected = reference_.pending();
        REQUIRE(pending.size() == expected.size());
        for (std::size_t i = 0; i < pending.size(); ++i)
            CHECK(printed(pending[i]) == printed(expected[i]));
        for (const Held& held : held_)
            CHECK(printed(held.history.turns()) == printed(held.chain));
    }

private:
    static constexpr int ids = 6;
    struct Held {
        std::string owner;
        History history;
        ReferenceStore::Chain chain;
    };

    StoreOptions with_clock(StoreOptions options) {
        options.now_us = [this] { return now_us_; };
        return options;
    }

    std::size_t below(std::size_t count) { return random_() % count; }
    static std::string id(std::size_t number) { return std::string("id") + static_cast<char>('0' + number); }
    std::string any_id() { return id(below(ids)); }
    std::string any_owner() { return std::vector<std::string>{"", "ann", "bob"}[below(3)]; }
    std::string text() {
        std::string random_text(below(8) == 0 ? below(400) : below(30), ' ');
        for (char& letter : random_text)
            letter = static_cast<char>(below(256));
        return random_text;
    }
    std::vector<Item> some_items() {
        std::vector<Item> made(below(4));
        for (Item& item : made)
            item = {.id = "item" + std::to_string(below(12)), .body = text()};
        return made;
    }
    Metadata some_metadata() {
        Metadata made;
        for (std::size_t count = below(3); count > 0; --count)
            made[std::string(1, static_cast<char>('a' + below(2)))] = below(2) == 0 ? "x" : "y";
        return made;
    }
    std::string some_model() { return below(2) == 0 ? "small" : "large"; }

    void put_response() {
        const Response response = {.id = any_id(),
                                   .owner = any_owner(),
                                   .object = text(),
                                   .input = text(),
                                   .turn = text(),
                                   .events = text(),
                                   .is_pending = below(5) == 0};
        const Addition addition = {.conversation = any_id(), .items = some_items()};
        const Addition* added = below(3) == 0 ? &addition : nullptr;
        const Held* previous = held_.empty() || below(5) == 0 ? nullptr : &held_[below(held_.size())];
        if (previous != nullptr && previous->owner != response.owner) // another owner cannot get it
            previous = nullptr;
        const Status status =
            store_->put(response, previous != nullptr ? &previous->history : nullptr, added);
        const bool is_accepted =
            reference_.put(response, previous != nullptr ? previous->chain : nullptr, added);
        check(status, is_accepted);
    }

    void hold() {
        const std::string owner = any_owner();
        const std::string chosen = any_id();
        auto history = taken(store_->history(owner, chosen));
        const auto chain = reference_.history(owner, chosen);
        REQUIRE(history.has_value() == (chain != nullptr));
        if (!history)
            return;
        reference_.hold(chain);
        held_.push_back({owner, std::move(*history), chain});
        if (held_.size() > 4)
            release();
    }

    void release() {
        if (held_.empty())
            return;
        const auto released = held_.begin() + static_cast<std::ptrdiff_t>(below(held_.size()));
        reference_.release(released->chain);
        held_.erase(released);
    }

    void put_completion() {
        const Completion completion = {.id = any_id(),
                                       .owner = any_owner(),
                                       .model = some_model(),
                                       .metadata = some_metadata(),
                                       .object = text(),
                                       .messages = text()};
        const Status status = store_->put(completion);
        check(status, reference_.put(completion));
    }

    void create() {
        const Conversation conversation = {.id = any_id(), .owner = any_owner(), .metadata = text()};
        const auto items = some_items();
        const Status status = store_->create(conversation, items);
        check(status, reference_.create(conversation, items));
    }

    void add_items() {
        const std::string owner = any_owner();
        const Addition addition = {.conversation = any_id(), .items = some_items()};
        check(store_->add_items(owner, addition), reference_.add_items(owner, addition));
    }

    void set_metadata() {
        const std::string owner = any_owner();
        const std::string chosen = any_id();
        const std::string metadata = text();
        check(store_->set_metadata(owner, chosen, metadata),
              reference_.set_metadata(owner, chosen, metadata));
    }

    void delete_item() {
        const std::string owner = any_owner();
        const std::string chosen = any_id();
        const std::string item = "item" + std::to_string(below(12));
        CHECK(taken(store_->delete_item(owner, chosen, item)) == reference_.delete_item(owner, chosen, item));
    }

    void remove() {
        using Kind = ReferenceStore::Kind;
        const std::string owner = any_owner();
        const std::string chosen = any_id();
        switch (below(3)) {
        case 0:
            CHECK(taken(store_->delete_response(owner, chosen)) ==
                  reference_.remove(Kind::response, owner, chosen));
            break;
        case 1:
            CHECK(taken(store_->delete_conversation(owner, chosen)) ==
                  reference_.remove(Kind::conversation, owner, chosen));
            break;
        default:
            CHECK(taken(store_->delete_completion(owner, chosen)) ==
                  reference_.remove(Kind::completion, owner, chosen));
        }
    }

    void restart() {
        if (options_.file.empty())
            return;
        held_.clear();
        store_.reset();
        store_ = std::make_unique<Store>(open_store(options_));
        reference_.restart();
    }

    static void check(const Status& status, bool is_accepted) {
        CHECK(status.has_value() == is_accepted);
        if (!status)
            CHECK(status.error().kind == ErrorKind::invalid_argument);
    }

    static void check(const Result<bool>& result, std::optional<bool> expected) {
        REQUIRE(result.has_value() == expected.has_value());
        if (result)
            CHECK(*result == *expected);
        if (!result)
            CHECK(result.error().kind == ErrorKind::invalid_argument);
    }

    PageRequest some_page(const std::string& prefix, std::size_t count) {
        return {.after = below(2) == 0 ? std::string() : prefix + std::to_string(below(count)),
                .limit = static_cast<uint32_t>(below(6)),
                .order = below(2) == 0 ? Order::ascending : Order::descending};
    }

    void compare(const std::string& owner, const std::string& chosen) {
        CHECK(printed(taken(store_->response(owner, chosen))) == printed(reference_.response(owner, chosen)));
        CHECK(printed(taken(store_->completion(owner, chosen))) ==
              printed(reference_.completion(owner, chosen)));
        CHECK(printed(taken(store_->conversation(owner, chosen))) ==
              printed(reference_.conversation(owner, chosen)));
        compare_history(owner, chosen);

        const auto items = taken(store_->items(owner, chosen));
        const auto expected = reference_.items(owner, chosen);
        REQUIRE(items.has_value() == expected.has_value());
        if (!items)
            return;
        const auto all = std::optional(Page{.items = *items});
        CHECK(printed(all) == printed(std::optional(Page{.items = *expected})));
        const PageRequest page = some_page("item", 12);
        CHECK(printed(taken(store_->items(owner, chosen, page))) ==
              printed(reference_.items(owner, chosen, page)));
        for (const Item& item : *items)
            CHECK(printed(taken(store_->item(owner, chosen, item.id)).value()) == printed(item));
        CHECK_FALSE(taken(store_->item(owner, chosen, "nothing")));
    }

    void compare_history(const std::string& owner, const std::string& chosen) {
        const auto chain = reference_.history(owner, chosen);
        const auto history = taken(store_->history(owner, chosen));
        REQUIRE(history.has_value() == (chain != nullptr));
        if (!history)
            return;
        CHECK(printed(history->turns()) == printed(chain));
        reference_.hold(chain); // after the release, no entry may refer to the turns
        reference_.release(chain);
    }

    void compare_completions(const std::string& owner) {
        CompletionFilter filter = {.metadata = some_metadata()};
        if (below(2) == 0)
            filter.model = some_model();
        const PageRequest page = some_page("id", ids);
        CHECK(printed(taken(store_->completions(owner, filter, page))) ==
              printed(reference_.completions(owner, filter, page)));
    }

    int64_t now_us_ = 1'000'000'000'000;
    StoreOptions options_;
    std::unique_ptr<Store> store_;
    ReferenceStore reference_;
    std::mt19937_64 random_;
    std::vector<Held> held_;
};

void play(const Scene& scene) {
    INFO(scene.name << ", seed " << scene.seed);
    StorePair pair(scene);
    for (int i = 0; i < scene.operations; ++i) {
        INFO("operation " << i);
        pair.step();
        pair.compare();
    }
}

StoreOptions bounded(uint64_t entries, std::chrono::seconds age, uint64_t bytes) {
    const Bounds bounds = {.entries_max = entries, .age_max = age};
    return {.responses = bounds, .conversations = bounds, .completions = bounds, .bytes_max = bytes};
}

} // namespace

TEST_CASE("random operations give the results of the reference store") {
    using std::chrono::seconds;
    const unsigned seed = GENERATE(range(1U, 4U));
    StoreOptions uneven = bounded(4, seconds(0), 0);
    uneven.responses = {.entries_max = 9, .age_max = seconds(2)};
    uneven.completions.entries_max = 0;
    StoreOptions without_responses = bounded(5, seconds(3), 900);
    without_responses.responses.entries_max = 0;
    for (const Scene& scene :
         {Scene{"no bounds", bounded(1000, seconds(0), 0), 1500, seed},
          Scene{"few entries", bounded(4, seconds(0), 0), 1500, seed},
          Scene{"short ages", bounded(1000, seconds(2), 0), 1500, seed},
          Scene{"few bytes", bounded(1000, seconds(0), 1500), 1500, seed},
          Scene{"all bounds", bounded(7, seconds(4), 2500), 1500, seed},
          Scene{"uneven bounds", uneven, 1000, seed}, Scene{"no responses", without_responses, 1000, seed}})
        play(scene);
}

TEST_CASE("random operations on a file, with restarts, give the results of the reference store") {
    const TemporaryFolder folder;
    StoreOptions options = bounded(8, std::chrono::seconds(5), 3000);
    options.file = folder.path() / "store";
    play({.name = "file", .options = options, .operations = 1500, .seed = 11});
}
