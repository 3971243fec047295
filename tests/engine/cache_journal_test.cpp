// The changes of the cache that an observer gets: enough to predict the cached tokens of every prompt.
#include "core/engine/cache_journal.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/state_cache.hpp"
#include "tests/engine/driver.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/fake_executor.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace etna::engine {
namespace {

using test::FakeExecutor;
using test::FakeOptions;

/// An index of the cache built only from its changes, like that of a router.
class CacheMirror : public CacheObserver {
public:
    explicit CacheMirror(uint32_t page_tokens) : page_tokens_(page_tokens) {}

    bool take(std::vector<CacheChange> changes) override {
        const std::scoped_lock lock(mutex_);
        if (!accepts_) {
            ++dropped_;
            return false;
        }
        for (CacheChange& change : changes)
            apply(change);
        return true;
    }
    bool has_room() override {
        const std::scoped_lock lock(mutex_);
        return accepts_;
    }
    void end() override {
        const std::scoped_lock lock(mutex_);
        has_ended_ = true;
    }

    /// Returns the tokens of a prompt that the cache has. `salt_mark`: StoredPage::salt_mark of its client.
    uint32_t cached_tokens(const std::vector<TokenId>& prompt, std::optional<uint64_t> salt_mark = {}) {
        const std::scoped_lock lock(mutex_);
        const std::size_t limit = prompt.size() - 1; // at least one row is computed
        std::size_t cached = 0;
        std::optional<PageHash> parent;
        for (const StoredPage* page = nullptr; cached < limit; parent = page->hash, cached += page_tokens_) {
            const auto [best, agreement] = best_child(parent, salt_mark, std::span(prompt).subspan(cached));
            page = best;
            if (agreement < page_tokens_)
                return static_cast<uint32_t>(std::min(cached + agreement, limit));
        }
        return static_cast<uint32_t>(limit);
    }

    void set_accepts(bool accepts) {
        const std::scoped_lock lock(mutex_);
        accepts_ = accepts;
    }
    std::size_t dropped() { return locked(dropped_); }
    std::size_t removed() { return locked(removed_); }
    std::size_t cleared() { return locked(cleared_); }
    bool has_ended() { return locked(has_ended_); }
    /// The mark of the first salted page.
    std::optional<uint64_t> salt_mark() { return locked(salt_mark_); }

private:
    template <class Value>
    Value locked(const Value& value) {
        const std::scoped_lock lock(mutex_);
        return value;
    }

    void apply(CacheChange& change) {
        if (auto* stored = std::get_if<StoredPage>(&change)) {
            CHECK(!stored->tokens.empty());
            CHECK(stored->parent.has_value() == (stored->index > 0));
            if (stored->parent) // parents come first, and are full
                CHECK(pages_.at(*stored->parent).tokens.size() == page_tokens_);
            salt_mark_ = salt_mark_ ? salt_mark_ : stored->salt_mark;
            CHECK(pages_.emplace(stored->hash, std::move(*stored)).second);
        } else if (const auto* removed = std::get_if<RemovedPage>(&change)) {
            CHECK(pages_.erase(removed->hash) == 1);
            ++removed_;
        } else {
            pages_.clear();
            ++cleared_;
        }
    }

    std::pair<const StoredPage*, std::size_t> best_child(const std::optional<PageHash>& parent,
                                                         std::optional<uint64_t> salt_mark,
                                                         std::span<const TokenId> rest) const {
        std::pair<const StoredPage*, std::size_t> best = {nullptr, 0};
        for (const auto& [hash, page] : pages_) {
            if (page.parent != parent || (!parent && page.salt_mark != salt_mark))
                continue;
            const auto end = std::mismatch(page.tokens.begin(), page.tokens.end(), rest.begin(), rest.end());
            const auto agreement = static_cast<std::size_t>(end.first - page.tokens.begin());
            if (agreement > best.second)
                best = {&page, agreement};
        }
        return best;
    }

    uint32_t page_tokens_;
    std::mutex mutex_;
    std::map<PageHash, StoredPage> pages_;
    bool accepts_ = true;
    bool has_ended_ = false;
    std::size_t dropped_ = 0, removed_ = 0, cleared_ = 0;
    std::optional<uint64_t> salt_mark_;
};

/// A small cache, so that pages are evicted.
FakeOptions scarce() {
    FakeOptions options;
    options.limits.groups = {{.page_count = 24}};
    options.limits.context_tokens = 64;
    return options;
}

/// Conversations that share prefixes and continue each other, one at a time.
class Talk {
public:
    Talk() : mirror_(std::make_shared<CacheMirror>(scarce().limits.page_tokens)) {
        engine_ = Engine::create(std::make_unique<FakeExecutor>(scarce())).value();
        engine_->observe_cache(mirror_);
    }

