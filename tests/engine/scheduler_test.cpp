#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
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

engine::Request greedy_request(uint32_t prompt_tokens, uint32_t max_tokens) {
    return {.prompt = text(prompt_tokens), .sampling = greedy, .max_tokens = max_tokens, .end_tokens = {}};
}

TEST_CASE("a running stream gets a token in every step of a long prompt") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 2000}};
    Driver driver(options);
    const auto running = driver.add(greedy_request(3, 1000));
    driver.start_step();
    const auto long_prompt = driver.add(greedy_request(4096, 2));
    uint32_t steps = 0;
    while (driver.received(long_prompt).tokens.empty()) {
        REQUIRE(driver.start_step());
        const engine::Batch& batch = driver.batch();
        REQUIRE(batch.rows.size() <= options.limits.batch_rows_max);
        REQUIRE(batch.rows.front().kind == RowKind::decode);
        REQUIRE(batch.rows.front().output_kind == OutputKind::sampled);
        REQUIRE(batch.sequences.size() <= 2);
        const std::size_t received = driver.received(running).tokens.size();
        REQUIRE(driver.finish_step());
        REQUIRE(driver.received(running).tokens.size() == received + 1);
        ++steps;
    }
    CHECK(steps >= 4096 / (options.limits.batch_rows_max - 1));
    CHECK(steps <= 4096 / (options.limits.batch_rows_max - 1) + 3); // every row of the budget is used
    CHECK(driver.received(running).ids().size() == steps);
}

TEST_CASE("a long prompt leaves rows to later prompts, and uses those that they leave") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 4000}};
    Driver driver(options);
    const engine::Request long_one = greedy_request(1600, 2);
    engine::Request second = greedy_request(1600, 2);
    second.prompt = text(1600, 5);
    const auto first_long = driver.add(long_one), second_long = driver.add(second);
    const auto step = [&] { return driver.start_step() && driver.finish_step(); };
    for (uint32_t i = 0; i < 3; ++i)
        REQUIRE(step());
    for (uint32_t i = 0; i < 2; ++i) {
        engine::Request short_one = greedy_request(3, 1);
        short_one.prompt = {20 + i, 3, 4}; // not cached
        const auto newcomer = driver.add(short_one);
        for (uint32_t steps = 0; steps < 2 && !driver.received(newcomer).finished; ++steps) {
            REQUIRE(step());
            CHECK(driver.batch().rows.size() == options.limits.batch_rows_max);
        }
        CHECK(driver.received(newcomer).finished);
        CHECK(driver.received(newcomer).ids() == simulate(options, short_one).tokens);
    }
    while (driver.received(first_long).tokens.empty())
        REQUIRE(step());
    CHECK(driver.received(second_long).tokens.empty()); // it came later
    CHECK(driver.steps() <= 2 * 1600 / options.limits.batch_rows_max + 5);
    while (driver.received(second_long).tokens.empty())
        REQUIRE(step());
    CHECK(driver.rows() <= 3200 + 10);
    CHECK(driver.steps() <= 3200 / options.limits.batch_rows_max + 5); // every row of the budget is used
    driver.run();
    CHECK(driver.received(first_long).ids() == simulate(options, long_one).tokens);
    CHECK(driver.received(second_long).ids() == simulate(options, second).tokens);
}

TEST_CASE("decode rows come first, oldest first, then a chunk of the prompt") {
    Driver driver(FakeOptions{});
    driver.add(greedy_request(2, 50));
    driver.add(greedy_request(3, 50));
    driver.start_step();
    driver.add(greedy_request(40, 5));
    driver.start_step();
    const auto& rows = driver.batch().rows;
    REQUIRE(rows.size() == 16);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].kind == (i < 2 ? RowKind::decode : RowKind::prefill));
        CHECK(rows[i].sequence == std::min<std::size_t>(i, 2));
        CHECK(rows[i].position == (i < 2 ? 2 + i : i - 2));
        CHECK(rows[i].rope_position[0] == rows[i].position);
        CHECK(rows[i].output_kind == (i < 2 ? OutputKind::sampled : OutputKind::none));
    }
}

TEST_CASE("a row reads an unread token from its slot, and a read one by value") {
    Driver driver(FakeOptions{});
    const auto id = driver.add(greedy_request(5, 50));
    driver.start_step();
    const Row prompt_end = driver.batch().rows.back();
    driver.start_step();
    const Row first = driver.batch().rows.at(0);
    CHECK(first.input == RowInput::slot);
    CHECK(first.value == prompt_end.output_slot);
    CHECK(first.output_slot != prompt_end.output_slot); // it is not read yet
    CHECK(first.position == 5);
    CHECK(!driver.start_step()); // in_flight_max are unread
    driver.finish_step();
    driver.finish_step();
    driver.start_step();
    CHECK(driver.batch().rows.at(0).input == RowInput::token);
    CHECK(driver.batch().rows.at(0).value == driver.received(id).tokens.at(1).token);
}

