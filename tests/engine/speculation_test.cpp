// Speculation: the answer is that of plain decoding, whatever the drafts.

#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace etna::test {
namespace {

using engine::Finished;
using engine::FinishReason;
using engine::Speculation;

/// A periodic text, which lookup predicts.
std::vector<FakeScript> round_scripts() {
    FakeScript script;
    for (TokenId i = 0; i < 60; ++i)
        script.continuation.push_back(10 + i % 6);
    return {script};
}

engine::Request random_request(Random& random, uint32_t vocabulary) {
    engine::Request request;
    for (uint32_t i = pick(random, 1, 20); i > 0; --i)
        request.prompt.push_back(pick(random, 0, vocabulary - 1));
    request.max_tokens = pick(random, 1, 40);
    request.end_tokens = {pick(random, 0, vocabulary - 1)};
    request.sampling = {
        .temperature = pick(random, 0, 1) == 0 ? 0.0F : 1.0F, .top_k = 20, .top_p = 1, .min_p = 0};
    request.sampling.seed = pick(random, 0, 1000);
    if (pick(random, 0, 2) == 0)
        request.sampling.repetition_penalty = 1.2F;
    if (pick(random, 0, 3) == 0)
        request.sampling.top_k = 0;
    if (pick(random, 0, 3) == 0)
        request.min_tokens = pick(random, 1, 10);
    if (pick(random, 0, 3) == 0)
        request.logit_bias = {{pick(random, 0, vocabulary - 1), 2}};
    request.top_candidates = pick(random, 0, 3);
    if (pick(random, 0, 3) == 0)
        request.prompt_candidates = pick(random, 0, 3);
    request.speculation = Speculation{.tokens_max = pick(random, 1, 8),
                                      .lookup_ngram_max = pick(random, 0, 3),
                                      .uses_head = pick(random, 0, 1) == 1,
                                      .uses_model = pick(random, 0, 1) == 1};
    if (pick(random, 0, 3) == 0)
        request.speculation->confidence_min = 0.1F;
    for (uint32_t i = pick(random, 0, 20); i > 0; --i)
        request.speculation->prediction.push_back(pick(random, 0, vocabulary - 1));
    return request;
}

constexpr TokenId never = 63; ///< banned by the requests below

/// A prediction in which each token is followed by a banned one.
std::vector<TokenId> wrong_prediction() {
    std::vector<TokenId> prediction;
    for (TokenId token = 0; token < never; ++token)
        prediction.insert(prediction.end(), {token, never});
    return prediction;
}

/// Counts the draft model's rows with an output; rows that catch up with known tokens have none.
void count_drafts(FakeOptions& draft, uint64_t& rows) {
    draft.on_submit = [&rows](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows)
            rows += row.output_kind != engine::OutputKind::none ? 1 : 0;
    };
}

Finished run(Driver& driver, const engine::Request& request, const FakeOptions& options) {
    const engine::RequestId id = driver.add(request);
    driver.run();
    CHECK(driver.received(id).ids() == simulate(options, request).tokens);
    return driver.received(id).finished.value();
}

} // namespace

