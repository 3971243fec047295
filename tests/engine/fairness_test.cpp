// Shares of clients that each could use the entire engine.

#include "core/engine/fair_queue.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::test {
namespace {

constexpr engine::ClientId heavy = 1;
constexpr engine::ClientId light = 2;

/// `step`: requests with different steps have different prompts.
engine::Request request_of(engine::ClientId client, uint32_t prompt_tokens, uint32_t max_tokens,
                           uint32_t step = 7) {
    engine::Request request = {.max_tokens = max_tokens, .end_tokens = {}, .client = client};
    request.sampling.temperature = 0;
    for (uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back((i + 1) * step % 64);
    return request;
}

FakeOptions spacious() {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 20'000}};
    return options;
}

bool step(Driver& driver) {
    return driver.start_step() && driver.finish_step();
}

/// Runs steps until the request has its first token, at most 100, and returns their number.
uint32_t steps_to_first_token(Driver& driver, engine::RequestId id) {
    uint32_t steps = 0;
    for (; steps < 100 && driver.received(id).tokens.empty(); ++steps)
        REQUIRE(step(driver));
    return steps;
}

TEST_CASE("a client with one request does not wait for one that uses all capacity and the queue") {
    const FakeOptions options = spacious();
    Driver driver(options);
    std::vector<engine::RequestId> many;
    many.reserve(std::size_t{5} * options.limits.sequences_max);
    for (uint32_t i = 0; i < 5 * options.limits.sequences_max; ++i)
        many.push_back(driver.add(request_of(heavy, 8, 200, i + 1)));
    for (int i = 0; i < 50; ++i)
        REQUIRE(step(driver));
    for (int round = 0; round < 5; ++round) {
        const engine::Request asked = request_of(light, 5, 20);
        const auto id = driver.add(asked);
        CHECK(steps_to_first_token(driver, id) <= 2);
        for (int i = 0; i < 40 && !driver.received(id).finished; ++i)
            REQUIRE(step(driver));
        CHECK(driver.received(id).ids() == simulate(options, asked).tokens);
    }
    driver.run();
    for (std::size_t i = 0; i < many.size(); ++i) {
        CHECK(driver.received(many[i]).ids() ==
              simulate(options, request_of(heavy, 8, 200, static_cast<uint32_t>(i) + 1)).tokens);
    }
}

TEST_CASE("a short prompt does not wait for the long prompts of another client") {
    const FakeOptions options = spacious();
    Driver driver(options);
    for (uint32_t i = 0; i < 3 * options.limits.sequences_max; ++i)
        driver.add(request_of(heavy, 2000, 2, 2 * i + 1));
    for (int i = 0; i < 10; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 5, 3));
    CHECK(steps_to_first_token(driver, id) <= 2);
}

TEST_CASE("long prompts of one client that fill every batch do not delay another client, at any batch size") {
    FakeOptions options = spacious();
    options.limits.batch_rows_max = GENERATE(64U, 512U);
    options.limits.output_rows_max = 64;
    options.limits.sequences_max = 16;
    options.limits.slots = 4 * (options.limits.sequences_max + options.limits.output_rows_max);
    const uint32_t prompts = GENERATE(4U, 7U, 8U, 12U, 15U);
    CAPTURE(options.limits.batch_rows_max, prompts);
    Driver driver(options);
    for (uint32_t i = 0; i < prompts; ++i)
        driver.add(request_of(heavy, 4000, 2, 2 * i + 1));
    for (int i = 0; i < 5; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 18, 3));
    CHECK(steps_to_first_token(driver, id) <= 2);
}

