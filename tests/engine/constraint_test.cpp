// Sequences with a constraint, which answers at once.

#include "core/engine/constraint.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace etna::test {
namespace {

using engine::FinishReason;

constexpr TokenId end_token = 63; ///< of 64
constexpr sampling::Parameters wild{.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0};

/// Token i of the answer is congruent to i modulo 3. The sequence may end after `min` tokens, and ends after
/// `max`.
class EveryThird final : public engine::Constraint {
public:
    EveryThird(uint32_t min, uint32_t max) : min_(min), max_(max) {}

    Result<Allowed> allowed() override {
        ++asked;
        if (count_ == fails_at)
            return Error{ErrorKind::unsupported, "too large"};
        words_.assign(2, 0);
        const auto allow = [&](TokenId token) { words_[token / 32] |= 1U << (token % 32); };
        const bool is_forced = forces && count_ % 5 == 4;
        if (is_forced)
            allow(forced().front());
        uint32_t open = 0;
        for (TokenId token = count_ % 3; !is_forced && token < end_token && open < choices;
             token += 3, ++open)
            allow(token);
        return Allowed{.tokens = words_, .may_end = count_ >= min_};
    }
    void accept(TokenId token) override {
        is_kept = is_kept && token % 3 == count_ % 3;
        ++count_;
    }
    std::vector<TokenId> forced() override {
        std::vector<TokenId> tokens; // after every fifth token, three allowed ones
        for (uint32_t i = 0; forces && count_ % 5 == 4 && i < 3; ++i)
            tokens.push_back((count_ + i) % 3 + 30);
        return tokens;
    }
    Result<bool> is_over() override { return count_ == max_; }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override {
        return std::make_shared<EveryThird>(*this);
    }