TEST_CASE("drafts change no answer, alone or in a mix, however scarce resources are") {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        FakeOptions options;
        options.limits.sequences_max = pick(random, 1, 4);
        options.limits.slots = options.limits.sequences_max * pick(random, 2, 8);
        options.limits.batch_rows_max = pick(random, 4, 24);
        options.limits.output_rows_max = pick(random, 4, options.limits.batch_rows_max);
        for (engine::CacheGroup& group : options.limits.groups)
            group.page_count = pick(random, 20, 60);
        add_random_state(random, options.limits);
        if (seed % 3 == 0)
            options.scripts = round_scripts();
        options.limits.has_draft_head = seed % 4 != 3;
        options.drafts = seed % 8 < 4 ? FakeDrafts::right : FakeDrafts::wrong;
        FakeOptions draft; // the same model, another, or one with another answer
        if (seed % 2 == 0) {
            draft.scripts = options.scripts;
        } else if (seed % 5 == 0) {
            draft.scripts = {{.continuation = {63}}};
        }
        if (seed % 7 != 0)
            add_random_state(random, draft.limits);
        Driver driver(options, draft);
        std::map<engine::RequestId, engine::Request> requests;
        for (uint32_t i = pick(random, 1, 5); i > 0; --i) {
            const engine::Request request = random_request(random, options.limits.vocabulary);
            requests.emplace(driver.add(request), request);
        }
        driver.run();
        for (const auto& [id, request] : requests) {
            const Expected expected = simulate(options, request);
            CHECK(driver.received(id).ids() == expected.tokens);
            CHECK(driver.received(id).finished->reason == expected.reason);
            CHECK(driver.received(id).scores.size() == expected.scores.size());
        }
        for (const engine::PagePool& pool : driver.scheduler().cache().pools())
            CHECK(pool.available() == pool.page_count());
    }
}

TEST_CASE("a draft model that agrees saves steps, and its tokens are counted") {
    const FakeOptions options;
    Driver driver(options, FakeOptions{});
    const Finished finished = run(driver, long_request(60, {.tokens_max = 5, .uses_model = true}), options);
    CHECK(finished.accepted_drafts > 40);
    CHECK(finished.rejected_drafts == 0);
    CHECK(driver.steps() < 20);
}

TEST_CASE("a draft model stops below confidence_min") {
    const FakeOptions options;
    Driver sure(options, FakeOptions{});
    Driver unsure(options, FakeOptions{});
    const Finished all = run(sure, long_request(60, {.tokens_max = 5, .uses_model = true}), options);
    const Finished some =
        run(unsure, long_request(60, {.tokens_max = 5, .uses_model = true, .confidence_min = 1.0F}), options);
    CHECK(some.accepted_drafts > 0);
    CHECK(some.accepted_drafts < all.accepted_drafts); // one per step: the one below confidence_min
}

TEST_CASE("a draft model samples as the model does if their distributions agree") {
    const FakeOptions options;
    Driver driver(options, FakeOptions{});
    engine::Request request = long_request(60, {.tokens_max = 5, .uses_model = true});
    request.sampling = {.temperature = 1.5F, .top_k = 30, .top_p = 1, .min_p = 0, .seed = 4};
    const Finished finished = run(driver, request, options);
    CHECK(finished.rejected_drafts == 0);
    CHECK(finished.accepted_drafts > 40);
}

TEST_CASE("a repetitive text is drafted by lookup") {
    FakeOptions options;
    options.scripts = round_scripts();
    Driver driver(options);
    const Finished finished = run(driver, long_request(50, {.lookup_ngram_max = 3}), options);
    CHECK(finished.accepted_drafts > 30);
    CHECK(driver.steps() < 25);
}

TEST_CASE("a predicted answer is verified in few steps") {
    FakeOptions options;
    options.scripts = round_scripts();
    options.limits.output_rows_max = options.limits.batch_rows_max;
    options.limits.slots = 32;
    engine::Request request = long_request(50, {.tokens_max = 8});
    for (TokenId i = 0; i < 60; ++i)
        request.speculation->prediction.push_back(10 + i % 6);
    Driver driver(options);
    const Finished finished = run(driver, request, options);
    CHECK(finished.accepted_drafts > 40);
    CHECK(finished.rejected_drafts == 0);
    CHECK(driver.steps() < 12);
}