TEST_CASE("parameters that the device cannot sample are sampled on the host, and the next row waits") {
    for (const uint32_t top_k : {0U, 17U}) {
        const FakeOptions options;
        Driver driver(options);
        engine::Request one = greedy_request(5, 6);
        one.sampling = {.temperature = 0.9F, .top_k = top_k, .top_p = 1, .min_p = 0, .seed = 3};
        const auto id = driver.add(one);
        driver.start_step();
        CHECK(driver.batch().rows.back().output_kind == OutputKind::logits);
        CHECK(!driver.start_step());
        driver.finish_step();
        driver.start_step();
        CHECK(driver.batch().rows.at(0).input == RowInput::token);
        driver.run();
        CHECK(driver.received(id).ids() == simulate(options, one).tokens);
    }
}

TEST_CASE("an end token is noticed one step late, and the surplus row is dropped") {
    const FakeOptions options{.scripts = {{.prompt = {}, .continuation = {10, 11, 2}}}};
    Driver driver(options);
    engine::Request one = greedy_request(5, 50);
    one.end_tokens = {63, 2};
    const auto id = driver.add(one);
    driver.start_step();
    uint32_t steps = 1;
    while (!driver.received(id).finished) {
        steps += driver.start_step() ? 1 : 0;
        driver.finish_step();
    }
    CHECK(steps == 4); // three steps, and one surplus step
    CHECK(driver.unread() == 1);
    CHECK(driver.scheduler().is_idle());
    for (const auto& pool : driver.scheduler().cache().pools())
        CHECK(pool.available() == pool.page_count()); // at once, before the surplus step is read
    driver.run();
    const Received& received = driver.received(id);
    CHECK(received.ids() == std::vector<TokenId>{10, 11});
    CHECK(received.finished->reason == FinishReason::stop);
    CHECK(received.finished->end_token == 2U);
    const engine::TokenEvent& end = received.finished->end_event.value();
    CHECK(double{end.logit} - double{end.log_sum_exp} ==
          Approx(0).margin(1e-5)); // the script is nearly certain
    CHECK(received.finished->completion_tokens == 2);
}

TEST_CASE("nothing is computed past max_tokens") {
    uint32_t rows = 0;
    const FakeOptions options{
        .on_submit = [&](const engine::Batch& batch) { rows += static_cast<uint32_t>(batch.rows.size()); }};
    Driver driver(options);
    const auto id = driver.add(greedy_request(5, 7));
    driver.run();
    CHECK(driver.received(id).tokens.size() == 7);
    CHECK(driver.received(id).finished->reason == FinishReason::length);
    CHECK(rows == 5 + 7 - 1); // the last token is never an input
}

TEST_CASE("the common prefix of a prompt is reused, except its last row") {
    FakeOptions options;
    uint32_t copies = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        copies += static_cast<uint32_t>(batch.copies.size());
    };
    Driver driver(options);
    const auto cached = [&](const engine::Request& one) {
        const auto id = driver.add(one);
        driver.run();
        CHECK(driver.received(id).ids() == simulate(options, one).tokens);
        return driver.received(id).finished->cached_tokens;
    };
    CHECK(cached(greedy_request(16, 4)) == 0);
    CHECK(cached(greedy_request(18, 4)) == 16);
    CHECK(copies == 0);
    CHECK(cached(greedy_request(16, 4)) == 15); // its last page is copied for one row
    CHECK(copies == 1);
    CHECK(cached(greedy_request(7, 4)) == 6); // one page, and the prefix of the next in a copy
    CHECK(copies == 2);
    engine::Request salted = greedy_request(16, 4);
    salted.cache_salt = 1;
    CHECK(cached(salted) == 0);
    // Generated tokens are decode rows, and do not match the same tokens in a prompt.
    engine::Request longer = greedy_request(16, 4);
    for (const TokenId token : simulate(options, longer).tokens)
        longer.prompt.push_back(token);
    longer.prompt.push_back(1);
    CHECK(cached(longer) == 16);
}

const engine::CacheGroup full_group{.page_count = 128};
const engine::CacheGroup windowed_group{
    .kind = engine::CacheKind::sliding_window, .window_tokens = 7, .page_count = 20};
