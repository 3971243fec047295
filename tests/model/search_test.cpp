// Beam search and drafts on the device: scores equal the twin's, and drafts change no answer.

#include "core/engine/prompt_lookup.hpp"
#include "core/engine/scheduler.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr uint32_t search_vocabulary = 300;

Bytes search_model(RandomArchitecture architecture) {
    return random_model(
        {.architecture = architecture, .vocabulary = search_vocabulary, .tokenizer = RandomTokenizer::none});
}

using Answers = std::map<uint32_t, std::vector<engine::TokenEvent>>;

/// The drafts of one request that were accepted, and those that were rejected.
struct DraftCounts {
    uint32_t accepted = 0;
    uint32_t rejected = 0;
};

/// Runs a request alone. `drafts`: receives the counts; may be null.
Answers run(engine::Executor& executor, engine::Request request, DraftCounts* drafts = nullptr) {
    engine::Scheduler scheduler(executor.limits(), {.hash_key = {1, 2}});
    REQUIRE(check(request, executor.limits()).has_value());
    engine::make_draft_texts({&request, 1}, executor.limits().context_tokens);
    scheduler.add(1, std::move(request), engine::Clock::now());
    Answers answers;
    engine::Updates updates;
    while (!scheduler.is_idle()) {
        scheduler.draft();
        const engine::Batch& batch = scheduler.schedule(updates, engine::Clock::now());
        REQUIRE_FALSE(batch.rows.empty());
        REQUIRE(
            scheduler.process_outputs(run_batch(executor, batch), updates, engine::Clock::now()).has_value());
        for (engine::Update& update : updates) {
            if (auto* token = std::get_if<engine::TokenEvent>(&update.event))
                answers[update.answer].push_back(std::move(*token));
            const auto* finished = std::get_if<engine::Finished>(&update.event);
            if (finished != nullptr && drafts != nullptr)
                *drafts = {.accepted = finished->accepted_drafts, .rejected = finished->rejected_drafts};
        }
        updates.clear();
    }
    return answers;
}

double log_probability(const reference::Vector& logits, TokenId token) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp(logit - largest);
    return logits[token] - largest - std::log(sum);
}

/// Score of the tokens after the first `prompt`.
double score(const reference::ReferenceModel& twin, const std::vector<TokenId>& tokens, std::size_t prompt) {
    const auto logits = twin.run(tokens);
    double sum = 0;
    for (std::size_t i = prompt; i < tokens.size(); ++i)
        sum += log_probability(logits[i - 1], tokens[i]);
    return sum;
}

/// The best score of a plain search over the full vocabulary.
double best_score(const reference::ReferenceModel& twin, const std::vector<TokenId>& prompt, uint32_t width,
                  uint32_t length) {
    std::vector<std::pair<double, std::vector<TokenId>>> live = {{0, prompt}};
    for (uint32_t i = 0; i < length; ++i) {
        std::vector<std::pair<double, std::vector<TokenId>>> all;
        for (const auto& [sum, tokens] : live) {
            const reference::Vector logits = twin.run(tokens).back();
            for (TokenId token = 0; token < search_vocabulary; ++token) {
                auto next = tokens;
                next.push_back(token);
                all.emplace_back(sum + log_probability(logits, token), std::move(next));
            }
        }
        std::partial_sort(all.begin(), all.begin() + width, all.end(),
                          [](const auto& a, const auto& b) { return a.first > b.first; });
        all.resize(width);
        live = std::move(all);
    }
    return live.front().first;
}

} // namespace

TEST_CASE("hypotheses have the same score on the device as on the CPU", "[device]") {
    constexpr uint32_t length = 5;
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(search_model(architecture), {});
        engine::Request request = {.prompt = random_tokens(40, search_vocabulary, 3), .max_tokens = length};
        request.beams = engine::BeamOptions{.width = 3, .answers = 3};
        const Answers answers = run(tested.executor(), request);
        REQUIRE(answers.size() == 3);
        double best = -INFINITY;
        for (const auto& [answer, events] : answers) {
            std::vector<TokenId> tokens = request.prompt;
            double total = 0;
            for (const engine::TokenEvent& event : events) {
                tokens.push_back(event.token);
                total += double{event.logit} - double{event.log_sum_exp};
            }
            CHECK(total / length ==
                  Approx(score(tested.twin(), tokens, request.prompt.size()) / length).margin(2e-2));
            best = std::max(best, total / length);
        }
        CHECK(best == Approx(best_score(tested.twin(), request.prompt, 3, length) / length).margin(2e-2));
    }
}

TEST_CASE("rows after drafts equal those of plain decoding, to the bit", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(search_model(architecture), {});
        for (const float temperature : {0.0F, 1.3F}) {
            engine::Request request = {.prompt = random_tokens(35, search_vocabulary, 8), .max_tokens = 40};
            request.sampling = {.temperature = temperature, .top_k = 40, .top_p = 1, .min_p = 0, .seed = 9};
            const auto plain = run(tested.executor(), request).at(0);
            // A prediction that is right at first, then wrong, then right again.
            request.speculation = engine::Speculation{.tokens_max = 6};
            for (std::size_t i = 0; i < plain.size(); ++i)
                request.speculation->prediction.push_back(i % 13 == 7 ? 0 : plain[i].token);
            DraftCounts drafts;
            const auto drafted = run(tested.executor(), request, &drafts).at(0);
            CHECK(drafts.accepted > 0);
            CHECK(drafts.rejected > 0);
            REQUIRE(drafted.size() == plain.size());
            for (std::size_t i = 0; i < plain.size(); ++i) {
                CHECK(drafted[i].token == plain[i].token);
                CHECK(drafted[i].logit == plain[i].logit);
                CHECK(drafted[i].log_sum_exp == plain[i].log_sum_exp);
            }
        }
    }
}
