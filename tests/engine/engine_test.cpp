#include "core/engine/engine.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace etna::test {
namespace {

using namespace std::chrono_literals;
using engine::Engine;
using engine::Finished;
using engine::FinishReason;
using engine::Stream;
using engine::TokenEvent;

std::unique_ptr<Engine> make_engine(FakeOptions options, const engine::EngineOptions& engine_options = {}) {
    return Engine::create(std::make_unique<FakeExecutor>(std::move(options)), engine_options).value();
}

engine::Request numbered_request(uint32_t number, std::optional<uint32_t> max_tokens) {
    engine::Request one{
        .prompt = {}, .sampling = {.seed = number}, .max_tokens = max_tokens, .end_tokens = {}};
    one.sampling.temperature = number % 2 == 0 ? 0.0F : 0.8F;
    one.sampling.top_k = number % 3 == 0 ? 0 : 8;
    for (uint32_t i = 0; i < 5 + number % 40; ++i)
        one.prompt.push_back((i * 3 + number % 4) % 64);
    return one;
}

/// Runs one request, which may be long.
FakeOptions one_at_a_time() {
    FakeOptions options{.step_delay = 1ms};
    options.limits.sequences_max = 1;
    options.limits.context_tokens = 100000;
    options.limits.groups = {{.page_count = 25000}};
    return options;
}

TEST_CASE("a request is answered, with its timings") {
    const FakeOptions options{.step_delay = 200us};
    const auto engine = make_engine(options);
    CHECK(engine->limits().vocabulary == 64);
    auto stream = engine->submit(numbered_request(2, 20));
    REQUIRE(stream);
    const Answer answer = read_all(*stream);
    CHECK(answer.tokens == simulate(options, numbered_request(2, 20)).tokens);
    CHECK(answer.finished.reason == FinishReason::length);
    CHECK(answer.finished.prompt_tokens == 7);
    CHECK(answer.finished.completion_tokens == 20);
    CHECK(answer.finished.timings.queue_ms >= 0);
    CHECK(answer.finished.timings.prompt_ms >= 0.2);
    CHECK(answer.finished.timings.generation_ms >= 19 * 0.2 - 0.2);    // the pipeline hides at most one step
    CHECK(std::get<Finished>(stream->next()).completion_tokens == 20); // again
}

TEST_CASE("log-probabilities of greedy tokens are those of the largest logit") {
    const auto engine = make_engine({.scripts = {{.prompt = {}, .continuation = {3}}}});
    auto stream = engine->submit(numbered_request(2, 1));
    const auto token = std::get<TokenEvent>(stream->next());
    CHECK(token.token == 3);
    CHECK(token.logit == 60); // of scripted tokens
    CHECK(token.log_sum_exp == Approx(60));
}

TEST_CASE("a request with NaN logits fails alone, and its pages are not reused") {
    FakeOptions options;
    options.bad_token = 63;
    const auto engine = make_engine(options);
    engine::Request good{.prompt = {}, .sampling = {.temperature = 0}, .max_tokens = 5, .end_tokens = {}};
    for (uint32_t i = 0; i < 40; ++i)
        good.prompt.push_back(i % 60);
    engine::Request bad = good;
    bad.prompt.push_back(63);

    auto bystander = engine->submit(numbered_request(2, 20));
    auto failing = engine->submit(bad);
    const Answer failed = read_all(*failing);
    CHECK(failed.tokens.empty());
    CHECK(failed.finished.reason == FinishReason::error);
    REQUIRE(failed.finished.error.has_value());
    CHECK(failed.finished.error->message == "fake model: the logits are not numbers");
    CHECK(read_all(*bystander).tokens == simulate(options, numbered_request(2, 20)).tokens);

    auto next = engine->submit(good); // shares all but the last token
    const Answer answer = read_all(*next);
    CHECK(answer.finished.cached_tokens == 0);
    CHECK(answer.tokens == simulate(options, good).tokens);
    auto again = engine->submit(good);
    CHECK(read_all(*again).finished.cached_tokens > 0);
}

TEST_CASE("concurrent clients get their own answers") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 60}};
    const auto engine = make_engine(options);
    std::vector<std::vector<Answer>> answers(8);
    std::vector<std::thread> clients;
    clients.reserve(8);
    for (uint32_t client = 0; client < 8; ++client) {
        clients.emplace_back([&, client] {
            for (uint32_t i = 0; i < 12; ++i) {
                auto stream = engine->submit(numbered_request(client * 12 + i, 1 + i * 5));
                if (i % 4 == 3)
                    stream->cancel();
                answers[client].push_back(read_all(*stream));
            }
        });
    }
    for (std::thread& client : clients)
        client.join();
    for (uint32_t client = 0; client < 8; ++client) {
        for (uint32_t i = 0; i < 12; ++i) {
            INFO("client " << client << ", request " << i);
            const Expected expected = simulate(options, numbered_request(client * 12 + i, 1 + i * 5));
            const Answer& answer = answers[client][i];
            CHECK(answer.finished.completion_tokens == answer.tokens.size());
            if (answer.finished.reason == FinishReason::cancelled) {
                CHECK(i % 4 == 3);
                CHECK(std::equal(answer.tokens.begin(), answer.tokens.end(), expected.tokens.begin()));
            } else {
                CHECK(answer.tokens == expected.tokens);
            }
        }
    }
}