    int asked = 0;
    bool is_kept = true;
    bool forces = false;
    uint32_t choices = UINT32_MAX; ///< allowed tokens of each position
    uint32_t fails_at = UINT32_MAX;

private:
    uint32_t min_;
    uint32_t max_;
    uint32_t count_ = 0;
    std::vector<uint32_t> words_;
};

engine::Request third_request(const std::shared_ptr<EveryThird>& constraint, uint32_t seed,
                              uint32_t prompt_tokens = 5) {
    engine::Request request = {
        .sampling = wild, .max_tokens = 40, .end_tokens = {end_token}, .constraint = constraint};
    request.sampling.seed = seed;
    for (uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back((i * 7 + seed) % 60);
    return request;
}

void check_congruent(const Received& received) {
    const std::vector<TokenId> ids = received.ids();
    for (std::size_t i = 0; i < ids.size(); ++i)
        CHECK(ids[i] % 3 == i % 3);
}

TEST_CASE("a constraint restricts each token and ends the sequence") {
    Driver driver({});
    const auto constraint = std::make_shared<EveryThird>(9, 9);
    const auto id = driver.add(third_request(constraint, 1));
    driver.run();
    const Received& received = driver.received(id);
    CHECK(received.tokens.size() == 9);
    CHECK(received.finished->reason == FinishReason::stop);
    CHECK_FALSE(received.finished->end_token.has_value());
    CHECK(constraint->is_kept);
    check_congruent(received);
}

TEST_CASE("end tokens are generated only if the constraint allows the end") {
    int ended = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Driver driver({});
        const auto id = driver.add(third_request(std::make_shared<EveryThird>(4, 30), seed));
        driver.run();
        const Received& received = driver.received(id);
        CHECK(received.tokens.size() >= 4);
        CHECK(received.finished->reason == FinishReason::stop);
        ended += received.finished->end_token == end_token ? 1 : 0;
        check_congruent(received);
    }
    CHECK(ended > 10);
}

TEST_CASE("constrained sequences share batches without changing unconstrained ones") {
    const auto free_request = [] {
        engine::Request free = third_request(nullptr, 7);
        free.end_tokens = {};
        return free;
    };
    Driver alone({});
    const auto alone_id = alone.add(free_request());
    alone.run();
    Driver driver({});
    std::vector<engine::RequestId> kept;
    for (uint32_t seed = 0; seed < 3; ++seed)
        kept.push_back(driver.add(third_request(std::make_shared<EveryThird>(12, 25), seed, 3 + seed)));
    const auto free_id = driver.add(free_request());
    driver.run();
    CHECK(driver.received(free_id).ids() == alone.received(alone_id).ids());
    for (uint32_t seed = 0; seed < 3; ++seed) {
        check_congruent(driver.received(kept[seed]));
        Driver single({});
        const auto id = single.add(third_request(std::make_shared<EveryThird>(12, 25), seed, 3 + seed));
        single.run();
        CHECK(single.received(id).ids() == driver.received(kept[seed]).ids());
    }
}

TEST_CASE("an answer that a constraint ends before its drafts leaves no wrong page") {
    for (uint32_t length = 1; length < 12; ++length) {
        INFO("length " << length);
        FakeOptions options = roomy();
        if (length % 2 == 0) {
            options.limits.state_slots = options.limits.sequences_max + 4;
            options.limits.pending_rows_max = 9;
        }
        engine::Request request = third_request(std::make_shared<EveryThird>(100, length), 3, 10);
        request.kinds.assign(10, engine::RowKind::prefill);
        Driver alone(options);
        const auto first = alone.add(request);
        alone.run();
        std::vector<TokenId> prediction = alone.received(first).ids();
        const std::vector<TokenId> answer = prediction;
        prediction.back() = (prediction.back() + 1) % 60;
        prediction.insert(prediction.end(), 8, 62);
        request.constraint = std::make_shared<EveryThird>(100, length);
        request.speculation = engine::Speculation{.tokens_max = 5, .prediction = prediction};
        Driver driver(options);
        const auto drafted = driver.add(request);
        driver.run();
        CHECK(driver.received(drafted).ids() == answer);
        engine::Request next{.prompt = request.prompt,
                             .kinds = request.kinds,
                             .sampling = {.temperature = 0},
                             .max_tokens = 6};
        next.prompt.insert(next.prompt.end(), answer.begin(), answer.end());
        next.kinds.insert(next.kinds.end(), answer.size(), engine::RowKind::decode);
        next.prompt.push_back(1);
        next.kinds.push_back(engine::RowKind::prefill);
        const auto id = driver.add(next);
        driver.run();
        CHECK(driver.received(id).ids() == simulate(options, next).tokens);
        if (options.limits.state_slots == 0)
            CHECK(driver.received(id).finished->cached_tokens >= 10);
    }
}

TEST_CASE("a preempted sequence continues with the state of its constraint") {
    FakeOptions scarce;
    scarce.limits.groups = {{.page_count = 10}};
    Driver driver(scarce);
    std::vector<engine::RequestId> ids;
    for (uint32_t seed = 0; seed < 4; ++seed)
        ids.push_back(driver.add(third_request(std::make_shared<EveryThird>(30, 30), seed)));
    driver.run();
    CHECK(driver.scheduler().preemptions() > 0);
    for (const auto id : ids) {
        CHECK(driver.received(id).tokens.size() == 30);
        check_congruent(driver.received(id));
    }
}

TEST_CASE("a constraint that fails ends only its own request") {
    Driver driver({});
    const auto broken = std::make_shared<EveryThird>(20, 20);
    broken->fails_at = 5;
    const auto broken_id = driver.add(third_request(broken, 1));
    const auto other = driver.add(third_request(std::make_shared<EveryThird>(20, 20), 2));
    driver.run();
    CHECK(driver.received(broken_id).finished->reason == FinishReason::error);
    CHECK(driver.received(broken_id).finished->error->message == "too large");
    CHECK(driver.received(broken_id).tokens.size() == 5);
    CHECK(driver.received(other).tokens.size() == 20);
}

TEST_CASE("a constraint and bans that leave no token end the request with invalid_argument") {
    Driver driver({});
    engine::Request banned = third_request(std::make_shared<EveryThird>(1, 20), 3);
    for (TokenId token = 0; token < end_token; token += 3)
        banned.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    const auto id = driver.add(banned);
    driver.run();
    CHECK(driver.received(id).finished->reason == FinishReason::error);
    CHECK(driver.received(id).finished->error->message.find("grammar") != std::string::npos);
}

} // namespace
TEST_CASE("forced tokens are delivered and computed without extra steps") {
    const auto forcing = [] {
        auto constraint = std::make_shared<EveryThird>(100, 100);
        constraint->forces = true;
        return constraint;
    };
    for (uint32_t seed = 0; seed < 30; ++seed) {
        FakeOptions options;
        for (engine::CacheGroup& group : options.limits.groups)
            group.page_count = 16 + seed;
        Driver driver(options);
        std::vector<engine::RequestId> ids;
        for (uint32_t i = 0; i < 3; ++i)
            ids.push_back(driver.add(third_request(forcing(), seed + i)));
        driver.run();
        CHECK(driver.steps() < 100); // 120 tokens, and three of five are forced
        for (uint32_t i = 0; i < 3; ++i) {
            const std::vector<TokenId> tokens = driver.received(ids[i]).ids();
            REQUIRE(tokens.size() == 40);
            for (uint32_t position = 0; position < 40; ++position) {
                CHECK(tokens[position] % 3 == position % 3);
                if (position % 5 == 4)
                    CHECK(tokens[position] == position % 3 + 30);
            }
            // Drafts of forced and of other tokens do not change the answer.
            engine::Request guessed = third_request(forcing(), seed + i);
            guessed.speculation = engine::Speculation{.tokens_max = 6, .lookup_ngram_max = 2};
            for (uint32_t position = 0; position < 40; ++position)
                guessed.speculation->prediction.push_back(position % 7 == seed % 7 ? 1 : tokens[position]);
            FakeOptions wide;
            wide.limits.output_rows_max = wide.limits.batch_rows_max;
            wide.limits.slots = 64;
            Driver guessing(wide);
            const engine::RequestId guess = guessing.add(guessed);
            guessing.run();
            CHECK(guessing.received(guess).ids() == tokens);
            CHECK(guessing.received(guess).finished->accepted_drafts > 0);
            Driver alone{FakeOptions()};
            const engine::RequestId id = alone.add(third_request(forcing(), seed + i));
            alone.run();
            CHECK(alone.received(id).ids() == tokens);
        }
    }
}