TEST_CASE("a draft model that is always wrong is paused, and wastes at most 3 percent of the rows") {
    FakeOptions options;
    options.limits.context_tokens = 600;
    for (engine::CacheGroup& group : options.limits.groups)
        group.page_count = 200;
    FakeOptions draft = options;
    draft.scripts = {{.continuation = {63}}}; // which the model never generates here
    uint64_t draft_rows = 0;
    draft.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows) // rows that catch up with known tokens are not drafts
            draft_rows += row.output_kind != engine::OutputKind::none ? 1 : 0;
    };
    Driver driver(options, draft);
    engine::Request request = long_request(512, {.tokens_max = 5, .uses_model = true});
    request.logit_bias = {{63, -INFINITY}};
    const engine::RequestId id = driver.add(request);
    driver.run();
    CHECK(driver.received(id).tokens.size() == 512);
    CHECK(driver.received(id).finished->accepted_drafts == 0);
    const uint64_t wasted = driver.received(id).finished->rejected_drafts + draft_rows;
    CHECK(wasted > 0);
    CHECK(static_cast<double>(wasted) <= 0.03 * 512);
}

TEST_CASE("a draft model and a prediction that are always wrong are both paused") {
    const FakeOptions options = roomy();
    FakeOptions draft = options;
    draft.scripts = {{.continuation = {never}}};
    uint64_t draft_rows = 0;
    count_drafts(draft, draft_rows);
    Driver driver(options, draft);
    engine::Request request =
        long_request(512, {.tokens_max = 5, .prediction = wrong_prediction(), .uses_model = true});
    request.logit_bias = {{never, -INFINITY}};
    const Finished finished = run(driver, request, options);
    CHECK(finished.completion_tokens == 512);
    CHECK(finished.accepted_drafts == 0);
    CHECK(draft_rows > 0);
    CHECK(finished.rejected_drafts > draft_rows); // some came from the prediction
    CHECK(static_cast<double>(finished.rejected_drafts + draft_rows) <= 0.03 * 512);
}

TEST_CASE("a draft model that is always wrong hardly slows lookup that is right") {
    FakeOptions options = roomy();
    options.scripts = round_scripts();
    FakeOptions draft = options;
    draft.scripts = {{.continuation = {never}}};
    const engine::Request alone = long_request(400, {.tokens_max = 5, .lookup_ngram_max = 3});
    engine::Request both = alone;
    both.speculation->uses_model = true;
    Driver lookup(options);
    Driver beside(options, draft);
    const Finished fast = run(lookup, alone, options);
    const Finished finished = run(beside, both, options);
    CHECK(fast.accepted_drafts > 300);
    CHECK(finished.accepted_drafts + 10 > fast.accepted_drafts);
    CHECK(beside.steps() < lookup.steps() + 10);
}

TEST_CASE("a prediction that is always wrong hardly slows a draft model that is right") {
    FakeOptions options = roomy();
    options.scripts = round_scripts();
    engine::Request alone = long_request(400, {.tokens_max = 5, .uses_model = true});
    alone.logit_bias = {{never, -INFINITY}};
    engine::Request both = alone;
    both.speculation->prediction = wrong_prediction();
    Driver model(options, options);
    Driver beside(options, options);
    const Finished fast = run(model, alone, options);
    const Finished finished = run(beside, both, options);
    CHECK(fast.accepted_drafts > 300);
    CHECK(finished.accepted_drafts + 20 > fast.accepted_drafts);
    CHECK(beside.steps() < model.steps() + 20);
}

TEST_CASE("a draft head that agrees halves the steps, and its tokens are counted") {
    for (const float temperature : {0.0F, 1.5F}) {
        for (const bool is_recurrent : {false, true}) {
            FakeOptions options;
            options.limits.has_draft_head = true;
            if (is_recurrent) {
                options.limits.state_slots = 8;
                options.limits.pending_rows_max = 2;
            }
            Driver driver(options);
            engine::Request request = long_request(60, {.uses_head = true});
            request.sampling = {.temperature = temperature, .top_k = 16, .top_p = 1, .min_p = 0, .seed = 4};
            const Finished finished = run(driver, request, options);
            CHECK(finished.accepted_drafts >= 27);
            CHECK(finished.rejected_drafts == 0);
            CHECK(driver.steps() <= 34);
        }
    }
}