TEST_CASE("cancelling ends a stream within a step, from any thread") {
    FakeOptions options{.step_delay = 1ms};
    options.limits.context_tokens = 100000;
    options.limits.groups = {{.page_count = 25000}};
    const auto engine = make_engine(options);
    auto stream = engine->submit(numbered_request(2, {}));
    auto neighbour = engine->submit(numbered_request(4, 40));
    CHECK(std::holds_alternative<TokenEvent>(stream->next()));
    std::thread([&] { stream->cancel(); }).join();
    const Answer answer = read_all(*stream);
    CHECK(answer.finished.reason == FinishReason::cancelled);
    CHECK(answer.tokens.size() < 1000);
    CHECK(read_all(*neighbour).tokens == simulate(options, numbered_request(4, 40)).tokens);
}

TEST_CASE("a dropped stream frees its capacity") {
    FakeOptions options;
    options.limits.context_tokens = 100000;
    options.limits.sequences_max = 1;
    options.limits.groups = {{.page_count = 25000}};
    const auto engine = make_engine(options);
    for (uint32_t i = 0; i < 3; ++i) {
        auto endless = engine->submit(numbered_request(2, {}));
        CHECK(std::holds_alternative<TokenEvent>(endless->next()));
        *endless =
            std::move(engine->submit(numbered_request(2, {}))).value(); // assignment drops the first as well
        CHECK(std::holds_alternative<TokenEvent>(endless->next()));
    }
    auto last = engine->submit(numbered_request(4, 3));
    CHECK(read_all(*last).finished.reason == FinishReason::length);
}

TEST_CASE("a slow reader does not delay other requests") {
    const auto engine = make_engine({});
    auto unread = engine->submit(numbered_request(2, 200));
    auto other = engine->submit(numbered_request(4, 200));
    CHECK(read_all(*other).tokens.size() == 200);
    CHECK(read_all(*unread).tokens.size() == 200);
}

TEST_CASE("a reader that falls behind pauses only its own request") {
    FakeOptions options;
    std::atomic<uint64_t> generated = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows)
            generated += row.kind == engine::RowKind::decode ? 1 : 0;
    };
    const auto engine = make_engine(options);
    engine::Request slow = numbered_request(2, 200);
    slow.unread_max = 8;
    auto stream = engine->submit(slow);
    const auto settled = [&] {
        uint64_t before = 0;
        do {
            before = generated;
            std::this_thread::sleep_for(20ms); // many steps
        } while (generated != before);
        return before;
    };
    const uint64_t limit = slow.unread_max + options.limits.in_flight_max;
    CHECK(settled() <= limit);
    auto other = engine->submit(numbered_request(4, 100)); // the engine sleeps, and wakes for it
    CHECK(read_all(*other).tokens.size() == 100);
    CHECK(settled() <= limit + 100);
    CHECK(read_all(*stream).tokens == simulate(options, numbered_request(2, 200)).tokens);

    auto abandoned = engine->submit(slow);
    settled();
    abandoned->cancel(); // wakes the engine although nothing runs
    CHECK(read_all(*abandoned).finished.reason == FinishReason::cancelled);

    std::vector<Stream> crowd; // more than the cache has pages for
    for (uint32_t i = 0; i < 40; ++i) {
        engine::Request one = numbered_request(i, 60);
        one.unread_max = 1 + i % 3;
        crowd.push_back(engine->submit(one).value());
    }
    for (uint32_t i = 40; i-- > 0;) // the last first: the others have its pages, and are preempted
        CHECK(read_all(crowd[i]).tokens == simulate(options, numbered_request(i, 60)).tokens);
}

TEST_CASE("next_for() returns empty after its timeout") {
    const auto engine = make_engine({.step_delay = 300ms});
    auto stream = engine->submit(numbered_request(2, 1));
    CHECK(!stream->next_for(1ms));
    CHECK(stream->next_for(10s));
}