const std::vector<std::vector<engine::CacheGroup>> group_mixes{
    {full_group}, {windowed_group}, {full_group, windowed_group}};

/// Adds recurrent layers, with slots for eight snapshots.
void add_states(engine::Limits& limits) {
    limits.state_slots = limits.sequences_max + 8;
    limits.pending_rows_max = 9;
}

TEST_CASE("the next turn of a conversation computes only new tokens") {
    const bool is_recurrent = GENERATE(false, true);
    for (const auto& groups : group_mixes) {
        FakeOptions options;
        options.limits.groups = groups;
        if (is_recurrent)
            add_states(options.limits);
        Driver driver(options);
        engine::Request turn = greedy_request(40, 5);
        turn.kinds.assign(40, RowKind::prefill);
        for (int i = 0; i < 4; ++i) {
            const uint64_t rows = driver.rows();
            const auto id = driver.add(turn);
            driver.run();
            const std::vector<TokenId> answer = driver.received(id).ids();
            CHECK(answer == simulate(options, turn).tokens);
            // The last token of an answer was never an input; all others are cached.
            const uint32_t new_tokens = i == 0 ? 40 : 3 + 1;
            CHECK(driver.rows() - rows == new_tokens + 5 - 1);
            CHECK(driver.received(id).finished->cached_tokens == turn.prompt.size() - new_tokens);
            turn.prompt.insert(turn.prompt.end(), answer.begin(), answer.end());
            turn.kinds.insert(turn.kinds.end(), answer.size(), RowKind::decode);
            turn.prompt.insert(turn.prompt.end(), {1, 2, 3});
            turn.kinds.insert(turn.kinds.end(), 3, RowKind::prefill);
            driver.add(greedy_request(30 + static_cast<uint32_t>(i), 9)); // another conversation
            driver.run();
        }
        turn.kinds.pop_back();
        CHECK(!check(turn, options.limits));
    }
}

TEST_CASE("a turn after an end token computes only new tokens, with recurrent layers") {
    FakeOptions options{.scripts = {{.continuation = {10, 11, 12, 2}}}};
    options.limits.groups =
        GENERATE(std::vector<engine::CacheGroup>{full_group}, std::vector<engine::CacheGroup>{});
    add_states(options.limits);
    Driver driver(options);
    engine::Request turn = greedy_request(40, 20);
    turn.kinds.assign(40, RowKind::prefill);
    turn.end_tokens = {2};
    for (int i = 0; i < 3; ++i) {
        const uint64_t rows = driver.rows();
        const auto id = driver.add(turn);
        driver.run();
        CHECK(driver.received(id).ids() == std::vector<TokenId>{10, 11, 12});
        CHECK(driver.received(id).finished->reason == FinishReason::stop);
        const uint32_t new_tokens = i == 0 ? 40 : 3;
        CHECK(driver.rows() - rows == new_tokens + 4); // the end token's row was scheduled ahead
        turn.prompt.insert(turn.prompt.end(), {10, 11, 12, 2, 1, 2, 3});
        turn.kinds.insert(turn.kinds.end(), 4, RowKind::decode);
        turn.kinds.insert(turn.kinds.end(), 3, RowKind::prefill);
    }
}

TEST_CASE("snapshots are taken at branch positions, before the end of a prompt, and at intervals") {
    FakeOptions options;
    options.limits.context_tokens = 5000;
    options.limits.groups = {{.page_count = 4000}};
    options.limits.batch_rows_max = 512;
    add_states(options.limits);
    options.limits.state_slots += 16;
    Driver driver(options);
    engine::Request first = greedy_request(4700, 3);
    first.branch_positions = {4301};
    const auto cached = [&](uint32_t length, uint32_t same) {
        engine::Request request = greedy_request(length, 3);
        if (same < length)
            request.prompt[same] = 63 - request.prompt[same];
        const auto id = driver.add(request);
        driver.run();
        CHECK(driver.received(id).ids() == simulate(options, request).tokens);
        return driver.received(id).finished->cached_tokens;
    };
    driver.add(first);
    driver.run();
    CHECK(cached(4700, 4700) == 4696); // the last full page of the prompt
    CHECK(cached(4700, 4400) == 4301);
    CHECK(cached(4700, 4200) == 4096);
    CHECK(cached(4700, 4000) == 0);
}