TEST_CASE("a draft head that is always wrong is paused, and wastes at most 3 percent of the rows") {
    FakeOptions options = roomy();
    options.limits.has_draft_head = true;
    options.drafts = FakeDrafts::wrong;
    uint64_t passes = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        CHECK(batch.runs_draft_head);
        passes += static_cast<uint64_t>(std::ranges::count_if(batch.rows, &engine::Row::requests_draft));
    };
    Driver driver(options);
    const Finished finished = run(driver, long_request(512, {.uses_head = true}), options);
    CHECK(finished.accepted_drafts == 0);
    CHECK(finished.rejected_drafts > 0);
    CHECK(finished.rejected_drafts <= 0.03 * 512);
    CHECK(passes <= 3 * finished.rejected_drafts); // each is drafted once, and two rows verify it
}

TEST_CASE("a draft head without drafts is paused, and one that becomes right drafts again") {
    FakeOptions options = roomy();
    options.limits.has_draft_head = true;
    options.drafts = FakeDrafts::none;
    uint64_t passes = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        passes += static_cast<uint64_t>(std::ranges::count_if(batch.rows, &engine::Row::requests_draft));
    };
    Driver driver(options);
    const Finished none = run(driver, long_request(512, {.uses_head = true}), options);
    CHECK(none.accepted_drafts == 0);
    CHECK(passes > 0);
    CHECK(passes <= 0.1 * 512);

    options.drafts = FakeDrafts::late;
    Driver later(options);
    const Finished late = run(later, long_request(512, {.uses_head = true}), options);
    CHECK(late.accepted_drafts >= 150);
}

TEST_CASE("a draft head runs for requests that do not use it, or use a draft model, and drafts nothing") {
    FakeOptions options;
    options.limits.has_draft_head = true;
    options.on_submit = [](const engine::Batch& batch) {
        CHECK(batch.runs_draft_head);
        CHECK(std::ranges::none_of(batch.rows, &engine::Row::requests_draft));
    };
    Driver driver(options, FakeOptions{});
    run(driver, long_request(20, {.tokens_max = 5, .lookup_ngram_max = 2}), options);
    run(driver, long_request(20, {.tokens_max = 5, .uses_head = true, .uses_model = true}), options);
}

TEST_CASE("the rows of a prompt name their next tokens for the draft head") {
    FakeOptions options;
    options.limits.has_draft_head = true;
    std::vector<std::optional<TokenId>> next;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows) {
            if (row.kind == engine::RowKind::prefill)
                next.push_back(row.next_token);
        }
    };
    Driver driver(options);
    engine::Request request = long_request(3, {.uses_head = true});
    request.prompt = {5, 6, 7, 8, 9};
    driver.set_prefill_rows_max(3);
    run(driver, request, options);
    CHECK(next == std::vector<std::optional<TokenId>>{6, 7, 8, 9, std::nullopt});
}

TEST_CASE("with a draft model, lookup matches single tokens only if lookup_ngram_max is 1") {
    FakeOptions options = roomy();
    options.scripts = round_scripts();
    FakeOptions draft = options;
    draft.scripts = {{.continuation = {never}}};
    Driver driver(options, draft);
    const Finished finished =
        run(driver, long_request(100, {.tokens_max = 5, .lookup_ngram_max = 1, .uses_model = true}), options);
    CHECK(finished.accepted_drafts > 60);
}

