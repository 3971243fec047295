// The draft model of an engine: long prompts, evicted pages, and its failure.

#include "core/engine/engine.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace etna::test {

using engine::Finished;

namespace {

/// Rows that the draft model computes between two steps of the model.
struct DraftRows {
    uint64_t since_step = 0;
    uint64_t rows_max = 0;

    void watch(FakeOptions& model, FakeOptions& draft) {
        draft.on_submit = [this](const engine::Batch& batch) { since_step += batch.rows.size(); };
        model.on_submit = [this](const engine::Batch&) {
            rows_max = std::max(rows_max, std::exchange(since_step, 0));
        };
    }
};

} // namespace

TEST_CASE("a draft model computes a long prompt in one chunk per step, and drafts afterwards") {
    const FakeOptions options = roomy();
    FakeOptions draft = options;
    uint64_t rows = 0; // of the draft model, since the last step
    uint64_t rows_max = 0;
    draft.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows)
            rows += row.kind == engine::RowKind::prefill ? 1 : 0;
    };
    FakeOptions watched = options;
    watched.on_submit = [&](const engine::Batch&) {
        rows_max = std::max(rows_max, rows);
        rows = 0;
    };
    Driver driver(watched, draft);
    engine::Request early = long_request(60, {.tokens_max = 5, .uses_model = true});
    engine::Request late = early;
    late.prompt.clear();
    for (TokenId i = 0; i < 200; ++i)
        late.prompt.push_back(i * 7 % 61);
    const engine::RequestId first = driver.add(early);
    for (int i = 0; i < 4; ++i) {
        driver.start_step();
        driver.finish_step();
    }
    const engine::RequestId second = driver.add(late);
    driver.run();
    CHECK(driver.received(first).ids() == simulate(options, early).tokens);
    CHECK(driver.received(second).ids() == simulate(options, late).tokens);
    CHECK(rows_max <= options.limits.batch_rows_max);
    CHECK(driver.postponed() > 5);
    CHECK(driver.received(first).finished->accepted_drafts > 40); // it does not wait for the other's prompt
    CHECK(driver.received(second).finished->accepted_drafts > 20);
    CHECK(driver.received(second).finished->rejected_drafts == 0);
}

TEST_CASE("a draft model recomputes a text in chunks if its pages were evicted") {
    const FakeOptions options = roomy();
    FakeOptions draft = options;
    draft.limits.groups = {{.page_count = 70}}; // for one of the texts
    DraftRows draft_rows;
    FakeOptions watched = options;
    draft_rows.watch(watched, draft);
    Driver driver(watched, draft);
    std::map<engine::RequestId, engine::Request> requests;
    for (TokenId step : {3U, 7U}) {
        engine::Request request = long_request(40, {.tokens_max = 5, .uses_model = true});
        request.prompt.clear();
        for (TokenId i = 0; i < 200; ++i)
            request.prompt.push_back(i * step % 61);
        requests.emplace(driver.add(request), request);
    }
    driver.run();
    for (const auto& [id, request] : requests)
        CHECK(driver.received(id).ids() == simulate(options, request).tokens);
    CHECK(draft_rows.rows_max < 80); // of 400 positions
}

TEST_CASE("a draft model computes the tokens of steps without it in chunks") {
    FakeOptions options = roomy();
    options.limits.batch_rows_max = options.limits.output_rows_max = 128;
    const engine::Request plain = long_request(300, {.tokens_max = 30, .uses_model = true});
    const std::vector<TokenId> answer = simulate(options, plain).tokens;
    FakeOptions draft = options;
    DraftRows draft_rows;
    FakeOptions watched = options;
    draft_rows.watch(watched, draft);
    engine::Request request = plain;
    request.speculation->prediction.assign(answer.begin() + 40,
                                           answer.begin() + 240); // the draft model is not used
    Driver driver(watched, draft);
    const engine::RequestId id = driver.add(request);
    driver.run();
    CHECK(driver.received(id).ids() == answer);
    CHECK(driver.received(id).finished->accepted_drafts > 250);
    CHECK(driver.postponed() > 0);
    CHECK(draft_rows.rows_max <= options.limits.batch_rows_max);
}

TEST_CASE("no sequence waits for drafts without a draft model") {
    const FakeOptions options = roomy();
    Driver driver(options);
    const engine::Request request = long_request(60, {.tokens_max = 5, .uses_model = true});
    const auto unread_max = [&] {
        std::size_t rows_max = 0;
        while (!driver.is_idle()) {
            while (driver.start_step())
                rows_max = std::max(rows_max, driver.unread());
            driver.finish_step();
        }
        return rows_max;
    };
    driver.add(request);
    driver.start_step();
    driver.finish_step();
    driver.drop_draft_model(); // during a request
    CHECK(unread_max() == options.limits.in_flight_max);
    driver.add(request);
    CHECK(unread_max() == options.limits.in_flight_max);
}

TEST_CASE("a long prompt does not raise the measured cost of drafts") {
    FakeOptions options = roomy();
    options.step_delay = std::chrono::milliseconds(5);
    FakeOptions draft = roomy();
    draft.on_submit = [](const engine::Batch& batch) {
        if (batch.rows.size() > 8) // the draft model's prompts take long
            std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the work of a step
    };
    auto drafted = engine::Engine::create(std::make_unique<FakeExecutor>(options), {},
                                          std::make_unique<FakeExecutor>(draft));
    REQUIRE(drafted);
    const auto accepted = [&](const engine::Request& request) {
        auto stream = (*drafted)->submit(request);
        while (true) {
            const engine::Event event = stream->next();
            if (const auto* finished = std::get_if<Finished>(&event))
                return finished->accepted_drafts;
        }
    };
    engine::Request request = long_request(60, {.tokens_max = 5, .uses_model = true});
    engine::Request plain = request; // measures a step without drafts
    plain.speculation.reset();
    accepted(plain);
    CHECK(accepted(request) > 40);
    engine::Request with_long_prompt = request;
    for (TokenId i = 0; i < 200; ++i)
        with_long_prompt.prompt.push_back(i * 7 % 61);
    with_long_prompt.max_tokens = 20;
    accepted(with_long_prompt);
    for (TokenId first = 4; first < 8; ++first) {
        request.prompt = {first};
        CHECK(accepted(request) > 40);
    }
}

TEST_CASE("an engine with a draft model gives the same answers, and survives its failure") {
    FakeOptions options;
    FakeOptions draft;
    const LogRecorder log;
    std::vector<std::string> expected;
    SECTION("while it works") {}
    SECTION("when it fails") {
        draft.lost_at_step = 4;
        expected = {"draft model failed; speculative decoding is off until the model is reloaded: the fake "
                    "device was lost"};
    }
    auto plain = engine::Engine::create(std::make_unique<FakeExecutor>(options));
    auto drafted = engine::Engine::create(std::make_unique<FakeExecutor>(options), {},
                                          std::make_unique<FakeExecutor>(draft));
    REQUIRE(plain);
    REQUIRE(drafted);
    engine::Request request = long_request(80, {.tokens_max = 5, .uses_model = true});
    const auto tokens = [&](engine::Engine& engine) {
        auto stream = engine.submit(request);
        std::vector<TokenId> ids;
        while (true) {
            const engine::Event event = stream->next();
            if (std::holds_alternative<Finished>(event))
                return ids;
            ids.push_back(std::get<engine::TokenEvent>(event).token);
        }
    };
    CHECK(tokens(**plain) == tokens(**drafted));
    CHECK(log.warnings() == expected);
}

} // namespace etna::test
