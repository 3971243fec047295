// Beam search through the scheduler, against a naive one that stores every hypothesis as a list of tokens and
// ranks the entire vocabulary in every step.

#include "core/engine/beam_search.hpp"
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

using engine::BeamOptions;
using engine::EarlyStopping;
using engine::FinishReason;

struct Plain {
    std::vector<TokenId> tokens; ///< with the end token
    double score = 0;
    bool is_complete = false;
};

bool is_better(const Plain& a, const Plain& b) {
    return a.score > b.score;
}

double log_sum(const std::vector<float>& logits) {
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(double{logit});
    return std::log(sum);
}

/// Returns the log-probability of each token after the request's bias; -infinity: banned.
std::vector<double> gains(const FakeOptions& options, const engine::Request& request,
                          const std::vector<TokenId>& generated) {
    const std::vector<float> logits = logits_after(options, request, generated);
    const double total = log_sum(logits);
    std::vector<double> result;
    for (TokenId token = 0; token < logits.size(); ++token) {
        double gain = double{logits[token]} - total;
        for (const sampling::LogitBias& one : request.logit_bias)
            gain += one.token == token ? double{one.bias} : 0;
        const auto& ends = request.end_tokens;
        if (generated.size() < request.min_tokens && std::count(ends.begin(), ends.end(), token) > 0)
            gain = -INFINITY;
        result.push_back(gain);
    }
    return result;
}

/// A group of the naive beam search. `taken` counts the tokens of earlier groups in the step.
struct PlainGroup {
    std::vector<Plain> live = {Plain{}};
    std::vector<Plain> complete;
    bool is_done = false;

    void add(Plain plain, double length_penalty, std::size_t size) {
        plain.score /= std::pow(static_cast<double>(plain.tokens.size()), length_penalty);
        complete.push_back(std::move(plain));
        std::stable_sort(complete.begin(), complete.end(), is_better);
        if (complete.size() > size)
            complete.pop_back();
    }

    void step(const FakeOptions& options, const engine::Request& request, std::size_t size,
              std::map<TokenId, int>& taken) {
        const BeamOptions& beams = *request.beams;
        std::vector<Plain> all;
        for (const Plain& hypothesis : live) {
            const std::vector<double> gain = gains(options, request, hypothesis.tokens);
            for (TokenId token = 0; token < gain.size(); ++token) {
                if (std::isinf(gain[token]))
                    continue;
                Plain next = hypothesis;
                next.tokens.push_back(token);
                next.score += gain[token] - double{beams.diversity_penalty} * taken[token];
                all.push_back(std::move(next));
            }
        }
        std::stable_sort(all.begin(), all.end(), is_better);
        std::vector<Plain> next;
        for (std::size_t rank = 0; rank < all.size() && next.size() < size; ++rank) {
            const auto& ends = request.end_tokens;
            const bool is_end = std::count(ends.begin(), ends.end(), all[rank].tokens.back()) > 0;
            if (is_end && rank < size) {
                all[rank].is_complete = true;
                add(all[rank], double{beams.length_penalty}, size);
            }
            if (!is_end)
                next.push_back(all[rank]);
        }
        for (const Plain& one : next)
            ++taken[one.tokens.back()];
        live = std::move(next);
        is_done = live.empty() || (complete.size() == size && is_settled(request));
        if (is_done)
            live.clear();
    }

    [[nodiscard]] bool is_settled(const engine::Request& request) const {
        const BeamOptions& beams = *request.beams;
        if (beams.early_stopping == EarlyStopping::first)
            return true;
        double length = static_cast<double>(live.front().tokens.size());
        if (beams.early_stopping == EarlyStopping::never && beams.length_penalty > 0)
            length = *request.max_tokens;
        return complete.back().score >= live.front().score / std::pow(length, double{beams.length_penalty});
    }
};