TEST_CASE("a client gets pages if another has allocated all") {
    FakeOptions options = spacious();
    options.limits.groups = {{.page_count = 100}};
    Driver driver(options);
    for (uint32_t i = 0; i < options.limits.sequences_max - 1; ++i) // below the limit of running sequences
        driver.add(request_of(heavy, 4, 5000, i + 1));
    uint32_t steps = 0;
    while (driver.scheduler().preemptions() == 0 && ++steps < 1000)
        REQUIRE(step(driver));
    REQUIRE(driver.scheduler().running_count() < options.limits.sequences_max);
    const auto id = driver.add(request_of(light, 40, 20));
    CHECK(steps_to_first_token(driver, id) <= options.limits.sequences_max + 4);
    for (uint32_t i = 0; i < 40 && !driver.received(id).finished; ++i)
        REQUIRE(step(driver));
    CHECK(driver.received(id).finished); // without being preempted
}

TEST_CASE(
    "a request does not wait for those of its client with larger priority numbers, and all are complete") {
    FakeOptions options = spacious();
    options.limits.groups = {{.page_count = GENERATE(100U, 20'000U)}};
    CAPTURE(options.limits.groups[0].page_count);
    Driver driver(options);
    std::vector<engine::RequestId> many;
    for (uint32_t i = 0; i < 3 * options.limits.sequences_max; ++i) {
        engine::Request request = request_of(heavy, 8, 60, i + 1);
        request.priority = 10;
        many.push_back(driver.add(request));
    }
    for (int i = 0; i < 20; ++i)
        REQUIRE(step(driver));
    engine::Request urgent = request_of(heavy, 5, 20);
    urgent.priority = -1;
    const auto id = driver.add(urgent);
    CHECK(steps_to_first_token(driver, id) <= 3);
    for (int i = 0; i < 40 && !driver.received(id).finished; ++i)
        REQUIRE(step(driver));
    CHECK(driver.received(id).ids() == simulate(options, urgent).tokens);
    driver.run();
    for (std::size_t i = 0; i < many.size(); ++i) {
        CHECK(driver.received(many[i]).ids() ==
              simulate(options, request_of(heavy, 8, 60, static_cast<uint32_t>(i) + 1)).tokens);
    }
}

TEST_CASE("a smaller priority number gains nothing against another client") {
    const FakeOptions options = spacious();
    Driver driver(options);
    for (uint32_t i = 0; i < 3 * options.limits.sequences_max; ++i) {
        engine::Request request = request_of(heavy, 8, 400, i + 1);
        request.priority = -1000;
        driver.add(request);
    }
    for (int i = 0; i < 20; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 5, 20));
    CHECK(steps_to_first_token(driver, id) <= 2);
}

TEST_CASE("beam searches of one client do not delay another") {
    const FakeOptions options = spacious();
    Driver driver(options);
    for (uint32_t i = 0; i < 4; ++i) {
        engine::Request search = request_of(heavy, 6, 60, i + 1);
        search.beams = engine::BeamOptions{.width = 2 * options.limits.sequences_max};
        driver.add(search);
    }
    for (int i = 0; i < 20; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 5, 10));
    CHECK(steps_to_first_token(driver, id) <= 3);
    driver.run();
}

TEST_CASE("embeddings of one client do not delay another") {
    FakeOptions options = spacious();
    options.limits.batch_rows_max = GENERATE(64U, 512U);
    const auto attention = GENERATE(engine::AttentionSpan::causal, engine::AttentionSpan::segment);
    CAPTURE(options.limits.batch_rows_max);
    Driver driver(options);
    for (uint32_t i = 0; i < 5 * options.limits.sequences_max; ++i) {
        engine::Request text =
            request_of(heavy, options.limits.batch_rows_max - options.limits.sequences_max, 1, 2 * i + 1);
        text.hidden = engine::HiddenRows::last;
        text.attention = attention;
        driver.add(text);
    }
    for (int i = 0; i < 10; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 18, 3));
    CHECK(steps_to_first_token(driver, id) <= 3);
    driver.run();
}

TEST_CASE("a request for 64 answers does not delay another client") {
    const FakeOptions options = spacious();
    Driver driver(options);
    for (uint32_t request = 0; request < 4; ++request) {
        std::optional<engine::RequestId> group;
        for (uint32_t answer = 0; answer < 64; ++answer) {
            const auto id = driver.add(request_of(heavy, 20, 400, request + 1), group);
            group = group.value_or(id);
        }
    }
    for (int i = 0; i < 20; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 5, 3));
    CHECK(steps_to_first_token(driver, id) <= 2);
}

