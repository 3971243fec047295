#include "core/engine/page_pool.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace etna::engine {
namespace {

/// A naive pool: every page with its references, its hash, and the time of its last release.
struct NaivePool {
    struct Page {
        uint32_t references = 0;
        std::optional<PageHash> hash;
        bool is_late = true;
        uint64_t released = 0;
    };
    std::vector<Page> pages;
    uint64_t time = 0;

    [[nodiscard]] uint32_t count(bool published) const {
        return static_cast<uint32_t>(std::count_if(pages.begin(), pages.end(), [&](const Page& page) {
            return page.references == 0 && page.hash.has_value() == published;
        }));
    }
    [[nodiscard]] std::optional<PageId> find(const PageHash& hash) const {
        for (PageId page = 0; page < pages.size(); ++page) {
            if (pages[page].hash == hash)
                return page;
        }
        return std::nullopt;
    }
    [[nodiscard]] PageId least_recently_used() const {
        PageId best = static_cast<PageId>(pages.size());
        for (PageId page = 0; page < pages.size(); ++page) {
            const auto order = [this](PageId one) {
                return std::pair(pages[one].is_late, pages[one].released);
            };
            if (pages[page].references == 0 && (best == pages.size() || order(page) < order(best)))
                best = page;
        }
        return best;
    }
};

void allocate_in_both(PagePool& pool, NaivePool& naive) {
    const bool has_free = naive.count(false) > 0;
    const bool has_cached = naive.count(true) > 0;
    const std::optional<PageId> page = pool.allocate();
    REQUIRE(page.has_value() == (has_free || has_cached));
    if (!page)
        return;
    REQUIRE(naive.pages[*page].references == 0);
    if (has_free) {
        REQUIRE(!naive.pages[*page].hash); // cached pages only if none is free
    } else {
        REQUIRE(*page == naive.least_recently_used());
    }
    naive.pages[*page] = {.references = 1, .hash = {}};
}

void change_both(PagePool& pool, NaivePool& naive, PageId page, uint32_t action, const PageHash& hash) {
    NaivePool::Page& own = naive.pages[page];
    if (action == 0 && (own.references > 0 || own.hash)) {
        pool.retain(page);
        ++own.references;
    } else if (action <= 3 && own.references > 0) {
        own.is_late = action != 3;
        pool.release(page, own.is_late ? PagePool::Eviction::late : PagePool::Eviction::early);
        --own.references;
        own.released = ++naive.time;
    } else if (action == 4 && own.references > 0 && !own.hash) {
        const bool is_new = !naive.find(hash);
        REQUIRE(pool.publish(page, hash) == is_new);
        if (is_new)
            own.hash = hash;
    } else if (action == 5 && (own.references > 0 || own.hash)) {
        pool.invalidate(page);
        own.hash.reset();
    }
}

void compare(const PagePool& pool, const NaivePool& naive) {
    std::vector<uint32_t> references;
    for (PageId page = 0; page < naive.pages.size(); ++page) {
        references.push_back(naive.pages[page].references);
        REQUIRE(pool.is_exclusive(page) == (naive.pages[page].references == 1 && !naive.pages[page].hash));
    }
    const Status status = pool.verify(references);
    INFO((status ? "" : status.error().message));
    REQUIRE(status);
    REQUIRE(pool.cached() == naive.count(true));
    REQUIRE(pool.available() == naive.count(true) + naive.count(false));
    for (uint64_t i = 0; i < 12; ++i)
        REQUIRE(pool.find({i, 0}) == naive.find({i, 0}));
}

TEST_CASE("a page pool behaves like its naive model") {
    for (uint32_t seed = 0; seed < 100; ++seed) {
        INFO("seed " << seed);
        std::mt19937 dice(seed);
        const uint32_t page_count = 1 + dice() % 9;
        PagePool pool(page_count);
        NaivePool naive{.pages = std::vector<NaivePool::Page>(page_count)};
        for (uint32_t i = 0; i < 300; ++i) {
            if (dice() % 3 == 0) {
                allocate_in_both(pool, naive);
            } else {
                change_both(pool, naive, dice() % page_count, dice() % 6, {dice() % 12, 0});
            }
            compare(pool, naive);
        }
    }
}

TEST_CASE("verify() reports a wrong reference count") {
    PagePool pool(3);
    const PageId page = *pool.allocate();
    std::vector<uint32_t> references(3);
    const Status missing = pool.verify(references);
    REQUIRE(!missing);
    CHECK(missing.error().kind == ErrorKind::internal);
    references[page] = 1;
    CHECK(pool.verify(references));
    references[page] = 2;
    CHECK(!pool.verify(references));
}

} // namespace
} // namespace etna::engine