    /// Asks once. Returns the predicted and the actual cached tokens.
    std::pair<uint32_t, uint32_t> turn() {
        std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6};
        if (!past_.empty() && draw(3) != 0) {
            prompt = past_[draw(past_.size())];
            prompt.resize(1 + draw(prompt.size()));
        }
        const std::size_t more = 1 + draw(8);
        for (std::size_t i = 0; i < more && prompt.size() < 44; ++i)
            prompt.push_back(static_cast<TokenId>(draw(4)));
        const bool is_salted = draw(4) == 0;
        const bool has_seen_salt = mirror_->salt_mark().has_value();
        const uint32_t predicted =
            !is_salted ? mirror_->cached_tokens(prompt)
                       : (has_seen_salt ? mirror_->cached_tokens(prompt, mirror_->salt_mark()) : 0);
        Request request;
        request.prompt = prompt;
        request.max_tokens = 1 + static_cast<uint32_t>(draw(9));
        request.cache_salt = is_salted ? 7 : 0;
        Stream stream = engine_->submit(std::move(request)).value();
        const test::Answer answer = test::read_all(stream);
        prompt.insert(prompt.end(), answer.tokens.begin(), answer.tokens.end());
        past_.push_back(std::move(prompt));
        return {predicted, answer.finished.cached_tokens};
    }

    CacheMirror& mirror() { return *mirror_; }
    std::shared_ptr<CacheMirror> close() {
        engine_.reset();
        return mirror_;
    }

private:
    std::size_t draw(std::size_t count) { return random_() % count; }

    std::shared_ptr<CacheMirror> mirror_;
    std::unique_ptr<Engine> engine_;
    std::vector<std::vector<TokenId>> past_;
    std::mt19937 random_{11};
};

} // namespace

TEST_CASE("an observer predicts the cached tokens of every prompt while pages are evicted") {
    Talk talk;
    uint32_t partial = 0, hits = 0;
    for (int i = 0; i < 400; ++i) {
        const auto [predicted, actual] = talk.turn();
        CAPTURE(i);
        REQUIRE(predicted == actual);
        hits += actual > 0 ? 1 : 0;
        partial += actual % scarce().limits.page_tokens != 0 ? 1 : 0;
    }
    CHECK(hits > 100);
    CHECK(partial > 50);
    CHECK(talk.mirror().removed() > 100);
    CHECK(talk.mirror().cleared() == 0);
    CHECK(talk.mirror().salt_mark());
}

TEST_CASE("an observer that dropped changes gets a snapshot next") {
    Talk talk;
    for (int i = 0; i < 40; ++i)
        talk.turn();
    talk.mirror().set_accepts(false);
    for (int i = 0; i < 40; ++i)
        talk.turn();
    CHECK(talk.mirror().dropped() == 1); // without room it is not asked again
    talk.mirror().set_accepts(true);
    talk.turn(); // its first step brings the snapshot
    CHECK(talk.mirror().cleared() == 1);
    for (int i = 0; i < 100; ++i) {
        const auto [predicted, actual] = talk.turn();
        REQUIRE(predicted == actual);
    }
    CHECK(talk.mirror().cleared() == 1);
}

TEST_CASE("an observer learns the end of the engine") {
    Talk talk;
    talk.turn();
    CHECK(!talk.mirror().has_ended());
    CHECK(talk.close()->has_ended());
}

TEST_CASE("an observer learns the end when the device is lost") {
    FakeOptions options = scarce();
    options.lost_at_step = 2;
    auto mirror = std::make_shared<CacheMirror>(options.limits.page_tokens);
    const auto engine = Engine::create(std::make_unique<FakeExecutor>(options)).value();
    engine->observe_cache(mirror);
    Request request;
    request.prompt = {1, 2, 3, 4, 5};
    Stream stream = engine->submit(std::move(request)).value();
    CHECK(test::read_all(stream).finished.reason == FinishReason::error);
    CHECK(test::eventually([&] { return mirror->has_ended(); }));
}

namespace {

/// A cache that records, of one full group and perhaps one with a window, with pages of 4 positions.
struct RecordingCache {
    explicit RecordingCache(std::vector<CacheGroup> groups)
        : cache(limits_with(std::move(groups)), {1, 2}, 3) {
        cache.record_changes();
    }
    static Limits limits_with(std::vector<CacheGroup> groups) {
        Limits limits;
        limits.page_tokens = 4;
        limits.batch_rows_max = 64;
        limits.context_tokens = 100;
        limits.groups = std::move(groups);
        return limits;
    }