TEST_CASE("requests that no client reads do not delay another client") {
    const FakeOptions options = spacious();
    Driver driver(options);
    std::vector<engine::RequestId> unread;
    for (uint32_t i = 0; i < 3 * options.limits.sequences_max; ++i)
        unread.push_back(driver.add(request_of(heavy, 8, 400, i + 1)));
    for (int i = 0; i < 20; ++i)
        REQUIRE(step(driver));
    for (const engine::RequestId id : unread)
        driver.set_backpressure(id, engine::Backpressure::on);
    while (step(driver)) {
    }
    for (int round = 0; round < 3; ++round) {
        const auto id = driver.add(request_of(light, 5, 3));
        CHECK(steps_to_first_token(driver, id) <= 2);
        while (step(driver)) {
        }
        CHECK(driver.received(id).finished.has_value());
    }
}

TEST_CASE("log-probabilities of one client's prompts do not delay another") {
    const FakeOptions options = spacious();
    Driver driver(options);
    for (uint32_t i = 0; i < 3 * options.limits.sequences_max; ++i) {
        engine::Request scored = request_of(heavy, 1000, 2, 2 * i + 1);
        scored.prompt_candidates = 1;
        driver.add(scored);
    }
    for (int i = 0; i < 10; ++i)
        REQUIRE(step(driver));
    const auto id = driver.add(request_of(light, 5, 3));
    CHECK(steps_to_first_token(driver, id) <= 3);
}

TEST_CASE("with more clients than capacity, each runs in turn") {
    const FakeOptions options = spacious();
    const uint32_t capacity = options.limits.sequences_max;
    Driver driver(options);
    for (uint32_t i = 0; i < capacity; ++i)
        driver.add(request_of(10 + i, 4, 4000, i + 1));
    for (int i = 0; i < 300; ++i)
        REQUIRE(step(driver));
    const auto newcomer = driver.add(request_of(light, 5, 10));
    CHECK(steps_to_first_token(driver, newcomer) <= 2); // all others have used their quantum
    const auto next = driver.add(request_of(3, 5, 1000));
    CHECK(steps_to_first_token(driver, next) <= 15);
    const auto last = driver.add(request_of(4, 5, 1000));
    CHECK(steps_to_first_token(driver, last) <= 15);
}

TEST_CASE("two saturating clients get equal shares, whatever their numbers of requests") {
    const FakeOptions options = spacious();
    Driver driver(options);
    std::vector<engine::RequestId> few, many;
    for (uint32_t i = 0; i < options.limits.sequences_max; ++i)
        few.push_back(driver.add(request_of(light, 4, 3000, i + 1)));
    for (uint32_t i = 0; i < 6 * options.limits.sequences_max; ++i)
        many.push_back(driver.add(request_of(heavy, 4, 3000, i + 1)));
    for (int i = 0; i < 400; ++i)
        REQUIRE(step(driver));
    const auto tokens = [&](const std::vector<engine::RequestId>& ids) {
        double all = 0;
        for (const engine::RequestId id : ids)
            all += static_cast<double>(driver.received(id).tokens.size());
        return all;
    };
    CHECK(tokens(few) / tokens(many) == Approx(1).epsilon(0.15));
}

TEST_CASE("an idle client earns no credit") {
    engine::ClientTokenCounters counters;
    counters.add_sequence(heavy);
    counters.charge(heavy, 100);
    counters.end_batch();
    counters.add_running(heavy);
    counters.add_sequence(light);
    CHECK(counters.comes_before(light, heavy)); // as many rows, and fewer running sequences
    counters.charge(light, 1);
    CHECK(counters.comes_before(light, heavy)); // charges count from the next batch on
    counters.end_batch();
    CHECK(counters.comes_before(heavy, light));
    counters.charge(heavy, 2);
    counters.end_batch();
    CHECK(counters.comes_before(light, heavy));
}

} // namespace
} // namespace etna::test
