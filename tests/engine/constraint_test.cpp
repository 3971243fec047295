// Sequences that are kept to a constraint: what the engine asks of it, and what it makes of the answers.

#include "core/engine/constraint.hpp"
#include "tests/engine/driver.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace etna::test {
namespace {

using engine::FinishReason;

constexpr TokenId end_token = 63; ///< of 64
constexpr sampling::Parameters wild{.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0};

/// The token at place i, counted from the first generated one, leaves i % 3 when divided by 3. After
/// `least` tokens the sequence may end, after `most` it is over.
class EveryThird final : public engine::Constraint {
public:
    EveryThird(uint32_t least, uint32_t most) : least_(least), most_(most) {}

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
        return Allowed{.tokens = words_, .may_end = count_ >= least_};
    }
    void accept(TokenId token) override {
        is_kept = is_kept && token % 3 == count_ % 3;
        ++count_;
    }
    std::vector<TokenId> forced() override {
        std::vector<TokenId> tokens; // after every fifth token, three that fit
        for (uint32_t i = 0; forces && count_ % 5 == 4 && i < 3; ++i)
            tokens.push_back((count_ + i) % 3 + 30);
        return tokens;
    }
    Result<bool> is_over() override { return count_ == most_; }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override {
        return std::make_shared<EveryThird>(*this);
    }

    int asked = 0;
    bool is_kept = true;
    bool forces = false;
    uint32_t choices = UINT32_MAX; ///< of each place
    uint32_t fails_at = UINT32_MAX;

private:
    uint32_t least_;
    uint32_t most_;
    uint32_t count_ = 0;
    std::vector<uint32_t> words_;
};

engine::Request request(const std::shared_ptr<EveryThird>& constraint, uint32_t seed,
                        uint32_t prompt_tokens = 5) {
    engine::Request request = {
        .sampling = wild, .max_tokens = 40, .end_tokens = {end_token}, .constraint = constraint};
    request.sampling.seed = seed;
    for (uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back((i * 7 + seed) % 60);
    return request;
}

void check_kept(const Told& told) {
    const std::vector<TokenId> ids = told.ids();
    for (std::size_t i = 0; i < ids.size(); ++i)
        CHECK(ids[i] % 3 == i % 3);
}

TEST_CASE("a constraint decides token by token what may come, and when it is over") {
    Driver driver({});
    const auto constraint = std::make_shared<EveryThird>(9, 9);
    const auto id = driver.add(request(constraint, 1));
    driver.run();
    const Told& told = driver.told(id);
    CHECK(told.tokens.size() == 9);
    CHECK(told.finished->reason == FinishReason::stop);
    CHECK_FALSE(told.finished->end_token.has_value());
    CHECK(constraint->is_kept);
    check_kept(told);
}

TEST_CASE("end tokens come where the constraint lets the sequence end, and not before") {
    int ended = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Driver driver({});
        const auto id = driver.add(request(std::make_shared<EveryThird>(4, 30), seed));
        driver.run();
        const Told& told = driver.told(id);
        CHECK(told.tokens.size() >= 4);
        CHECK(told.finished->reason == FinishReason::stop);
        ended += told.finished->end_token == end_token ? 1 : 0;
        check_kept(told);
    }
    CHECK(ended > 10);
}

TEST_CASE("constrained and free sequences share batches, and the free ones do not notice") {
    const auto free_request = [] {
        engine::Request free = request(nullptr, 7);
        free.end_tokens = {};
        return free;
    };
    Driver alone({});
    const auto alone_id = alone.add(free_request());
    alone.run();
    Driver driver({});
    std::vector<engine::RequestId> kept;
    for (uint32_t seed = 0; seed < 3; ++seed)
        kept.push_back(driver.add(request(std::make_shared<EveryThird>(12, 25), seed, 3 + seed)));
    const auto free_id = driver.add(free_request());
    driver.run();
    CHECK(driver.told(free_id).ids() == alone.told(alone_id).ids());
    for (uint32_t seed = 0; seed < 3; ++seed) {
        check_kept(driver.told(kept[seed]));
        Driver single({});
        const auto id = single.add(request(std::make_shared<EveryThird>(12, 25), seed, 3 + seed));
        single.run();
        CHECK(single.told(id).ids() == driver.told(kept[seed]).ids());
    }
}

TEST_CASE("a sequence that gives its pages back goes on where its constraint was") {
    FakeOptions scarce;
    scarce.limits.groups = {{.page_count = 10}};
    Driver driver(scarce);
    std::vector<engine::RequestId> ids;
    for (uint32_t seed = 0; seed < 4; ++seed)
        ids.push_back(driver.add(request(std::make_shared<EveryThird>(30, 30), seed)));
    driver.run();
    CHECK(driver.scheduler().preemptions() > 0);
    for (const auto id : ids) {
        CHECK(driver.told(id).tokens.size() == 30);
        check_kept(driver.told(id));
    }
}