std::vector<Plain> plain_search(const FakeOptions& options, const engine::Request& request) {
    const BeamOptions& beams = *request.beams;
    const std::size_t size = beams.width / beams.groups;
    std::vector<PlainGroup> groups(beams.groups);
    for (uint32_t length = 0; length < request.max_tokens; ++length) {
        std::map<TokenId, int> taken;
        for (PlainGroup& group : groups) {
            if (!group.is_done)
                group.step(options, request, size, taken);
        }
    }
    std::vector<Plain> all;
    for (PlainGroup& group : groups) {
        for (const Plain& cut : group.live)
            group.add(cut, double{beams.length_penalty}, size);
        all.insert(all.end(), group.complete.begin(), group.complete.end());
    }
    std::stable_sort(all.begin(), all.end(), is_better);
    all.resize(beams.answers);
    return all;
}

double sum_of(const Received& received) {
    double sum = 0;
    for (const engine::TokenEvent& event : received.tokens)
        sum += double{event.logit} - double{event.log_sum_exp};
    return sum;
}

void check_equal(const Driver& driver, engine::RequestId id, const FakeOptions& options,
                 const engine::Request& request) {
    const std::vector<Plain> expected = plain_search(options, request);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Received& received = driver.received(id, i);
        std::vector<TokenId> tokens = received.ids();
        REQUIRE(received.finished);
        CHECK(received.finished->completion_tokens == tokens.size());
        CHECK(received.finished->prompt_tokens == request.prompt.size());
        if (received.finished->end_token)
            tokens.push_back(*received.finished->end_token);
        CHECK(tokens == expected[i].tokens);
        CHECK(received.finished->reason ==
              (expected[i].is_complete ? FinishReason::stop : FinishReason::length));
    }
}

engine::Request random_search(Random& random, uint32_t vocabulary) {
    engine::Request request;
    for (uint32_t i = pick(random, 1, 20); i > 0; --i)
        request.prompt.push_back(pick(random, 0, vocabulary - 1));
    for (uint32_t i = pick(random, 0, 6); i > 0; --i)
        request.end_tokens.push_back(pick(random, 0, vocabulary - 1));
    std::sort(request.end_tokens.begin(), request.end_tokens.end());
    request.end_tokens.erase(std::unique(request.end_tokens.begin(), request.end_tokens.end()),
                             request.end_tokens.end());
    request.max_tokens = pick(random, 1, 12);
    if (pick(random, 0, 3) == 0)
        request.min_tokens = pick(random, 1, 6);
    if (pick(random, 0, 3) == 0)
        request.logit_bias = {{pick(random, 0, vocabulary - 1), 3},
                              {pick(random, 0, vocabulary - 1), -INFINITY}};
    const uint32_t groups = pick(random, 1, 3);
    const uint32_t width = groups * pick(random, 1, 3);
    const std::vector<EarlyStopping> ways = {EarlyStopping::heuristic, EarlyStopping::first,
                                             EarlyStopping::never};
    request.beams = BeamOptions{.width = width,
                                .groups = groups,
                                .answers = pick(random, 1, width),
                                .diversity_penalty = static_cast<float>(pick(random, 0, 2)),
                                .length_penalty = static_cast<float>(pick(random, 0, 4)) - 1,
                                .early_stopping = ways[pick(random, 0, 2)]};
    return request;
}

} // namespace

TEST_CASE("a beam search equals a naive one") {
    FakeOptions options;
    for (uint32_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        const engine::Request request = random_search(random, options.limits.vocabulary);
        Driver driver(options);
        const engine::RequestId id = driver.add(request);
        driver.run();
        check_equal(driver, id, options, request);
    }
}

TEST_CASE("a beam search equals a naive one when nearly every token is an end token") {
    FakeOptions options;
    for (uint32_t seed = 0; seed < 100; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        engine::Request request = random_search(random, options.limits.vocabulary);
        request.end_tokens.clear();
        const uint32_t others = pick(random, 1, 12);
        for (TokenId token = options.limits.vocabulary + 2; token > others;
             --token) // two are outside the vocabulary
            request.end_tokens.push_back(token);
        if (seed % 2 == 0) { // the tokens that do not end rank last
            for (TokenId token = 0; token <= others; ++token)
                request.logit_bias.push_back({token, -20});
        }
        Driver driver(options);
        const engine::RequestId id = driver.add(request);
        driver.run();
        check_equal(driver, id, options, request);
    }
}