TEST_CASE("no draft is made or waited for if the sequences fill every row of a step") {
    FakeOptions options = roomy();
    options.limits.batch_rows_max = options.limits.output_rows_max = options.limits.sequences_max = 4;
    FakeOptions draft;
    uint64_t draft_rows = 0;
    count_drafts(draft, draft_rows);
    Driver driver(options, draft);
    std::vector<engine::RequestId> ids;
    for (TokenId first = 1; first <= options.limits.sequences_max; ++first) {
        engine::Request request = long_request(20, {.tokens_max = 5, .uses_model = true});
        request.prompt = {first};
        ids.push_back(driver.add(request));
    }
    std::size_t unread_max = 0;
    while (!driver.is_idle()) {
        while (driver.start_step())
            unread_max = std::max(unread_max, driver.unread());
        driver.finish_step();
    }
    CHECK(draft_rows == 0);
    CHECK(unread_max == options.limits.in_flight_max);
    for (const engine::RequestId id : ids)
        CHECK(driver.received(id).finished->rejected_drafts == 0);
}

TEST_CASE("sampled tokens keep their distribution with drafts") {
    FakeOptions const options;
    FakeOptions draft;
    draft.scripts = {{.continuation = {5, 6, 7}}}; // a model of its own
    engine::Request request = {.prompt = {9, 8, 7}, .max_tokens = 3};
    request.sampling = {.temperature = 2, .top_k = 40, .top_p = 1, .min_p = 0};
    request.speculation = Speculation{.tokens_max = 4, .uses_model = true};
    constexpr uint32_t draws = 20'000;
    std::map<TokenId, std::map<TokenId, double>> counts; // second token, by the first
    Driver driver(options, draft);
    uint64_t accepted = 0;
    for (uint32_t seed = 0; seed < draws; ++seed) {
        request.sampling.seed = seed;
        const engine::RequestId id = driver.add(request);
        driver.run();
        const std::vector<TokenId> ids = driver.received(id).ids();
        ++counts[ids[0]][ids[1]];
        accepted += driver.received(id).finished->accepted_drafts;
    }
    CHECK(accepted > 0);
    double statistic = 0;
    double freedom = 0;
    for (const auto& [first, second] : counts) {
        double total = 0;
        for (const auto& [token, count] : second)
            total += count;
        if (total < 400)
            continue;
        // The first 40 tokens at temperature 2, by the definition of the softmax.
        std::vector<float> logits = logits_after(options, request, std::vector<TokenId>{first});
        std::vector<float> sorted = logits;
        std::sort(sorted.rbegin(), sorted.rend());
        double sum = 0;
        for (const float logit : logits)
            sum += logit >= sorted[39] ? std::exp(double{logit} / 2) : 0;
        double rest_expected = 0;
        double rest_counted = 0;
        for (TokenId token = 0; token < logits.size(); ++token) {
            const double expected =
                logits[token] >= sorted[39] ? total * std::exp(double{logits[token]} / 2) / sum : 0;
            const auto counted = second.find(token);
            const double count = counted == second.end() ? 0 : counted->second;
            if (expected < 5) {
                rest_expected += expected;
                rest_counted += count;
                continue;
            }
            statistic += (count - expected) * (count - expected) / expected;
            freedom += 1;
        }
        if (rest_expected >= 5)
            statistic += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
    }
    REQUIRE(freedom > 20);
    // Wilson and Hilferty: a chi-squared variable beyond 4.5 standard deviations comes once in 300,000 tries.
    const double cube = std::cbrt(statistic / freedom);
    const double deviations = (cube - (1 - 2 / (9 * freedom))) / std::sqrt(2 / (9 * freedom));
    CHECK(deviations < 4.5);
}

TEST_CASE("check() refuses speculation options out of range") {
    const auto is_right = [](const Speculation& speculation) { return check(speculation, 64).has_value(); };
    CHECK(is_right({}));
    CHECK_FALSE(is_right({.tokens_max = 0}));
    CHECK_FALSE(is_right({.tokens_max = engine::drafts_max + 1}));
    CHECK_FALSE(is_right({.lookup_ngram_max = engine::ngram_max + 1}));
    CHECK_FALSE(is_right({.prediction = {64}}));
    CHECK_FALSE(is_right({.confidence_min = 1.5F}));
}

} // namespace etna::test