TEST_CASE("a full queue refuses with busy, and accepts again later") {
    const auto engine = make_engine(one_at_a_time(), {.queue_max = 2});
    auto running = engine->submit(numbered_request(2, {}));
    CHECK(std::holds_alternative<TokenEvent>(running->next()));
    auto first = engine->submit(numbered_request(2, 2));
    auto second = engine->submit(numbered_request(2, 2));
    REQUIRE(first);
    REQUIRE(second);
    const auto refused = engine->submit(numbered_request(2, 2));
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::busy);
    running->cancel();
    CHECK(read_all(*second).finished.reason == FinishReason::length);
    CHECK(engine->submit(numbered_request(2, 2)));
}

TEST_CASE("requests of lowered priority leave half of the queue to the others") {
    const auto engine = make_engine(one_at_a_time(), {.queue_max = 5});
    const auto submit_lowered = [&](std::size_t answers, engine::ClientId client = 0) {
        std::vector<engine::Request> requests(answers, numbered_request(2, {}));
        for (engine::Request& request : requests) {
            request.priority = 1;
            request.client = client;
        }
        return engine->submit_all(std::move(requests));
    };
    std::vector<Stream> lowered = submit_lowered(4).value(); // one runs
    CHECK(submit_lowered(1).error().kind == ErrorKind::busy);
    auto first = engine->submit(numbered_request(2, 2));
    auto second = engine->submit(numbered_request(2, 2));
    CHECK(submit_lowered(4, 1).error().kind == ErrorKind::busy);
    CHECK(submit_lowered(3, 1)); // a client with few requests does not wait for another one's
    lowered.clear();             // cancels
    CHECK(read_all(first.value()).finished.reason == FinishReason::length);
    CHECK(read_all(second.value()).finished.reason == FinishReason::length);
}

TEST_CASE("answers of lowered priority that need more than half of the queue run in an idle engine") {
    FakeOptions options{};
    options.limits.sequences_max = 1;
    const auto engine = make_engine(options, {.queue_max = 4});
    std::vector<engine::Request> requests(5, numbered_request(2, 1));
    for (engine::Request& request : requests)
        request.priority = 1;
    auto streams = engine->submit_all(std::move(requests));
    REQUIRE(streams);
    for (Stream& stream : *streams)
        CHECK(read_all(stream).finished.reason == FinishReason::length);
}

TEST_CASE("a full queue accepts a client with few requests") {
    const auto engine = make_engine(one_at_a_time(), {.queue_max = 20});
    std::vector<Stream> heavy;
    heavy.reserve(21);
    for (int i = 0; i < 21; ++i)
        heavy.push_back(engine->submit(numbered_request(2, {})).value());
    CHECK(engine->submit(numbered_request(2, {})).error().kind == ErrorKind::busy);
    const auto submit_as = [&](engine::ClientId client) {
        engine::Request one = numbered_request(2, 3);
        one.client = client;
        return engine->submit(one);
    };
    for (int round = 0; round < 2; ++round) { // ended requests do not count
        std::vector<Stream> light;
        light.reserve(16);
        for (int i = 0; i < 16; ++i)
            light.push_back(submit_as(1).value());
        CHECK(submit_as(1).error().kind == ErrorKind::busy);
        std::vector<Stream> others;
        others.reserve(4);
        for (int i = 0; i < 4; ++i)
            others.push_back(submit_as(2).value());
        CHECK(submit_as(3).error().kind == ErrorKind::busy); // the limit is twice queue_max
        for (Stream& stream : light)
            CHECK(read_all(stream).finished.reason == FinishReason::length);
        for (Stream& stream : others)
            CHECK(read_all(stream).finished.reason == FinishReason::length);
    }
}

TEST_CASE("the capacity of cancelled requests is free once their ends are delivered") {
    FakeOptions options{.step_delay = 1ms};
    options.limits.context_tokens = 100000;
    options.limits.groups = {{.page_count = 25000}};
    options.on_submit = [](const engine::Batch&) {
        std::this_thread::sleep_for(20ms); // the work of a step
    };
    const auto engine = make_engine(options, {.queue_max = 2});
    auto running = engine->submit(numbered_request(2, {}));
    for (uint32_t round = 0; round < 5; ++round) {
        std::vector<Stream> others;
        others.reserve(5);
        for (uint32_t i = 0; i < 5; ++i) // all capacity, and the queue
            others.push_back(engine->submit(numbered_request(4 + i, {})).value());
        CHECK(!engine->submit(numbered_request(2, 2)));
        for (Stream& stream : others)
            stream.cancel();
        for (Stream& stream : others)
            read_all(stream);
        for (Stream& stream : others) {
            auto next = engine->submit(numbered_request(4, {}));
            REQUIRE(next);
            stream = std::move(*next);
        }
        for (Stream& stream : others)
            stream.cancel();
        for (Stream& stream : others)
            read_all(stream);
    }
}