/// Allows every token, and forces three after every fifth one that the model chose.
class Interrupts final : public engine::Constraint {
public:
    [[nodiscard]] bool restricts() const override { return false; }
    Result<Allowed> allowed() override { return Allowed{}; }
    void accept(TokenId /*token*/) override { ++count_; }
    std::vector<TokenId> forced() override {
        return count_ % 8 == 5 ? std::vector<TokenId>{20, 21, 22} : std::vector<TokenId>{};
    }
    Result<bool> is_over() override { return false; }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override {
        return std::make_shared<Interrupts>(*this);
    }

private:
    uint32_t count_ = 0;
};

TEST_CASE("tokens are forced after samples of the device, while the next step is in flight") {
    for (uint32_t seed = 0; seed < 30; ++seed) {
        const auto request = [&](uint32_t number) {
            engine::Request one = third_request(nullptr, seed + number);
            one.sampling.top_k = 8; // sampled on the device
            one.end_tokens.clear();
            one.constraint = std::make_shared<Interrupts>();
            return one;
        };
        FakeOptions options;
        for (engine::CacheGroup& group : options.limits.groups)
            group.page_count = 16 + seed; // some are preempted
        Driver driver(options);
        std::vector<engine::RequestId> ids;
        for (uint32_t i = 0; i < 3; ++i)
            ids.push_back(driver.add(request(i)));
        driver.run();
        for (uint32_t i = 0; i < 3; ++i) {
            const std::vector<TokenId> tokens = driver.received(ids[i]).ids();
            REQUIRE(tokens.size() == 40);
            std::size_t samples = 0;
            for (uint32_t position = 0; position < 40; ++position) {
                if (position % 8 >= 5)
                    CHECK(tokens[position] == 20 + position % 8 - 5);
                samples += position % 8 < 5 && tokens[position] != tokens[0] ? 1 : 0;
            }
            CHECK(samples > 0);
            // Alone, with every token read before the next step, and with drafts, the answer is the same.
            FakeOptions serial;
            serial.limits.in_flight_max = 1;
            Driver alone(serial);
            const engine::RequestId id = alone.add(request(i));
            alone.run();
            CHECK(alone.received(id).ids() == tokens);
            FakeOptions wide;
            wide.limits.output_rows_max = wide.limits.batch_rows_max;
            wide.limits.slots = 64;
            wide.limits.in_flight_max = 4;
            engine::Request guessed = request(i);
            guessed.speculation = engine::Speculation{.tokens_max = 6, .prediction = tokens};
            Driver guessing(wide);
            const engine::RequestId deep = guessing.add(request(i));
            const engine::RequestId guess = guessing.add(guessed);
            guessing.run();
            CHECK(guessing.received(deep).ids() == tokens);
            CHECK(guessing.received(guess).ids() == tokens);
        }
    }
}