TEST_CASE("long prompts run together in the pages of few windows") {
    FakeOptions options;
    options.limits.groups = {full_group, windowed_group};
    options.limits.groups[1].page_count = engine::window_pages(7, options.limits.batch_rows_max, 4) + 2;
    Driver driver(options);
    std::vector<std::pair<engine::RequestId, engine::Request>> requests;
    for (const uint32_t length : {90U, 100U, 80U}) {
        engine::Request request = greedy_request(length, 6);
        request.prompt[0] = length % 64;
        requests.emplace_back(driver.add(request), request);
    }
    driver.run();
    for (const auto& [id, request] : requests)
        CHECK(driver.received(id).ids() == simulate(options, request).tokens);
    CHECK(driver.scheduler().preemptions() < 30);
}

TEST_CASE("when pages run out, the youngest sequence is preempted, and its answer does not change") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 12}}; // 48 capacity for two sequences of 40
    uint32_t recomputed = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const Row& row : batch.rows)
            recomputed += row.kind == RowKind::decode && row.output_kind == OutputKind::none ? 1 : 0;
    };
    Driver driver(options);
    engine::Request second = greedy_request(8, 32);
    second.prompt = text(8, 5);
    const auto older = driver.add(greedy_request(8, 32));
    const auto younger = driver.add(second);
    while (!driver.received(older).finished) {
        const std::size_t received = driver.received(older).tokens.size();
        driver.start_step();
        driver.finish_step();
        CHECK(driver.received(older).tokens.size() == received + 1); // never delayed
    }
    CHECK(!driver.received(younger).finished);
    driver.run();
    CHECK(recomputed > 0);
    CHECK(driver.received(older).ids() == simulate(options, greedy_request(8, 32)).tokens);
    CHECK(driver.received(younger).ids() == simulate(options, second).tokens);
}

TEST_CASE("a request for many answers or beams leaves capacity to a request for one") {
    const bool are_beams = GENERATE(false, true);
    FakeOptions options;
    options.limits.groups = {{.page_count = 200}};
    const uint32_t capacity = options.limits.sequences_max;
    Driver driver(options);
    std::vector<std::pair<engine::RequestId, engine::Request>> many;
    std::optional<engine::RequestId> request_group;
    for (uint32_t i = 0; i < (are_beams ? 1 : capacity + 2); ++i) {
        engine::Request one = greedy_request(8, 40);
        if (are_beams) {
            one.beams = engine::BeamOptions{.width = capacity};
        } else {
            one.sampling = {.temperature = 1, .top_k = 5, .seed = i};
        }
        many.emplace_back(driver.add(one, request_group), one);
        request_group = many.front().first;
    }
    const auto step = [&] { return driver.start_step() && driver.finish_step(); };
    while (driver.scheduler().running_count() < capacity)
        REQUIRE(step());
    std::vector<engine::RequestId> others;
    for (int i = 0; i < 2; ++i) {
        others.push_back(driver.add(greedy_request(3, 30)));
        for (int steps = 0; steps < 2 && driver.received(others.back()).tokens.empty(); ++steps)
            REQUIRE(step());
        CHECK(driver.received(others.back()).tokens.size() == 1);
        CHECK(!driver.received(many.front().first).finished);
    }
    driver.run();
    for (const engine::RequestId other : others)
        CHECK(driver.received(other).ids() == simulate(options, greedy_request(3, 30)).tokens);
    for (const auto& [id, one] : many) {
        CHECK(driver.received(id).finished->completion_tokens == 40);
        if (!are_beams)
            CHECK(driver.received(id).ids() == simulate(options, one).tokens);
    }
}

TEST_CASE("a beam search continues among many requests for one answer") {
    for (const uint32_t width : {2U, 4U, 6U}) {
        FakeOptions options;
        options.limits.groups = {{.page_count = 300}};
        Driver driver(options);
        engine::Request search = greedy_request(4, 24);
        search.beams = engine::BeamOptions{.width = width};
        const auto id = driver.add(search);
        std::vector<engine::RequestId> others;
        for (uint64_t steps = 0; !driver.received(id).finished; ++steps) {
            std::erase_if(others,
                          [&](engine::RequestId one) { return driver.received(one).finished.has_value(); });
            while (others.size() < 10) // more than the capacity
                others.push_back(driver.add(greedy_request(6, 20)));
            driver.start_step();
            driver.finish_step();
            REQUIRE(steps < 300); // about two for each token, and one more for each preemption
        }
    }
}

TEST_CASE("a long prompt leaves no rows to requests that have no pages") {
    FakeOptions options;
    options.limits.context_tokens = 500;
    options.limits.groups = {{.page_count = 100}};
    Driver driver(options);
    const auto first = driver.add(greedy_request(320, 2));
    engine::Request second = greedy_request(320, 2);
    second.prompt = text(320, 5);
    driver.add(second);
    while (driver.received(first).tokens.empty())
        REQUIRE((driver.start_step() && driver.finish_step()));
    CHECK(driver.steps() <= 320 / options.limits.batch_rows_max + 2);
    driver.run();
}

