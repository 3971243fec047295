#include "core/sampling/random.hpp"
#include "core/sampling/sampler.hpp"
#include "tests/sampling/random_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::sampling {
namespace {

using Probabilities = std::map<TokenId, double>;

using test::infinity;

/// Returns tokens by descending logit, smaller id first among equals, by selection.
std::vector<TokenId> ranked(const std::vector<float>& logits) {
    std::vector<TokenId> order;
    std::vector<bool> taken(logits.size());
    while (order.size() < logits.size()) {
        std::size_t best = logits.size();
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (!taken[i] && (best == logits.size() || logits[i] > logits[best]))
                best = i;
        }
        taken[best] = true;
        order.push_back(static_cast<TokenId>(best));
    }
    return order;
}

void renormalise(Probabilities& probabilities) {
    double total = 0;
    for (const auto& [token, probability] : probabilities)
        total += probability;
    for (auto& [token, probability] : probabilities)
        probability /= total;
}

/// Returns the distribution of the draw by the definition in parameters.hpp, renormalised after each filter.
Probabilities distribution(const Parameters& parameters, const std::vector<float>& logits) {
    const std::vector<TokenId> order = ranked(logits);
    if (parameters.temperature == 0)
        return {{order.front(), 1.0}};
    Probabilities left;
    const std::size_t top_k = parameters.top_k == 0 ? order.size() : parameters.top_k;
    for (std::size_t i = 0; i < std::min(top_k, order.size()); ++i)
        left[order[i]] = std::exp(static_cast<double>(logits[order[i]]));
    renormalise(left);
    Probabilities nucleus;
    double sum = 0;
    for (const TokenId token : order) {
        if (left.count(token) == 0 || (sum >= parameters.top_p && parameters.top_p < 1))
            continue;
        nucleus[token] = left[token];
        sum += left[token];
    }
    renormalise(nucleus);
    Probabilities likely;
    for (const auto& [token, probability] : nucleus) {
        if (probability >= parameters.min_p * nucleus[order.front()])
            likely[token] = probability;
    }
    renormalise(likely);
    for (auto& [token, probability] : likely)
        probability = std::pow(probability, 1.0 / parameters.temperature);
    renormalise(likely);
    return likely;
}

std::string describe(const Parameters& parameters, const std::vector<float>& logits) {
    return fmt::format("temperature {}, top_k {}, top_p {}, min_p {}, seed {}, logits {}",
                       parameters.temperature, parameters.top_k, parameters.top_p, parameters.min_p,
                       parameters.seed, logits);
}

TEST_CASE("a sampled token is the draw that the definition gives") {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal(0, 2);
    for (uint32_t round = 0; round < 3000; ++round) {
        std::vector<float> logits(1 + generator() % 30);
        for (float& logit : logits) {
            logit =
                round % 3 == 0 ? std::round(normal(generator)) : normal(generator); // with ties, and without
        }
        Parameters parameters;
        parameters.temperature = static_cast<float>(generator() % 4) * 0.5F;
        parameters.top_k = generator() % 20;
        parameters.top_p = static_cast<float>(1 + generator() % 100) / 100;
        parameters.min_p = static_cast<float>(generator() % 50) / 100;
        parameters.seed = generator();
        const uint32_t position = generator() % 1000;
        INFO(describe(parameters, logits));
        const Probabilities expected = distribution(parameters, logits);
        const SampledToken choice = sample(parameters, logits, position).value();
        CHECK(choice.logit == logits[choice.token]);
        REQUIRE(expected.count(choice.token) == 1);
        // The number is in the token's interval of [0, 1), with intervals in descending order.
        double before = 0;
        for (const TokenId token : ranked(logits)) {
            if (token == choice.token)
                break;
            before += expected.count(token) != 0 ? expected.at(token) : 0;
        }
        const double number = uniform(parameters.seed, position);
        CHECK(number >= before - 1e-12);
        CHECK(number < before + expected.at(choice.token) + 1e-12);
    }
}

TEST_CASE("sampled tokens over many seeds follow the distribution") {
    const std::vector<float> logits = {1.0F, 2.5F, -1.0F, 2.5F, 0.3F, -4.0F, 1.9F, 0.0F};
    for (const Parameters& parameters :
         {Parameters{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0},
          Parameters{.temperature = 0.7F, .top_k = 6, .top_p = 0.97F, .min_p = 0.1F},
          Parameters{.temperature = 2, .top_k = 3, .top_p = 1, .min_p = 0}}) {
        constexpr uint32_t draws = 40000;
        std::map<TokenId, double> counts;
        Parameters one = parameters;
        for (one.seed = 0; one.seed < draws; ++one.seed)
            counts[sample(one, logits, 9).value().token] += 1;
        double chi_squared = 0;
        for (const auto& [token, probability] : distribution(parameters, logits)) {
            const double expected = probability * draws;
            chi_squared += (counts[token] - expected) * (counts[token] - expected) / expected;
            counts.erase(token);
        }
        INFO(describe(parameters, logits) << ", chi squared " << chi_squared);
        CHECK(counts.empty());     // nothing outside
        CHECK(chi_squared < 24.3); // 0.999 quantile for 7 degrees of freedom, the most there are here
    }
}

