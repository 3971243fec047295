#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace etna::test {
namespace {

using engine::FinishReason;
using engine::OutputKind;
using engine::Row;
using engine::RowInput;
using engine::RowKind;

constexpr sampling::Parameters greedy{.temperature = 0};

std::vector<TokenId> text(uint32_t length, uint32_t step = 7) {
    std::vector<TokenId> tokens;
    tokens.reserve(length);
    for (uint32_t i = 0; i < length; ++i)
        tokens.push_back(i * step % 64);
    return tokens;
}

engine::Request request(uint32_t prompt_tokens, uint32_t max_tokens) {
    return {.prompt = text(prompt_tokens), .sampling = greedy, .max_tokens = max_tokens, .end_tokens = {}};
}

TEST_CASE("a running stream gets a token in every step of a long prompt") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 2000}};
    Driver driver(options);
    const auto running = driver.add(request(3, 1000));
    driver.start_step();
    const auto long_prompt = driver.add(request(4096, 2));
    uint32_t steps = 0;
    while (driver.told(long_prompt).tokens.empty()) {
        REQUIRE(driver.start_step());
        const engine::Batch& batch = driver.batch();
        REQUIRE(batch.rows.size() <= options.limits.batch_rows_max);
        REQUIRE(batch.rows.front().kind == RowKind::decode);
        REQUIRE(batch.rows.front().output_kind == OutputKind::sampled);
        REQUIRE(batch.sequences.size() <= 2);
        const std::size_t told = driver.told(running).tokens.size();
        REQUIRE(driver.finish_step());
        REQUIRE(driver.told(running).tokens.size() == told + 1);
        ++steps;
    }
    CHECK(steps >= 4096 / (options.limits.batch_rows_max - 1));
    CHECK(steps <= 4096 / (options.limits.batch_rows_max - 1) + 3); // no row of the budget is left unused
    CHECK(driver.told(running).ids().size() == steps);
}

TEST_CASE("a long prompt leaves rows to those behind it, and takes what they leave") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 4000}};
    Driver driver(options);
    const engine::Request long_one = request(1600, 2);
    engine::Request second = request(1600, 2);
    second.prompt = text(1600, 5);
    const auto first_long = driver.add(long_one), second_long = driver.add(second);
    const auto step = [&] { return driver.start_step() && driver.finish_step(); };
    for (uint32_t i = 0; i < 3; ++i)
        REQUIRE(step());
    for (uint32_t i = 0; i < 2; ++i) {
        engine::Request short_one = request(3, 1);
        short_one.prompt = {20 + i, 3, 4}; // nothing of it is in the cache
        const auto newcomer = driver.add(short_one);
        for (uint32_t steps = 0; steps < 2 && !driver.told(newcomer).finished; ++steps) {
            REQUIRE(step());
            CHECK(driver.batch().rows.size() == options.limits.batch_rows_max);
        }
        CHECK(driver.told(newcomer).finished);
        CHECK(driver.told(newcomer).ids() == simulate(options, short_one).tokens);
    }
    while (driver.told(first_long).tokens.empty())
        REQUIRE(step());
    CHECK(driver.told(second_long).tokens.empty()); // it came later
    CHECK(driver.steps() <= 2 * 1600 / options.limits.batch_rows_max + 5);
    while (driver.told(second_long).tokens.empty())
        REQUIRE(step());
    CHECK(driver.rows() <= 3200 + 10);
    CHECK(driver.steps() <= 3200 / options.limits.batch_rows_max + 5); // no row of the budget was left unused
    driver.run();
    CHECK(driver.told(first_long).ids() == simulate(options, long_one).tokens);
    CHECK(driver.told(second_long).ids() == simulate(options, second).tokens);
}

TEST_CASE("generation rows come first, oldest first, then the chunk of a prompt") {
    Driver driver(FakeOptions{});
    driver.add(request(2, 50));
    driver.add(request(3, 50));
    driver.start_step();
    driver.add(request(40, 5));
    driver.start_step();
    const auto& rows = driver.batch().rows;
    REQUIRE(rows.size() == 16);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].kind == (i < 2 ? RowKind::decode : RowKind::prefill));
        CHECK(rows[i].sequence == std::min<std::size_t>(i, 2));
        CHECK(rows[i].index == (i < 2 ? 2 + i : i - 2));
        CHECK(rows[i].position[0] == rows[i].index);
        CHECK(rows[i].output_kind == (i < 2 ? OutputKind::sampled : OutputKind::none));
    }
}