    /// Computes a text of which the first `prompt` rows are prefill rows.
    HeldState compute(const std::vector<ContentId>& ids, std::size_t prompt, uint64_t salt = 0) {
        std::vector<RowKind> kinds(ids.size(), RowKind::decode);
        std::fill_n(kinds.begin(), std::min(prompt, ids.size()), RowKind::prefill);
        HeldState held = cache.make_state(salt);
        std::vector<PageCopy> copies;
        const auto length = static_cast<uint32_t>(ids.size());
        REQUIRE(cache.reserve(held, 0, length, 0, copies));
        cache.publish_all(held, {ids, kinds}, length);
        cache.end_batch();
        return held;
    }
    /// The changes since the last call, as text: "+ 1 2 3" for a page with these tokens, "-", "cleared".
    std::vector<std::string> changes() {
        std::vector<std::string> lines;
        for (const CacheChange& change : cache.journal()->take_changes()) {
            if (const auto* page = std::get_if<StoredPage>(&change)) {
                std::string& line = lines.emplace_back(page->salt_mark ? "+ salted" : "+");
                for (const TokenId token : page->tokens)
                    line += " " + std::to_string(token);
            } else {
                lines.emplace_back(std::holds_alternative<RemovedPage>(change) ? "-" : "cleared");
            }
        }
        return lines;
    }

    StateCache cache;
};

using Lines = std::vector<std::string>;

} // namespace

TEST_CASE("the journal records pages as far as a prompt can match them") {
    RecordingCache recorded(std::vector<CacheGroup>{{.page_count = 20}});
    HeldState held = recorded.compute({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 6);
    CHECK(recorded.changes() == Lines{"+ 1 2 3 4", "+ 5 6"}); // 7 and 8 are an answer, as all that follows
    recorded.cache.release(held);
    const HeldState of_answer = recorded.compute({21, 22, 23}, 0);
    CHECK(recorded.changes().empty());
    const HeldState of_medium = recorded.compute({31, 32, uint64_t{1} << 40, 34, 35, 36, 37, 38}, 8);
    CHECK(recorded.changes() == Lines{"+ 31 32"});
    const HeldState same = recorded.compute({1, 2, 3, 4, 50}, 5);
    CHECK(recorded.changes() == Lines{"+ 50"}); // the first page is known
    const HeldState salted = recorded.compute({1, 2, 3, 4, 50}, 5, 9);
    CHECK(recorded.changes() == Lines{"+ salted 1 2 3 4", "+ 50"});
    CHECK(recorded.cache.journal()->snapshot().size() == 7);
}

TEST_CASE("a fork's shared pages are recorded once and removed once") {
    RecordingCache recorded(std::vector<CacheGroup>{{.page_count = 6}});
    HeldState held = recorded.compute({1, 2, 3, 4, 5, 6, 7, 8}, 8);
    CHECK(recorded.changes() == Lines{"+ 1 2 3 4", "+ 5 6 7 8"});
    HeldState fork = recorded.cache.fork(held);
    recorded.cache.release(held);
    CHECK(recorded.changes().empty());
    // The fork is truncated within its second page and continues differently: it writes to a copy.
    std::vector<PageCopy> copies;
    REQUIRE(recorded.cache.reserve(fork, 6, 8, 0, copies));
    CHECK(copies.size() == 1);
    const std::vector<ContentId> ids = {1, 2, 3, 4, 5, 6, 70, 80};
    const std::vector<RowKind> kinds(8, RowKind::prefill);
    recorded.cache.publish(fork, {ids, kinds}, 8);
    recorded.cache.end_batch();
    CHECK(recorded.changes() == Lines{"+ 5 6 70 80"});
    recorded.cache.release(fork);
    CHECK(recorded.changes().empty());
    HeldState other =
        recorded.compute({9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, 16); // four of six pages
    CHECK(recorded.changes() == Lines{"-", "+ 9 9 9 9", "+ 9 9 9 9", "+ 9 9 9 9", "+ 9 9 9 9"});
    recorded.cache.invalidate(other);
    CHECK(recorded.changes() == Lines{"-", "-", "-", "-"});
    CHECK(recorded.cache.journal()->snapshot().size() == 3);
}

TEST_CASE("of several groups the journal records the one without a window") {
    RecordingCache recorded(
        {{.kind = CacheKind::sliding_window, .window_tokens = 4, .page_count = 40}, {.page_count = 9}});
    CHECK(recorded.cache.prefix_pages() == 9);
    HeldState held = recorded.compute({1, 2, 3, 4, 5, 6, 7, 8}, 8);
    CHECK(recorded.changes() == Lines{"+ 1 2 3 4", "+ 5 6 7 8"});
    recorded.cache.advance(held, 8);
    CHECK(recorded.changes().empty());
}

} // namespace etna::engine