TEST_CASE("load() reports running and waiting requests and pages") {
    FakeOptions options{.step_delay = 1ms};
    options.limits.sequences_max = 2;
    options.limits.groups = {{.page_count = 8}};
    const auto engine = make_engine(options);
    CHECK((engine->load().pages_total == 8 && engine->load().pages_used == 0));
    std::vector<Stream> streams;
    streams.reserve(5);
    for (uint32_t i = 0; i < 5; ++i)
        streams.push_back(engine->submit(numbered_request(0, std::nullopt)).value());
    REQUIRE(std::holds_alternative<TokenEvent>(streams[0].next()));
    const engine::EngineStats busy = engine->load();
    CHECK((busy.running >= 1 && busy.running <= 2));
    CHECK(busy.running + busy.waiting == 5);
    CHECK((busy.pages_used >= 1 && busy.pages_used <= 8));
    for (Stream& stream : streams)
        stream.cancel();
    for (Stream& stream : streams)
        read_all(stream);
    (void)eventually([&] { // the load is updated after the next step
        return engine->load().running + engine->load().waiting == 0;
    });
    CHECK((engine->load().running == 0 && engine->load().waiting == 0 && engine->load().pages_used == 0));
}

TEST_CASE("load() counts the computed prompt tokens and the generated ones since the start") {
    const auto engine = make_engine({});
    const auto run = [&](uint32_t tokens) {
        Stream stream = engine->submit(numbered_request(3, tokens)).value();
        return read_all(stream).finished;
    };
    const auto first = run(5);
    const engine::EngineStats after_first = engine->load();
    CHECK(after_first.prompt_tokens_computed == first.prompt_tokens - first.cached_tokens);
    CHECK(after_first.tokens_generated == first.completion_tokens + (first.end_token ? 1 : 0));
    const auto second = run(9); // the same prompt, partly from the cache
    const engine::EngineStats after_second = engine->load();
    CHECK(after_second.prompt_tokens_computed - after_first.prompt_tokens_computed ==
          second.prompt_tokens - second.cached_tokens);
    CHECK(after_second.tokens_generated - after_first.tokens_generated ==
          second.completion_tokens + (second.end_token ? 1 : 0));
}

TEST_CASE("a lost device ends every stream and every later request with its error") {
    const auto engine = make_engine({.lost_at_step = 5});
    std::vector<Stream> streams;
    for (uint32_t i = 0; i < 6; ++i) {
        auto stream = engine->submit(numbered_request(2, {}));
        if (stream)
            streams.push_back(std::move(*stream));
    }
    REQUIRE(!streams.empty());
    for (Stream& stream : streams) {
        const Answer answer = read_all(stream);
        CHECK(answer.finished.reason == FinishReason::error);
        CHECK(answer.finished.prompt_tokens == 7);
        REQUIRE(answer.finished.error.has_value());
        CHECK(answer.finished.error->kind == ErrorKind::device_lost);
    }
    // Streams end just before submit() starts to refuse.
    (void)eventually([&] { return !engine->submit(numbered_request(2, 1)); });
    const auto late = engine->submit(numbered_request(2, 1));
    REQUIRE(!late);
    CHECK(late.error().kind == ErrorKind::device_lost);
}

TEST_CASE("destruction ends running and waiting requests, and streams outlive it") {
    FakeOptions options{.step_delay = 1ms};
    options.limits.context_tokens = 100000;
    options.limits.groups = {{.page_count = 25000}};
    auto engine = make_engine(options);
    std::vector<Stream> streams;
    streams.reserve(20);
    for (uint32_t i = 0; i < 20; ++i)
        streams.push_back(std::move(engine->submit(numbered_request(2, {}))).value());
    std::thread reader([&] { (void)read_all(streams[0]); });
    std::this_thread::sleep_for(5ms); // some steps
    engine.reset();
    reader.join();
    for (Stream& stream : streams)
        CHECK(read_all(stream).finished.reason == FinishReason::cancelled);
}

TEST_CASE("create() refuses inconsistent limits") {
    FakeOptions options;
    options.limits.slots = 0;
    const auto result = Engine::create(std::make_unique<FakeExecutor>(options));
    REQUIRE(!result);
    CHECK(result.error().message.find("slots") != std::string::npos);
    CHECK(!Engine::create(std::make_unique<FakeExecutor>(), {.queue_max = 0}));
}

} // namespace
} // namespace etna::test