TEST_CASE("a forced end token ends the sequence") {
    auto constraint = std::make_shared<EveryThird>(100, 100);
    constraint->forces = true;
    Driver driver{FakeOptions()};
    const engine::RequestId plain = driver.add(third_request(constraint, 3));
    driver.run();
    const TokenId forced = driver.received(plain).ids()[4]; // after four sampled ones
    REQUIRE(forced == 4 % 3 + 30);

    auto again = std::make_shared<EveryThird>(100, 100);
    again->forces = true;
    engine::Request stopped = third_request(again, 3);
    stopped.end_tokens.push_back(forced);
    Driver stopping{FakeOptions()};
    const engine::RequestId id = stopping.add(stopped);
    stopping.run();
    CHECK(stopping.received(id).finished->reason == FinishReason::stop);
    CHECK(stopping.received(id).finished->end_token == forced);
    CHECK(stopping.received(id).ids().size() == 4);
}

TEST_CASE("a hypothesis that completes at max_tokens finishes with stop") {
    engine::Request search = third_request(std::make_shared<EveryThird>(4, 4), 1);
    search.max_tokens = 4;
    search.beams = engine::BeamOptions{.width = 3, .answers = 3};
    Driver driver{FakeOptions()};
    const engine::RequestId whole = driver.add(search);
    search.constraint = std::make_shared<EveryThird>(5, 5);
    const engine::RequestId cut = driver.add(search);
    driver.run();
    for (std::size_t i = 0; i < 3; ++i) {
        check_congruent(driver.received(whole, i));
        CHECK(driver.received(whole, i).tokens.size() == 4);
        CHECK(driver.received(whole, i).finished->reason == FinishReason::stop);
        CHECK(driver.received(cut, i).tokens.size() == 4);
        CHECK(driver.received(cut, i).finished->reason == FinishReason::length);
    }
}

TEST_CASE("if a constraint has fewer answers than requested, the others are empty and finish with "
          "length") {
    auto constraint = std::make_shared<EveryThird>(1, 1);
    constraint->choices = 2;
    engine::Request search = third_request(constraint, 1);
    search.beams = engine::BeamOptions{.width = 4, .answers = 4};
    Driver driver{FakeOptions()};
    const engine::RequestId id = driver.add(search);
    driver.run();
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(driver.received(id, i).tokens.size() == (i < 2 ? 1U : 0U));
        CHECK(driver.received(id, i).finished->reason == (i < 2 ? FinishReason::stop : FinishReason::length));
    }
}

} // namespace etna::test