TEST_CASE("a page is copied in the batch of its rows, even if slots are short") {
    FakeOptions options;
    options.limits.slots = 1;
    const engine::Request again = greedy_request(7, 3);
    Driver driver(options);
    driver.add(again);
    driver.run();
    const auto other = driver.add(greedy_request(2, 9));
    driver.start_step();
    driver.cancel(other); // its step is unread, and has the slot
    const auto id = driver.add(again);
    driver.run();
    CHECK(driver.received(id).ids() == simulate(options, again).tokens);
}

TEST_CASE("of two requests for many answers neither waits for the other to end") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 200}};
    Driver driver(options);
    std::vector<engine::RequestId> first, second;
    for (uint32_t i = 0; i < 10; ++i) {
        first.push_back(
            driver.add(greedy_request(4, 12), first.empty() ? std::nullopt : std::optional(first[0])));
    }
    driver.start_step();
    for (uint32_t i = 0; i < 10; ++i) {
        second.push_back(
            driver.add(greedy_request(4, 12), second.empty() ? std::nullopt : std::optional(second[0])));
    }
    while (!driver.received(second.front()).finished) {
        driver.start_step();
        driver.finish_step();
    }
    CHECK(!driver.received(first.back()).finished);
    driver.run();
    for (const auto& all : {first, second}) {
        for (const engine::RequestId id : all)
            CHECK(driver.received(id).ids() == simulate(options, greedy_request(4, 12)).tokens);
    }
}

TEST_CASE("a sequence that exhausts the cache alone ends with length") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 5}};
    Driver driver(options);
    const engine::Request endless{.prompt = text(6), .sampling = greedy, .max_tokens = {}, .end_tokens = {}};
    const auto id = driver.add(endless);
    driver.run();
    CHECK(driver.received(id).tokens.size() == 20 + 1 - 6); // 20 capacity, and a token that is not stored
    CHECK(driver.received(id).finished->reason == FinishReason::length);
}

TEST_CASE("a cancelled request frees its pages at once, without affecting another") {
    const FakeOptions options;
    Driver driver(options);
    const auto kept = driver.add(greedy_request(9, 20));
    const auto dropped = driver.add(greedy_request(30, 20));
    driver.start_step();
    driver.start_step();
    driver.cancel(dropped);
    REQUIRE(driver.received(dropped).finished.has_value());
    CHECK(driver.received(dropped).finished->reason == FinishReason::cancelled);
    const engine::PagePool& pool = driver.scheduler().cache().pools().front();
    CHECK(pool.page_count() - pool.available() <= 3);
    driver.run();
    CHECK(driver.received(kept).ids() == simulate(options, greedy_request(9, 20)).tokens);
    driver.cancel(kept); // it has ended; no event may follow
}

TEST_CASE("outputs that do not match the step are an internal error") {
    engine::Scheduler scheduler(fake_limits(), {});
    engine::Updates updates;
    CHECK(scheduler.process_outputs({.rows = {{}}}, updates, {}).error().kind == ErrorKind::internal);
    scheduler.add(1, greedy_request(3, 5), {});
    REQUIRE(scheduler.schedule(updates, {}).rows.size() == 3);
    engine::Outputs outputs{.rows = {{}}};
    outputs.rows[0].token = 64;
    CHECK(scheduler.process_outputs(outputs, updates, {}).error().message.find("vocabulary") !=
          std::string::npos);
}

TEST_CASE("check() refuses requests that can never run, with the reason") {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = 50}, {.page_count = 3}};
    const auto message = [&](const engine::Request& one) {
        const Status status = check(one, limits);
        REQUIRE(!status);
        CHECK(status.error().kind == ErrorKind::invalid_argument);
        return status.error().message;
    };
    CHECK(check(greedy_request(12, 1), limits));
    CHECK(message(greedy_request(0, 1)) == "the prompt is empty");
    CHECK(message(greedy_request(13, 1)).find("needs 4 cache pages") != std::string::npos);
    CHECK(message(greedy_request(256, 1)).find("256 tokens") != std::string::npos);
    CHECK(message(greedy_request(3, 0)) == "max_tokens is 0");
    engine::Request strange = greedy_request(3, 1);
    strange.prompt[1] = 64;
    CHECK(message(strange).find("token 1 of the prompt is 64") != std::string::npos);
    strange = greedy_request(3, 1);
    strange.sampling.top_p = 0;
    CHECK(message(strange).find("top_p") == 0);
}

} // namespace
} // namespace etna::test
