// Outputs that sequences request, and tokens that are read from them.

#include "core/engine/token_selection.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace etna::test {
namespace {

using engine::FinishReason;
using engine::OutputKind;

constexpr float infinity = std::numeric_limits<float>::infinity();

engine::Request sampled_request(const sampling::Parameters& parameters, uint32_t max_tokens = 12) {
    return {.prompt = {5, 6, 7, 5, 6}, .sampling = parameters, .max_tokens = max_tokens};
}

engine::OutputSpec spec_for(const engine::Request& one, const engine::Limits& limits = fake_limits()) {
    engine::Sequence sequence;
    sequence.request = std::make_shared<const engine::Request>(one);
    return output_spec_for(sequence, 0, limits);
}

TEST_CASE("plain parameters are sampled on the device, and the output is as small as possible") {
    CHECK(spec_for(sampled_request({.temperature = 0})).output_kind == OutputKind::sampled);
    CHECK(spec_for(sampled_request({.top_k = 16})).output_kind == OutputKind::sampled);
    CHECK(spec_for(sampled_request({.top_k = 16})).candidates == 0);
    CHECK(spec_for(sampled_request({.temperature = 0, .top_k = 0, .typical_p = 0.5F})).output_kind ==
          OutputKind::sampled);

    for (const sampling::Parameters& parameters :
         {sampling::Parameters{.top_k = 9, .typical_p = 0.5F},
          sampling::Parameters{.top_k = 3, .min_keep = 9},
          sampling::Parameters{.top_k = 9, .xtc_probability = 0.5F}}) {
        CHECK(spec_for(sampled_request(parameters)).output_kind == OutputKind::candidates);
        CHECK(spec_for(sampled_request(parameters)).candidates == 9);
    }
    for (const sampling::Parameters& parameters :
         {sampling::Parameters{.top_k = 0}, sampling::Parameters{.top_k = 17},
          sampling::Parameters{.top_k = 9, .typical_p = 0.5F, .min_keep = 17},
          sampling::Parameters{.top_k = 9, .top_n_sigma = 1},
          sampling::Parameters{.temperature = 0, .repetition_penalty = 1.1F},
          sampling::Parameters{.top_k = 9, .presence_penalty = 1},
          sampling::Parameters{.top_k = 9, .frequency_penalty = 1},
          sampling::Parameters{.top_k = 9, .dry_multiplier = 1}})
        CHECK(spec_for(sampled_request(parameters)).output_kind == OutputKind::logits);
    engine::Request biased = sampled_request({.temperature = 0});
    biased.logit_bias = {{1, 1}};
    CHECK(spec_for(biased).output_kind == OutputKind::logits);
}

TEST_CASE("top candidates are returned with any output, at most the vocabulary") {
    for (const sampling::Parameters& parameters :
         {sampling::Parameters{.temperature = 0}, sampling::Parameters{.top_k = 0},
          sampling::Parameters{.top_k = 3, .typical_p = 0.5F}}) {
        engine::Request one = sampled_request(parameters);
        one.top_candidates = 7;
        CHECK(spec_for(one).candidates == 7);
        engine::Limits small = fake_limits();
        small.vocabulary = 4;
        CHECK(spec_for(one, small).candidates == 4);
    }
}

TEST_CASE("top candidates and logits are the model's, before any penalty or filter") {
    const FakeOptions options;
    for (const sampling::Parameters& parameters :
         {sampling::Parameters{.temperature = 0}, sampling::Parameters{.top_k = 2, .seed = 1},
          sampling::Parameters{.top_k = 4, .seed = 2, .typical_p = 0.5F},
          sampling::Parameters{.top_k = 0, .seed = 3, .repetition_penalty = 3, .dry_multiplier = 5}}) {
        Driver driver(options);
        engine::Request one = sampled_request(parameters);
        one.top_candidates = 6;
        const auto id = driver.add(one);
        driver.run();
        const Received& received = driver.received(id);
        REQUIRE(received.tokens.size() == 12);
        CHECK(received.ids() == simulate(options, one).tokens);
        std::vector<FakeEntry> entries;
        const auto store = [&](TokenId token, engine::RowKind kind) {
            entries.push_back({.token = token,
                               .position = static_cast<uint32_t>(entries.size()),
                               .kind = kind,
                               .written = true});
        };
        for (const TokenId token : one.prompt)
            store(token, engine::RowKind::prefill);
        for (const engine::TokenEvent& event : received.tokens) {
            const std::vector<std::vector<FakeEntry>> groups = {entries};
            std::vector<float> logits = FakeModel{options.limits.vocabulary, {}}.logits(groups);
            double sum = 0;
            for (const float logit : logits)
                sum += std::exp(double{logit});
            CHECK(event.logit == logits[event.token]);
            CHECK(event.log_sum_exp == Approx(std::log(sum)).epsilon(1e-5));
            REQUIRE(event.top.size() == 6);
            for (const sampling::Candidate& candidate : event.top) {
                const auto largest = std::max_element(logits.begin(), logits.end());
                CHECK(candidate.token == static_cast<TokenId>(largest - logits.begin()));
                CHECK(candidate.logit == *largest);
                *largest = -infinity;
            }
            store(event.token, engine::RowKind::decode);
        }
    }
}

TEST_CASE("a request that bans every token ends with an error, and others continue") {
    const FakeOptions options;
    Driver driver(options);
    engine::Request banned = sampled_request({.temperature = 0});
    for (TokenId token = 0; token < options.limits.vocabulary; ++token)
        banned.logit_bias.push_back({token, -infinity});
    const engine::Request fine = sampled_request({.repetition_penalty = 1.5F});
    const auto bad = driver.add(banned);
    const auto good = driver.add(fine);
    driver.run();
    REQUIRE(driver.received(bad).finished->reason == FinishReason::error);
    CHECK(driver.received(bad).finished->error->kind == ErrorKind::invalid_argument);
    CHECK(driver.received(bad).finished->error->message.find("logit_bias") == 0);
    CHECK(driver.received(bad).tokens.empty());
    CHECK(driver.received(good).finished->reason == FinishReason::length);
    CHECK(driver.received(good).ids() == simulate(options, fine).tokens);
}

TEST_CASE("a strong repetition penalty bans tokens of prompt and output, across preemptions") {
    FakeOptions options;
    options.limits.groups = {{.page_count = 14}}; // 56 entries for two sequences of 45
    uint32_t recomputed = 0;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows)
            recomputed += row.kind == engine::RowKind::decode && row.output_kind == OutputKind::none ? 1 : 0;
    };
    Driver driver(options);
    engine::Request one = sampled_request({.temperature = 0, .repetition_penalty = 100}, 40);
    one.sampling.repetition_window_tokens = sampling::full_history;
    one.logit_bias.reserve(options.limits.vocabulary);
    for (TokenId token = 0; token < options.limits.vocabulary; ++token)
        one.logit_bias.push_back({token, -20}); // all negative, so that a penalty of 100 lowers each
    engine::Request other = one;
    other.prompt = {1, 2, 3, 4, 5};
    const auto first = driver.add(one);
    const auto second = driver.add(other);
    driver.run();
    CHECK(recomputed > 0);
    for (const auto& [id, prompt] : {std::pair{first, one.prompt}, {second, other.prompt}}) {
        std::vector<TokenId> seen = prompt;
        REQUIRE(driver.received(id).tokens.size() == 40);
        for (const TokenId token : driver.received(id).ids()) {
            CHECK(std::count(seen.begin(), seen.end(), token) == 0);
            seen.push_back(token);
        }
    }
}

TEST_CASE("check() refuses candidates, biases and parameters out of range") {
    const engine::Limits limits = fake_limits();
    engine::Request one = sampled_request({});
    one.top_candidates = limits.candidates_max + 1;
    CHECK(check(one, limits).error().message.find("17 top candidates") == 0);
    one = sampled_request({});
    one.logit_bias = {{limits.vocabulary, 1}};
    CHECK(check(one, limits).error().message.find("logit_bias names token 64") == 0);
    one = sampled_request({.dry_base = 0});
    CHECK(check(one, limits).error().message.find("dry_base") == 0);
}

} // namespace
} // namespace etna::test