TEST_CASE(
    "beam searches share pages, capacity and steps with other requests without changing their answers") {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        FakeOptions options;
        options.limits.sequences_max = pick(random, 1, 6);
        options.limits.slots = options.limits.sequences_max * options.limits.in_flight_max;
        for (engine::CacheGroup& group : options.limits.groups)
            group.page_count = pick(random, 14, 30);
        add_random_state(random, options.limits);
        Driver driver(options);
        std::map<engine::RequestId, engine::Request> requests;
        for (uint32_t i = 0; i < 4; ++i) {
            engine::Request request = random_search(random, options.limits.vocabulary);
            if (i % 2 == 1)
                request.beams.reset();
            request.sampling.seed = i;
            requests.emplace(driver.add(request), request);
        }
        driver.run();
        for (const auto& [id, request] : requests) {
            if (request.beams)
                check_equal(driver, id, options, request);
            else
                CHECK(driver.received(id).ids() == simulate(options, request).tokens);
        }
        for (const engine::PagePool& pool : driver.scheduler().cache().pools())
            CHECK(pool.available() == pool.page_count());
    }
}

TEST_CASE("the log-probabilities of an answer sum to the score of its hypothesis") {
    const FakeOptions options;
    engine::Request request = {.prompt = {1, 2, 3}, .max_tokens = 6};
    request.top_candidates = 2;
    request.beams = BeamOptions{.width = 3, .answers = 3};
    Driver driver(options);
    const engine::RequestId id = driver.add(request);
    driver.run();
    const std::vector<Plain> expected = plain_search(options, request);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(sum_of(driver.received(id, i)) / 6 == Approx(expected[i].score).margin(1e-4));
        for (const engine::TokenEvent& event : driver.received(id, i).tokens)
            CHECK(event.top.size() == 2);
    }
}

TEST_CASE("a cancelled beam search returns its best answers and frees its pages") {
    FakeOptions options;
    Driver driver(options);
    engine::Request request = {.prompt = {1, 2, 3}, .max_tokens = 40};
    request.beams = BeamOptions{.width = 4, .answers = 2};
    const engine::RequestId id = driver.add(request);
    for (int i = 0; i < 6; ++i) {
        driver.start_step();
        driver.finish_step();
    }
    driver.cancel(id);
    driver.run();
    request.max_tokens = static_cast<uint32_t>(driver.received(id, 0).tokens.size());
    REQUIRE(request.max_tokens > 1U);
    const std::vector<Plain> expected = plain_search(options, request);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(driver.received(id, i).finished->reason == FinishReason::cancelled);
        CHECK(driver.received(id, i).finished->completion_tokens == *request.max_tokens);
        CHECK(driver.received(id, i).ids() == expected[i].tokens);
    }
    for (const engine::PagePool& pool : driver.scheduler().cache().pools())
        CHECK(pool.available() == pool.page_count());
}

TEST_CASE("a beam search that exhausts the cache returns its best answers") {
    FakeOptions options;
    for (engine::CacheGroup& group : options.limits.groups)
        group.page_count = 4;
    Driver driver(options);
    engine::Request request = {.prompt = {1, 2, 3}, .max_tokens = 60};
    request.beams = BeamOptions{.width = 2, .answers = 2};
    const engine::RequestId id = driver.add(request);
    driver.run();
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(driver.received(id, i).finished->reason == FinishReason::length);
        CHECK(driver.received(id, i).tokens.size() > 4);
    }
}

TEST_CASE("check() refuses beam options out of range") {
    CHECK(check(BeamOptions{}));
    CHECK_FALSE(check(BeamOptions{.width = 0}));
    CHECK_FALSE(check(BeamOptions{.width = engine::beams_max + 1}));
    CHECK_FALSE(check(BeamOptions{.width = 4, .groups = 3}));
    CHECK_FALSE(check(BeamOptions{.width = 2, .answers = 3}));
    CHECK_FALSE(check(BeamOptions{.width = 2, .length_penalty = INFINITY}));
    CHECK_FALSE(check(BeamOptions{.width = 2, .diversity_penalty = -1}));
}

} // namespace etna::test