TEST_CASE("candidates give the same token as all logits if they contain the top k") {
    std::mt19937 generator(2);
    for (uint32_t round = 0; round < 500; ++round) {
        std::vector<float> logits(20);
        for (float& logit : logits)
            logit = static_cast<float>(generator() % 12);
        const Parameters parameters{
            .temperature = 0.9F, .top_k = 1 + static_cast<uint32_t>(generator() % 8), .seed = round};
        std::vector<Candidate> candidates;
        for (const TokenId token : ranked(logits))
            candidates.push_back({token, logits[token]});
        candidates.resize(8);
        INFO(describe(parameters, logits));
        CHECK(sample(parameters, std::span<const Candidate>(candidates), 3).value().token ==
              sample(parameters, logits, 3).value().token);
    }
}

TEST_CASE("temperature 0 takes the largest logit and the smallest id, whatever the filters") {
    const Parameters greedy{.temperature = 0, .top_k = 3, .top_p = 0.01F, .min_p = 1, .seed = 5};
    CHECK(sample(greedy, std::vector<float>{1, 4, -2, 4, 4}, 0).value().token == 1);
    CHECK(sample(greedy, std::vector<float>{-infinity, -5}, 0).value().token == 1);
}

TEST_CASE("ties at the edge of top_k retain the smaller ids") {
    const Parameters parameters{.temperature = 1, .top_k = 2, .top_p = 1, .min_p = 0};
    for (Parameters one = parameters; one.seed < 200; ++one.seed)
        CHECK(sample(one, std::vector<float>{2, 2, 2, 2}, 0).value().token < 2);
}

TEST_CASE("impossible tokens are never sampled, and tiny temperatures are greedy") {
    const std::vector<float> logits = {-infinity, 0.5F, -infinity, 0.4F};
    Parameters parameters{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};
    for (; parameters.seed < 500; ++parameters.seed)
        CHECK(sample(parameters, logits, 0).value().token % 2 == 1);
    parameters.temperature = 1e-38F;
    for (; parameters.seed < 600; ++parameters.seed)
        CHECK(sample(parameters, logits, 0).value().token == 1);
}

TEST_CASE("rank() returns the top tokens, and as many others if some are uncounted") {
    std::mt19937 random(5);
    Sampler sampler;
    for (int round = 0; round < 300; ++round) {
        const std::size_t vocabulary = 1 + random() % 60;
        std::vector<float> logits;
        for (std::size_t i = 0; i < vocabulary; ++i)
            logits.push_back(random() % 5 == 0 ? -infinity : static_cast<float>(random() % 9));
        logits[random() % vocabulary] = 3;
        std::vector<TokenId> apart;
        for (TokenId token = 0; token < vocabulary; ++token) {
            if (round % 3 != 0 && random() % 3 != 0)
                apart.push_back(token);
        }
        const std::vector<LogitBias> bias(round % 2, {.token = 0, .bias = 2});
        std::vector<float> changed = logits;
        changed[0] += bias.empty() ? 0.F : 2.F;
        const auto count = static_cast<uint32_t>(random() % 12);
        std::vector<TokenId> expected;
        uint32_t others = 0;
        for (const TokenId token : ranked(changed)) {
            const bool is_apart = std::count(apart.begin(), apart.end(), token) > 0;
            if (std::isinf(changed[token]) || (is_apart ? expected.size() >= count : others == count))
                continue;
            expected.push_back(token);
            others += is_apart ? 0 : 1;
        }
        std::vector<TokenId> found;
        const auto first = sampler.rank({}, logits, count, {.logit_bias = bias}, apart);
        REQUIRE(first);
        for (const Candidate& candidate : *first) {
            CHECK(candidate.logit == changed[candidate.token]);
            found.push_back(candidate.token);
        }
        CHECK(found == expected);
    }
}

TEST_CASE("NaN and infinite logits are errors") {
    const Parameters parameters;
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
        const auto result = sample(parameters, std::vector<float>{0, bad, 1}, 0);
        REQUIRE(!result);
        CHECK(result.error().kind == ErrorKind::internal);
        CHECK(result.error().message.find("token 1") != std::string::npos);
    }
    CHECK(!sample(parameters, std::vector<float>{}, 0));
    CHECK(!sample(parameters, std::vector<float>{-infinity, -infinity}, 0));
    CHECK(!sample(parameters, std::vector<Candidate>{{0, 1.0F}, {1, 2.0F}}, 0)); // not sorted
}

TEST_CASE("check() names each parameter out of range") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(check(Parameters{}));
    CHECK(check(Parameters{.temperature = 0, .top_k = 0, .top_p = 1, .min_p = 0}));
    CHECK(check(Parameters{.temperature = 50, .top_p = 0.001F, .min_p = 1}));
    for (const float bad : {-0.1F, infinity, nan})
        CHECK(check(Parameters{.temperature = bad}).error().message.find("temperature") == 0);
    for (const float bad : {-0.1F, 0.0F, 1.01F, nan})
        CHECK(check(Parameters{.top_p = bad}).error().message.find("top_p") == 0);
    for (const float bad : {-0.1F, 1.01F, nan})
        CHECK(check(Parameters{.min_p = bad}).error().message.find("min_p") == 0);
}

TEST_CASE("log_sum_exp() handles large logits") {
    CHECK(log_sum_exp(std::vector<float>{1000, 1000}) == Approx(1000 + std::log(2.0)));
    CHECK(log_sum_exp(std::vector<float>{0, std::log(3.0F)}) == Approx(std::log(4.0)));
    CHECK(std::isinf(log_sum_exp(std::vector<float>{})));
    CHECK(std::isnan(log_sum_exp(std::vector<float>{0, std::nanf("")})));
}

} // namespace
} // namespace etna::sampling