TEST_CASE("a constraint that fails ends its own request alone") {
    Driver driver({});
    const auto broken = std::make_shared<EveryThird>(20, 20);
    broken->fails_at = 5;
    const auto broken_id = driver.add(request(broken, 1));
    const auto other = driver.add(request(std::make_shared<EveryThird>(20, 20), 2));
    driver.run();
    CHECK(driver.told(broken_id).finished->reason == FinishReason::error);
    CHECK(driver.told(broken_id).finished->error->message == "too large");
    CHECK(driver.told(broken_id).tokens.size() == 5);
    CHECK(driver.told(other).tokens.size() == 20);
}

TEST_CASE("a constraint that leaves no token with the request's own bans is the request's fault") {
    Driver driver({});
    engine::Request banned = request(std::make_shared<EveryThird>(1, 20), 3);
    for (TokenId token = 0; token < end_token; token += 3)
        banned.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    const auto id = driver.add(banned);
    driver.run();
    CHECK(driver.told(id).finished->reason == FinishReason::error);
    CHECK(driver.told(id).finished->error->message.find("grammar") != std::string::npos);
}

} // namespace
TEST_CASE("what a constraint forces is told and computed, but costs no step of its own") {
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
            ids.push_back(driver.add(request(forcing(), seed + i)));
        driver.run();
        CHECK(driver.steps() < 100); // 120 tokens, and three of five are forced
        for (uint32_t i = 0; i < 3; ++i) {
            const std::vector<TokenId> tokens = driver.told(ids[i]).ids();
            REQUIRE(tokens.size() == 40);
            for (uint32_t place = 0; place < 40; ++place) {
                CHECK(tokens[place] % 3 == place % 3);
                if (place % 5 == 4)
                    CHECK(tokens[place] == place % 3 + 30);
            }
            // Drafts of what is forced, and of what is not, change nothing.
            engine::Request guessed = request(forcing(), seed + i);
            guessed.speculation = engine::Speculation{.tokens_max = 6, .lookup_ngram_max = 2};
            for (uint32_t place = 0; place < 40; ++place)
                guessed.speculation->prediction.push_back(place % 7 == seed % 7 ? 1 : tokens[place]);
            FakeOptions wide;
            wide.limits.output_rows_max = wide.limits.batch_rows_max;
            wide.limits.slots = 64;
            Driver guessing(wide);
            const engine::RequestId guess = guessing.add(guessed);
            guessing.run();
            CHECK(guessing.told(guess).ids() == tokens);
            CHECK(guessing.told(guess).finished->accepted_drafts > 0);
            Driver alone{FakeOptions()};
            const engine::RequestId id = alone.add(request(forcing(), seed + i));
            alone.run();
            CHECK(alone.told(id).ids() == tokens);
        }
    }
}

TEST_CASE("a token that ends the sequence does so in what a constraint forces too") {
    auto constraint = std::make_shared<EveryThird>(100, 100);
    constraint->forces = true;
    Driver driver{FakeOptions()};
    const engine::RequestId plain = driver.add(request(constraint, 3));
    driver.run();
    const TokenId forced = driver.told(plain).ids()[4]; // after four that are drawn
    REQUIRE(forced == 4 % 3 + 30);

    auto again = std::make_shared<EveryThird>(100, 100);
    again->forces = true;
    engine::Request stopped = request(again, 3);
    stopped.end_tokens.push_back(forced);
    Driver stopping{FakeOptions()};
    const engine::RequestId id = stopping.add(stopped);
    stopping.run();
    CHECK(stopping.told(id).finished->reason == FinishReason::stop);
    CHECK(stopping.told(id).finished->end_token == forced);
    CHECK(stopping.told(id).ids().size() == 4);
}

TEST_CASE("a hypothesis that is whole with the last token it may have was not cut off") {
    engine::Request search = request(std::make_shared<EveryThird>(4, 4), 1);
    search.max_tokens = 4;
    search.beams = engine::BeamOptions{.width = 3, .answers = 3};
    Driver driver{FakeOptions()};
    const engine::RequestId whole = driver.add(search);
    search.constraint = std::make_shared<EveryThird>(5, 5);
    const engine::RequestId cut = driver.add(search);
    driver.run();
    for (std::size_t i = 0; i < 3; ++i) {
        check_kept(driver.told(whole, i));
        CHECK(driver.told(whole, i).tokens.size() == 4);
        CHECK(driver.told(whole, i).finished->reason == FinishReason::stop);
        CHECK(driver.told(cut, i).tokens.size() == 4);
        CHECK(driver.told(cut, i).finished->reason == FinishReason::length);
    }
}

TEST_CASE("where a constraint knows fewer answers than are wanted, the others are empty and do not pass for "
          "whole") {
    auto constraint = std::make_shared<EveryThird>(1, 1);
    constraint->choices = 2;
    engine::Request search = request(constraint, 1);
    search.beams = engine::BeamOptions{.width = 4, .answers = 4};
    Driver driver{FakeOptions()};
    const engine::RequestId id = driver.add(search);
    driver.run();
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(driver.told(id, i).tokens.size() == (i < 2 ? 1U : 0U));
        CHECK(driver.told(id, i).finished->reason == (i < 2 ? FinishReason::stop : FinishReason::length));
    }
}

} // namespace etna::test