TEST_CASE("an unread token is taken from its slot, a read one is given") {
    Driver driver(FakeOptions{});
    const auto id = driver.add(request(5, 50));
    driver.start_step();
    const Row prompt_end = driver.batch().rows.back();
    driver.start_step();
    const Row first = driver.batch().rows.at(0);
    CHECK(first.input == RowInput::slot);
    CHECK(first.value == prompt_end.output_slot);
    CHECK(first.output_slot != prompt_end.output_slot); // it is still to be read
    CHECK(first.index == 5);
    CHECK(!driver.start_step()); // in_flight_max are unread
    driver.finish_step();
    driver.finish_step();
    driver.start_step();
    CHECK(driver.batch().rows.at(0).input == RowInput::token);
    CHECK(driver.batch().rows.at(0).value == driver.told(id).tokens.at(1).token);
}

TEST_CASE("parameters that the device cannot sample are sampled here, and the next row waits") {
    for (const uint32_t top_k : {0U, 17U}) {
        const FakeOptions options;
        Driver driver(options);
        engine::Request one = request(5, 6);
        one.sampling = {.temperature = 0.9F, .top_k = top_k, .top_p = 1, .min_p = 0, .seed = 3};
        const auto id = driver.add(one);
        driver.start_step();
        CHECK(driver.batch().rows.back().output_kind == OutputKind::logits);
        CHECK(!driver.start_step());
        driver.finish_step();
        driver.start_step();
        CHECK(driver.batch().rows.at(0).input == RowInput::token);
        driver.run();
        CHECK(driver.told(id).ids() == simulate(options, one).tokens);
    }
}

TEST_CASE("an end token is noticed one step late, and the surplus is dropped") {
    const FakeOptions options{.scripts = {{.prompt = {}, .continuation = {10, 11, 2}}}};
    Driver driver(options);
    engine::Request one = request(5, 50);
    one.end_tokens = {63, 2};
    const auto id = driver.add(one);
    driver.start_step();
    uint32_t steps = 1;
    while (!driver.told(id).finished) {
        steps += driver.start_step() ? 1 : 0;
        driver.finish_step();
    }
    CHECK(steps == 4); // three that were needed, one of surplus
    CHECK(driver.unread() == 1);
    CHECK(driver.scheduler().is_idle());
    for (const auto& pool : driver.scheduler().cache().pools())
        CHECK(pool.available() == pool.page_count()); // at once, before the surplus is read
    driver.run();
    const Told& told = driver.told(id);
    CHECK(told.ids() == std::vector<TokenId>{10, 11});
    CHECK(told.finished->reason == FinishReason::stop);
    CHECK(told.finished->end_token == 2U);
    const engine::TokenEvent& end = told.finished->end_event.value();
    CHECK(double{end.logit} - double{end.log_sum_exp} ==
          Approx(0).margin(1e-5)); // the script is nearly certain
    CHECK(told.finished->completion_tokens == 2);
}

TEST_CASE("nothing is computed past max_tokens") {
    uint32_t rows = 0;
    const FakeOptions options{
        .on_submit = [&](const engine::Batch& batch) { rows += static_cast<uint32_t>(batch.rows.size()); }};
    Driver driver(options);
    const auto id = driver.add(request(5, 7));
    driver.run();
    CHECK(driver.told(id).tokens.size() == 7);
    CHECK(driver.told(id).finished->reason == FinishReason::length);
    CHECK(rows == 5 + 7 - 1); // the last token is never an input
}

TEST_CASE("a prompt is reused as far as it agrees, but for its last row") {
    FakeOptions options;
    uint32_t copies = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        copies += static_cast<uint32_t>(batch.copies.size());
    };
    Driver driver(options);
    const auto cached = [&](const engine::Request& one) {
        const auto id = driver.add(one);
        driver.run();
        CHECK(driver.told(id).ids() == simulate(options, one).tokens);
        return driver.told(id).finished->cached_tokens;
    };
    CHECK(cached(request(16, 4)) == 0);
    CHECK(cached(request(18, 4)) == 16);
    CHECK(copies == 0);
    CHECK(cached(request(16, 4)) == 15); // its last page is copied for the sake of one row
    CHECK(copies == 1);
    CHECK(cached(request(7, 4)) == 6); // one page, and the beginning of the next in a copy
    CHECK(copies == 2);
    engine::Request salted = request(16, 4);
    salted.cache_salt = 1;
    CHECK(cached(salted) == 0);
    // What was generated is another kind of rows than the same tokens in a prompt.
    engine::Request longer = request(16, 4);
    for (const TokenId token : simulate(options, longer).tokens)
        longer.prompt.push_back(token);
    longer.prompt.push_back(1);
    CHECK(cached(longer) == 16);
}

