// Sequences as long as a context of 131,072 tokens, with the pages and slots that plans give such models: see
// tests/model/device_plan_test.cpp.

#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr uint32_t context_tokens = 131072;
constexpr uint32_t window_tokens = 1024;
constexpr uint32_t window_pages_max = 49; ///< of a window and a batch
constexpr uint32_t snapshots_max = 6;

/// Full attention, as of latents.
engine::Limits full_limits() {
    engine::Limits limits = fake_limits();
    limits.page_tokens = 32;
    limits.context_tokens = context_tokens;
    limits.batch_rows_max = 512;
    limits.groups = {{.page_count = 4096}};
    return limits;
}

engine::Limits windowed_limits() {
    engine::Limits limits = full_limits();
    limits.groups.push_back({engine::CacheKind::sliding_window, window_tokens, 5 * window_pages_max});
    return limits;
}

engine::Limits recurrent_limits() {
    engine::Limits limits = full_limits();
    limits.state_slots = limits.sequences_max + snapshots_max;
    limits.pending_rows_max = 9;
    return limits;
}

/// The largest number of pages that a sequence has held in any group with a window.
struct Watch {
    uint32_t pages_max = 0;

    void look(const engine::Batch& batch, const engine::Limits& limits) {
        for (const engine::SequenceView& view : batch.sequences) {
            for (std::size_t group = 0; group < limits.groups.size(); ++group) {
                if (limits.groups[group].kind == engine::CacheKind::full)
                    continue;
                const auto& pages = view.pages[group];
                const auto released = std::count(pages.begin(), pages.end(), engine::no_page);
                pages_max = std::max(pages_max,
                                     static_cast<uint32_t>(pages.size()) - static_cast<uint32_t>(released));
            }
        }
    }
};

engine::Request prompt_request(std::size_t tokens, uint32_t max_tokens) {
    Random random(7);
    engine::Request request{.prompt = std::vector<TokenId>(tokens), .max_tokens = max_tokens};
    for (TokenId& token : request.prompt)
        token = pick(random, 0, fake_limits().vocabulary - 1);
    request.sampling.temperature = 0;
    return request;
}

/// The first `shared` tokens of `request`, and others after them.
engine::Request diverging(const engine::Request& request, std::size_t shared) {
    engine::Request other = request;
    other.prompt.resize(shared);
    for (TokenId token = 0; token < 20; ++token)
        other.prompt.push_back((request.prompt[shared] + 1 + token) % fake_limits().vocabulary);
    other.max_tokens = 8;
    return other;
}

/// Runs a request to its end; its tokens must be the model's. Returns how many of its prompt were found.
uint32_t run_as_simulated(Driver& driver, const FakeOptions& options, const engine::Request& request) {
    const engine::RequestId id = driver.add(request);
    driver.run();
    const Expected expected = simulate(options, request);
    CHECK(driver.received(id).ids() == expected.tokens);
    REQUIRE(driver.received(id).finished);
    CHECK(driver.received(id).finished->reason == expected.reason);
    return driver.received(id).finished->cached_tokens;
}

} // namespace

TEST_CASE("a prompt ends with its context of 131,072 tokens, and its prefix is found again") {
    struct Case {
        const char* name;
        engine::Limits limits;
        uint32_t found; ///< of the second prompt, which shares 131,000 tokens
    };
    const Case tested = GENERATE(Case{"full attention", full_limits(), 131000},
                                 Case{"windows of 1,024", windowed_limits(), 131000},
                                 Case{"recurrent layers", recurrent_limits(), 31 * 4096});
    INFO(tested.name);
    Watch watch;
    FakeOptions options{.limits = tested.limits};
    options.on_submit = [&](const engine::Batch& batch) { watch.look(batch, tested.limits); };
    Driver driver(options);
    const engine::Request first = prompt_request(context_tokens - 16, 100);
    CHECK(run_as_simulated(driver, options, first) == 0);
    CHECK(driver.rows() == context_tokens - 1); // the last token is not computed

    const uint64_t rows = driver.rows();
    const engine::Request second = diverging(first, 131000);
    CHECK(run_as_simulated(driver, options, second) == tested.found);
    CHECK(driver.rows() - rows == second.prompt.size() - tested.found + *second.max_tokens - 1);
    CHECK(watch.pages_max <= window_pages_max);
    CHECK((watch.pages_max > 0) == (tested.limits.groups.size() > 1));
}

TEST_CASE("long prompts that run together hold their windows, and share the snapshots that exist") {
    engine::Limits limits = windowed_limits();
    limits.state_slots = limits.sequences_max + snapshots_max;
    limits.pending_rows_max = 9;
    Watch watch;
    FakeOptions options{.limits = limits};
    options.on_submit = [&](const engine::Batch& batch) { watch.look(batch, limits); };
    Driver driver(options);
    const engine::Request first = prompt_request(40000, 40);
    std::vector<engine::Request> requests = {first, diverging(first, 39000), diverging(first, 20000)};
    std::vector<engine::RequestId> ids;
    ids.reserve(requests.size());
    for (const engine::Request& request : requests)
        ids.push_back(driver.add(request));
    driver.run();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        INFO("request " << i);
        CHECK(driver.received(ids[i]).ids() == simulate(options, requests[i]).tokens);
    }
    CHECK(watch.pages_max <= window_pages_max);
    CHECK(driver.scheduler().verify());
}
