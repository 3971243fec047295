#include "tests/sampling/random_case.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::test {
namespace {

/// Returns `neutral` with probability 1/2, otherwise one of a few multiples of 1/4.
float strength(std::mt19937& generator, float neutral, float min, uint32_t steps) {
    return generator() % 2 == 0 ? neutral : min + 0.25F * static_cast<float>(generator() % steps);
}

uint32_t window(std::mt19937& generator) {
    return generator() % 3 == 0 ? sampling::full_history : static_cast<uint32_t>(generator() % 12);
}

void add_penalties(std::mt19937& generator, sampling::Parameters& parameters) {
    parameters.repetition_penalty = strength(generator, 1, 0.5F, 8);
    parameters.presence_penalty = strength(generator, 0, -1, 12);
    parameters.frequency_penalty = strength(generator, 0, -1, 12);
    parameters.dry_multiplier = strength(generator, 0, 0.25F, 8);
    parameters.dry_base = strength(generator, 1.75F, 1, 6);
    parameters.dry_allowed_length = 1 + generator() % 4;
    parameters.repetition_window_tokens = window(generator);
    parameters.presence_window_tokens = window(generator);
    parameters.frequency_window_tokens = window(generator);
    parameters.dry_window_tokens = window(generator);
}

void add_filters(std::mt19937& generator, sampling::Parameters& parameters) {
    const auto fraction = [&] { return static_cast<float>(1 + generator() % 99) / 100; };
    parameters.temperature = static_cast<float>(generator() % 4) * 0.5F;
    parameters.top_k = generator() % 2 == 0 ? 0 : generator() % 20;
    parameters.top_p = generator() % 2 == 0 ? 1 : fraction();
    parameters.min_p = generator() % 2 == 0 ? 0 : fraction() / 2;
    parameters.typical_p = generator() % 2 == 0 ? 1 : fraction();
    parameters.top_n_sigma = generator() % 2 == 0 ? 0 : 3 * fraction();
    parameters.xtc_probability = generator() % 2 == 0 ? 0 : fraction();
    parameters.xtc_threshold = fraction() / 2;
    parameters.min_keep = generator() % 2 == 0 ? 0 : generator() % 6;
    parameters.seed = generator();
}

} // namespace

std::vector<float> random_logits(std::mt19937& generator, std::size_t count_max) {
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> logits(1 + generator() % count_max);
    const bool has_ties = generator() % 3 == 0;
    for (float& logit : logits)
        logit = has_ties ? std::round(normal(generator)) : normal(generator);
    if (generator() % 4 == 0) {
        for (std::size_t i = 1; i < logits.size(); i += 1 + generator() % 3)
            logits[i] = -std::numeric_limits<float>::infinity();
    }
    return logits;
}

std::vector<TokenId> random_tokens(std::mt19937& generator, std::size_t length, uint32_t vocabulary) {
    const auto different = static_cast<uint32_t>(1 + generator() % vocabulary);
    std::vector<TokenId> tokens(length);
    for (TokenId& token : tokens)
        token = generator() % different;
    return tokens;
}

SamplingCase random_case(std::mt19937& generator) {
    SamplingCase one;
    one.logits = random_logits(generator, 40);
    const auto vocabulary = static_cast<uint32_t>(one.logits.size());
    add_filters(generator, one.parameters);
    add_penalties(generator, one.parameters);
    one.past.prompt = random_tokens(generator, generator() % 20, vocabulary);
    one.past.output = random_tokens(generator, generator() % 20, vocabulary);
    for (uint32_t i = 0; i < generator() % 4; ++i) {
        one.past.biases.push_back({static_cast<TokenId>(generator() % vocabulary),
                                   static_cast<float>(generator() % 16) * 0.25F - 2});
    }
    for (uint32_t i = 0; i < generator() % 3; ++i)
        one.past.breakers.push_back(random_tokens(generator, 1 + generator() % 3, vocabulary));
    one.position = generator() % 1000;
    return one;
}

std::string SamplingCase::describe() const {
    const sampling::Parameters& p = parameters;
    std::string biases;
    for (const sampling::LogitBias& bias : past.biases)
        biases += fmt::format(" {}={}", bias.token, bias.bias);
    return fmt::format(
        "temperature {}, top_k {}, top_p {}, min_p {}, typical_p {}, top_n_sigma {}, xtc {} at {}, min_keep "
        "{}, seed {}, position {}\nrepetition {} over {}, presence {} over {}, frequency {} over {}, dry {} "
        "x "
        "{} from {} over {}\nbiases{}\nbreakers {}\nprompt {}\noutput {}\nlogits {}",
        p.temperature, p.top_k, p.top_p, p.min_p, p.typical_p, p.top_n_sigma, p.xtc_probability,
        p.xtc_threshold, p.min_keep, p.seed, position, p.repetition_penalty, p.repetition_window_tokens,
        p.presence_penalty, p.presence_window_tokens, p.frequency_penalty, p.frequency_window_tokens,
        p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_window_tokens, biases, past.breakers,
        past.prompt, past.output, logits);
}

sampling::Context context_of(const reference::Past& past, std::vector<TokenId>& tokens,
                             const sampling::SequenceBreakers& breakers) {
    tokens = past.prompt;
    tokens.insert(tokens.end(), past.output.begin(), past.output.end());
    return {.history = {.tokens = tokens, .prompt_tokens = past.prompt.size()},
            .logit_bias = past.biases,
            .dry_breakers = &breakers};
}

} // namespace etna::test