TEST_CASE("the next turn of a conversation computes only what is new") {
    FakeOptions options;
    Driver driver(options);
    engine::Request turn = request(10, 5);
    turn.kinds.assign(10, RowKind::prefill);
    for (int i = 0; i < 4; ++i) {
        const auto id = driver.add(turn);
        driver.run();
        const std::vector<TokenId> answer = driver.told(id).ids();
        CHECK(answer == simulate(options, turn).tokens);
        // The last token of an answer was never an input; the rest is there, whatever pages it fills.
        const auto known = static_cast<uint32_t>(turn.prompt.size()) - (i == 0 ? 0 : 3 + 1);
        CHECK(driver.told(id).finished->cached_tokens == (i == 0 ? 0 : known));
        turn.prompt.insert(turn.prompt.end(), answer.begin(), answer.end());
        turn.kinds.insert(turn.kinds.end(), answer.size(), RowKind::decode);
        turn.prompt.insert(turn.prompt.end(), {1, 2, 3});
        turn.kinds.insert(turn.kinds.end(), 3, RowKind::prefill);
    }
    turn.kinds.pop_back();
    CHECK(!check(turn, options.limits));
}

TEST_CASE("when pages run out, the youngest yields, computes again, and says the same") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 12}}; // 48 places for two sequences of 40
    uint32_t recomputed = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const Row& row : batch.rows)
            recomputed += row.kind == RowKind::decode && row.output_kind == OutputKind::none ? 1 : 0;
    };
    Driver driver(options);
    engine::Request second = request(8, 32);
    second.prompt = text(8, 5);
    const auto older = driver.add(request(8, 32));
    const auto younger = driver.add(second);
    while (!driver.told(older).finished) {
        const std::size_t told = driver.told(older).tokens.size();
        driver.start_step();
        driver.finish_step();
        CHECK(driver.told(older).tokens.size() == told + 1); // never held up
    }
    CHECK(!driver.told(younger).finished);
    driver.run();
    CHECK(recomputed > 0);
    CHECK(driver.told(older).ids() == simulate(options, request(8, 32)).tokens);
    CHECK(driver.told(younger).ids() == simulate(options, second).tokens);
}

TEST_CASE("who asks for many answers, or for many beams, leaves a place to who asks for one") {
    const bool are_beams = GENERATE(false, true);
    FakeOptions options;
    options.limits.groups = {{.page_count = 200}};
    const uint32_t places = options.limits.sequences_max;
    Driver driver(options);
    std::vector<std::pair<engine::RequestId, engine::Request>> many;
    std::optional<engine::RequestId> caller;
    for (uint32_t i = 0; i < (are_beams ? 1 : places + 2); ++i) {
        engine::Request one = request(8, 40);
        if (are_beams) {
            one.beams = engine::BeamOptions{.width = places};
        } else {
            one.sampling = {.temperature = 1, .top_k = 5, .seed = i};
        }
        many.emplace_back(driver.add(one, caller), one);
        caller = many.front().first;
    }
    const auto step = [&] { return driver.start_step() && driver.finish_step(); };
    while (driver.scheduler().running_count() < places)
        REQUIRE(step());
    std::vector<engine::RequestId> others;
    for (int i = 0; i < 2; ++i) {
        others.push_back(driver.add(request(3, 30)));
        for (int steps = 0; steps < 2 && driver.told(others.back()).tokens.empty(); ++steps)
            REQUIRE(step());
        CHECK(driver.told(others.back()).tokens.size() == 1);
        CHECK(!driver.told(many.front().first).finished);
    }
    driver.run();
    for (const engine::RequestId other : others)
        CHECK(driver.told(other).ids() == simulate(options, request(3, 30)).tokens);
    for (const auto& [id, one] : many) {
        CHECK(driver.told(id).finished->completion_tokens == 40);
        if (!are_beams)
            CHECK(driver.told(id).ids() == simulate(options, one).tokens);
    }
}

TEST_CASE("a beam search goes on among many who ask for one answer each") {
    for (const uint32_t width : {2U, 4U, 6U}) {
        FakeOptions options;
        options.limits.groups = {{.page_count = 300}};
        Driver driver(options);
        engine::Request search = request(4, 24);
        search.beams = engine::BeamOptions{.width = width};
        const auto id = driver.add(search);
        std::vector<engine::RequestId> others;
        for (uint64_t steps = 0; !driver.told(id).finished; ++steps) {
            std::erase_if(others,
                          [&](engine::RequestId one) { return driver.told(one).finished.has_value(); });
            while (others.size() < 10) // places and more
                others.push_back(driver.add(request(6, 20)));
            driver.start_step();
            driver.finish_step();
            REQUIRE(steps < 300); // about two for each token, and one more for each place that is shared
        }
    }
}

