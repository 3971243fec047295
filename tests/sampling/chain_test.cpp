// The entire sampling chain, against its twin.

#include "core/sampling/sampler.hpp"
#include "tests/reference/sampling.hpp"
#include "tests/sampling/random_case.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace etna::sampling {
namespace {

using test::infinity;

/// Checks that the token is the draw of the twin, up to rounding at the edges of its interval.
void check_choice(const test::SamplingCase& one, const SampledToken& choice) {
    const reference::Vector changed = reference::changed_logits(one.exact_logits(), one.parameters, one.past);
    const auto choices =
        reference::distribution(changed, one.parameters, reference::xtc_at(one.parameters, one.position));
    const double number =
        one.parameters.temperature == 0 ? 0 : reference::uniform(one.parameters.seed, one.position);
    double before = 0;
    bool is_there = false;
    for (const reference::Choice& expected : choices) {
        if (expected.token == choice.token) {
            is_there = true;
            CHECK(number >= before - 1e-5);
            CHECK(number <= before + expected.probability + 1e-5);
        }
        before += expected.probability;
    }
    CHECK(is_there);
    CHECK(choice.logit == one.logits[choice.token]);
}

TEST_CASE("a sampled token is the draw that all definitions give") {
    std::mt19937 generator(31);
    Sampler sampler; // one for all cases: it retains only scratch memory
    for (uint32_t round = 0; round < 6000; ++round) {
        const test::SamplingCase one = test::random_case(generator);
        std::vector<TokenId> tokens;
        const SequenceBreakers breakers = SequenceBreakers::create(one.past.breakers).value();
        const Context context = test::context_of(one.past, tokens, breakers);
        INFO("round " << round << "\n" << one.describe());
        REQUIRE(check(one.parameters));
        const auto choice = sampler.sample(one.parameters, one.logits, one.position, context);
        REQUIRE(choice);
        check_choice(one, *choice);
        CHECK(Sampler().sample(one.parameters, one.logits, one.position, context)->token == choice->token);
    }
}

TEST_CASE("greedy sampling applies penalties and biases, and no filter") {
    const Parameters greedy{
        .temperature = 0, .xtc_probability = 1, .xtc_threshold = 0, .repetition_penalty = 2};
    const std::vector<float> logits = {1, 4, 3, 0};
    const std::vector<TokenId> tokens = {1};
    Sampler sampler;
    CHECK(sampler.sample(greedy, logits, 0)->token == 1);
    CHECK(sampler.sample(greedy, logits, 0, {.history = {.tokens = tokens}})->token == 2);
    const std::vector<LogitBias> ban = {{1, -infinity}, {2, -infinity}};
    const auto banned = sampler.sample(greedy, logits, 0, {.logit_bias = ban});
    CHECK(banned->token == 0);
    CHECK(banned->logit == 1); // the model's logit
    const std::vector<LogitBias> push = {{3, 10}};
    const auto pushed = sampler.sample(greedy, logits, 0, {.logit_bias = push});
    CHECK(pushed->token == 3);
    CHECK(pushed->logit == 0);
}

TEST_CASE("a row with every token banned is invalid_argument, a row without logits internal") {
    const std::vector<LogitBias> all = {{0, -infinity}, {2, -infinity}};
    const std::vector<float> logits = {1, -infinity, 2};
    Sampler sampler;
    for (const float temperature : {0.0F, 1.0F}) {
        const Parameters parameters{.temperature = temperature};
        const auto banned = sampler.sample(parameters, logits, 0, {.logit_bias = all});
        REQUIRE(!banned);
        CHECK(banned.error().kind == ErrorKind::invalid_argument);
        CHECK(banned.error().message.find("logit_bias bans every token") == 0);
        CHECK(!banned.error().hint.empty());
        const auto impossible =
            sampler.sample(parameters, std::vector<float>(3, -infinity), 0, {.logit_bias = all});
        REQUIRE(!impossible);
        CHECK(impossible.error().kind == ErrorKind::internal);
    }
}

TEST_CASE("a token that is not allowed is as one that is banned") {
    std::mt19937 generator(33);
    Sampler sampler;
    for (uint32_t round = 0; round < 2000; ++round) {
        const test::SamplingCase one = test::random_case(generator);
        const auto vocabulary = static_cast<TokenId>(one.logits.size());
        std::vector<TokenId> tokens;
        const SequenceBreakers breakers = SequenceBreakers::create(one.past.breakers).value();
        Context allowing = test::context_of(one.past, tokens, breakers);
        Context banning = allowing;
        std::vector<uint32_t> allowed((vocabulary + 31) / 32);
        std::vector<LogitBias> bans(banning.logit_bias.begin(), banning.logit_bias.end());
        const std::vector<TokenId> too = {static_cast<TokenId>(generator() % vocabulary)};
        for (TokenId token = 0; token < vocabulary; ++token) {
            if (generator() % 2 == 0)
                allowed[token / 32] |= uint32_t{1} << (token % 32);
            else if (token != too[0])
                bans.push_back({token, -infinity});
        }
        allowing.allowed = allowed;
        allowing.allowed_extra = too;
        banning.logit_bias = bans;
        INFO("round " << round << "\n" << one.describe());
        const auto a = sampler.sample(one.parameters, one.logits, one.position, allowing);
        const auto b = sampler.sample(one.parameters, one.logits, one.position, banning);
        REQUIRE(a.has_value() == b.has_value());
        if (a) {
            REQUIRE(a->token == b->token);
        } else {
            CHECK(a.error().message.find("matches the grammar") != std::string::npos);
        }
    }
}

TEST_CASE("candidates suffice for every filter after top-k") {
    std::mt19937 generator(32);
    for (uint32_t round = 0; round < 3000; ++round) {
        test::SamplingCase one = test::random_case(generator);
        Parameters& parameters = one.parameters;
        parameters.repetition_penalty = 1;
        parameters.presence_penalty = parameters.frequency_penalty = parameters.dry_multiplier = 0;
        parameters.top_n_sigma = 0;
        parameters.top_k = 1 + parameters.top_k;
        std::vector<Candidate> candidates;
        const auto count = std::max(parameters.top_k, parameters.min_keep) + generator() % 3;
        for (const auto& candidate : reference::top_candidates(one.exact_logits(), count))
            candidates.push_back({candidate.token, static_cast<float>(candidate.logit)});
        INFO(one.describe());
        REQUIRE(sample(parameters, std::span<const Candidate>(candidates), one.position)->token ==
                sample(parameters, one.logits, one.position)->token);
    }
}

TEST_CASE("XTC applies with its probability, by an independent random number") {
    // With XTC only token 1 is left; without it, a temperature near 0 takes token 0.
    Parameters parameters{.temperature = 1e-6F, .top_k = 0, .top_p = 1, .min_p = 0, .xtc_probability = 0.3F};
    const std::vector<float> logits = {2, 1.5F, -20};
    uint32_t excluded = 0;
    constexpr uint32_t draws = 20000;
    for (parameters.seed = 0; parameters.seed < draws; ++parameters.seed)
        excluded += sample(parameters, logits, 5)->token == 1 ? 1 : 0;
    CHECK(excluded == Approx(0.3 * draws).margin(4 * std::sqrt(0.21 * draws)));
}

TEST_CASE("is_plain() is true for parameters that the device can sample") {
    CHECK(is_plain({}));
    CHECK(is_plain({.min_keep = 1}));
    CHECK(is_plain({.temperature = 0, .typical_p = 0.5F, .top_n_sigma = 1, .xtc_probability = 1}));
    CHECK(!is_plain({.typical_p = 0.5F}));
    CHECK(!is_plain({.top_n_sigma = 1}));
    CHECK(!is_plain({.xtc_probability = 0.1F}));
    CHECK(!is_plain({.min_keep = 2}));
    CHECK(!is_plain({.temperature = 0, .repetition_penalty = 1.1F}));
    CHECK(!is_plain({.presence_penalty = -1}));
    CHECK(!is_plain({.frequency_penalty = 1}));
    CHECK(!is_plain({.dry_multiplier = 1}));
    CHECK(is_plain({.dry_multiplier = 1, .dry_window_tokens = 0}));
}

TEST_CASE("check() names each filter and penalty parameter out of range") {
    const float nan = std::nanf("");
    const auto name_of = [](const Parameters& parameters) {
        const Status status = check(parameters);
        return status ? std::string() : status.error().message.substr(0, status.error().message.find(' '));
    };
    for (const float bad : {nan, 0.0F, 1.5F})
        CHECK(name_of({.typical_p = bad}) == "typical_p");
    for (const float bad : {nan, -1.0F, infinity})
        CHECK(name_of({.top_n_sigma = bad}) == "top_n_sigma");
    for (const float bad : {nan, -0.1F, 1.1F}) {
        CHECK(name_of({.xtc_probability = bad}) == "xtc_probability");
        CHECK(name_of({.xtc_threshold = bad}) == "xtc_threshold");
    }
    for (const float bad : {nan, 0.0F, -1.0F, 101.0F})
        CHECK(name_of({.repetition_penalty = bad}) == "repetition_penalty");
    for (const float bad : {nan, -101.0F, 101.0F, infinity}) {
        CHECK(name_of({.presence_penalty = bad}) == "presence_penalty");
        CHECK(name_of({.frequency_penalty = bad}) == "frequency_penalty");
    }
    for (const float bad : {nan, -0.1F, 101.0F})
        CHECK(name_of({.dry_multiplier = bad}) == "dry_multiplier");
    for (const float bad : {nan, 0.9F, 101.0F})
        CHECK(name_of({.dry_base = bad}) == "dry_base");
    CHECK(name_of({.dry_allowed_length = 0}) == "dry_allowed_length");
}

} // namespace
} // namespace etna::sampling