TEST_CASE("a long prompt leaves nothing to who cannot come for want of pages") {
    FakeOptions options;
    options.limits.context_tokens = 500;
    options.limits.groups = {{.page_count = 100}};
    Driver driver(options);
    const auto first = driver.add(request(320, 2));
    engine::Request second = request(320, 2);
    second.prompt = text(320, 5);
    driver.add(second);
    while (driver.told(first).tokens.empty())
        REQUIRE((driver.start_step() && driver.finish_step()));
    CHECK(driver.steps() <= 320 / options.limits.batch_rows_max + 2);
    driver.run();
}

TEST_CASE("a page is copied in the batch of its rows, also where slots are short") {
    FakeOptions options;
    options.limits.slots = 1;
    const engine::Request again = request(7, 3);
    Driver driver(options);
    driver.add(again);
    driver.run();
    const auto other = driver.add(request(2, 9));
    driver.start_step();
    driver.cancel(other); // its step is unread, and has the slot
    const auto id = driver.add(again);
    driver.run();
    CHECK(driver.told(id).ids() == simulate(options, again).tokens);
}

TEST_CASE("of two who ask for many answers none has to wait for the other's end") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 200}};
    Driver driver(options);
    std::vector<engine::RequestId> first, second;
    for (uint32_t i = 0; i < 10; ++i)
        first.push_back(driver.add(request(4, 12), first.empty() ? std::nullopt : std::optional(first[0])));
    driver.start_step();
    for (uint32_t i = 0; i < 10; ++i)
        second.push_back(
            driver.add(request(4, 12), second.empty() ? std::nullopt : std::optional(second[0])));
    while (!driver.told(second.front()).finished) {
        driver.start_step();
        driver.finish_step();
    }
    CHECK(!driver.told(first.back()).finished);
    driver.run();
    for (const auto& all : {first, second}) {
        for (const engine::RequestId id : all)
            CHECK(driver.told(id).ids() == simulate(options, request(4, 12)).tokens);
    }
}

TEST_CASE("a sequence that uses all memory alone ends with length") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 5}};
    Driver driver(options);
    const engine::Request endless{.prompt = text(6), .sampling = greedy, .max_tokens = {}, .end_tokens = {}};
    const auto id = driver.add(endless);
    driver.run();
    CHECK(driver.told(id).tokens.size() == 20 + 1 - 6); // 20 places, and a token that is not stored
    CHECK(driver.told(id).finished->reason == FinishReason::length);
}

TEST_CASE("a cancelled request frees its pages at once and leaves its neighbour alone") {
    const FakeOptions options;
    Driver driver(options);
    const auto kept = driver.add(request(9, 20));
    const auto dropped = driver.add(request(30, 20));
    driver.start_step();
    driver.start_step();
    driver.cancel(dropped);
    REQUIRE(driver.told(dropped).finished.has_value());
    CHECK(driver.told(dropped).finished->reason == FinishReason::cancelled);
    const engine::PagePool& pool = driver.scheduler().cache().pools().front();
    CHECK(pool.page_count() - pool.available() <= 3);
    driver.run();
    CHECK(driver.told(kept).ids() == simulate(options, request(9, 20)).tokens);
    driver.cancel(kept); // it has ended; nothing more may come
}

TEST_CASE("outputs that do not match the step are an internal error") {
    engine::Scheduler scheduler(fake_limits(), {});
    engine::Updates updates;
    CHECK(scheduler.publish({.rows = {{}}}, updates, {}).error().kind == ErrorKind::internal);
    scheduler.add(1, request(3, 5), {});
    REQUIRE(scheduler.schedule(updates, {}).rows.size() == 3);
    engine::Outputs outputs{.rows = {{}}};
    outputs.rows[0].token = 64;
    CHECK(scheduler.publish(outputs, updates, {}).error().message.find("vocabulary") != std::string::npos);
}

TEST_CASE("requests that can never be served are refused with the reason") {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = 50}, {.page_count = 3}};
    const auto message = [&](const engine::Request& one) {
        const Status status = check(one, limits);
        REQUIRE(!status);
        CHECK(status.error().kind == ErrorKind::invalid_argument);
        return status.error().message;
    };
    CHECK(check(request(12, 1), limits));
    CHECK(message(request(0, 1)) == "the prompt is empty");
    CHECK(message(request(13, 1)).find("needs 4 cache pages") != std::string::npos);
    CHECK(message(request(256, 1)).find("256 tokens") != std::string::npos);
    CHECK(message(request(3, 0)) == "max_tokens is 0");
    engine::Request strange = request(3, 1);
    strange.prompt[1] = 64;
    CHECK(message(strange).find("token 1 of the prompt is 64") != std::string::npos);
    strange = request(3, 1);
    strange.sampling.top_p = 0;
    CHECK(message(strange).find("top_p") == 0);
}

} // namespace
} // namespace etna::test
