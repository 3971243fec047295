// Several choices: the best of sampled answers, and beam search.

#include "core/generate/best_of.hpp"
#include "core/generate/generation.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::generate;

namespace {

struct ChoiceResult {
    std::string text;
    std::vector<double> logprobs;
    std::vector<Finished> finished;

    [[nodiscard]] double mean() const {
        double sum = 0;
        for (const double one : logprobs)
            sum += one;
        return sum / static_cast<double>(logprobs.size());
    }
};

std::vector<ChoiceResult> run(const Model& model, const Request& request) {
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    std::vector<ChoiceResult> all(generation->choices());
    const Status status = generation->finish([&](uint32_t choice, const Event& event) {
        ChoiceResult& result = all.at(choice);
        CHECK(result.finished.empty());
        if (const auto* delta = std::get_if<TextDelta>(&event))
            result.text += delta->text;
        if (const auto* token = std::get_if<TokenDelta>(&event))
            result.logprobs.push_back(token->chosen.logprob);
        if (const auto* finished = std::get_if<Finished>(&event))
            result.finished.push_back(*finished);
        return SinkResult::proceed;
    });
    REQUIRE(status.has_value());
    return all;
}

Request sampled(uint32_t choices) {
    Request request = test::raw("Once");
    request.sampling.temperature = 100.0F; // the scripted token is very likely
    request.sampling.top_k = 0;
    request.sampling.top_p = 1.0F;
    request.sampling.min_p = 0.0F;
    request.choices = choices;
    request.seed = 7;
    request.max_tokens = 8;
    request.logprobs = 1;
    return request;
}

/// Eight short answers, some of which may be empty.
Request short_answers() {
    Request request = sampled(8);
    request.sampling.temperature = 8.0F; // the scripted token is about as likely as all others together
    return request;
}

BufferedAnswer buffered(double logprob_sum, std::size_t tokens,
                        std::optional<double> end_logprob = std::nullopt) {
    BufferedAnswer answer;
    answer.logprob_sum = logprob_sum;
    answer.tokens = tokens;
    answer.end_logprob = end_logprob;
    return answer;
}

BufferedAnswer ended(BufferedAnswer answer, FinishReason reason) {
    Finished finished;
    finished.finish_reason = reason;
    answer.events.push_back(finished);
    return answer;
}

} // namespace

TEST_CASE("a cancelled answer ranks after all others") {
    const std::vector<BufferedAnswer> answers = {ended(buffered(0, 0), FinishReason::cancelled), // empty
                                                 ended(buffered(-1, 1), FinishReason::cancelled),
                                                 ended(buffered(-8, 2), FinishReason::length), // -4
                                                 ended(buffered(-9, 3), FinishReason::stop),   // -3
                                                 ended(buffered(0, 0), FinishReason::cancelled)};
    CHECK(rank(answers, 5) == std::vector<std::size_t>{3, 2, 1, 0, 4});
    CHECK(rank({buffered(0, 0), buffered(-50, 1)}, 1) ==
          std::vector<std::size_t>{1}); // an answer without samples ranks last
}

TEST_CASE("the end token counts in the ranking, but not as a discarded token") {
    const std::vector<BufferedAnswer> answers = {buffered(0, 0, -9.0),   // empty, unlikely end
                                                 buffered(-6, 3),        // -2, cut off
                                                 buffered(-2, 3, -2.0),  // -1
                                                 buffered(-1, 1, -9.0),  // -5
                                                 buffered(-4, 2, -2.0),  // -2 as well
                                                 buffered(0, 0, -0.25)}; // empty, likely end
    CHECK(rank(answers, 6) == std::vector<std::size_t>{5, 2, 1, 4, 3, 0});
    CHECK(discarded_tokens(answers, {5, 2}) == 6);
}

TEST_CASE("an empty answer with an unlikely end token is not the best one") {
    const Model model = test::model_that_says(test::story);
    Request request = short_answers();
    request.logit_bias = {{model.file().tokenizer.eos().value(), 60}}; // not part of the log-probabilities
    const std::vector<ChoiceResult> all = run(model, request);
    const auto is_empty = [](const ChoiceResult& result) { return result.finished.at(0).tokens.empty(); };
    const auto empty = std::count_if(all.begin(), all.end(), is_empty);
    REQUIRE(empty > 0);
    REQUIRE(empty < 8);
    request.choices = 1;
    request.best_of = 8;
    const ChoiceResult best = run(model, request).at(0);
    CHECK_FALSE(is_empty(best));
    CHECK(best.logprobs.size() == best.finished[0].tokens.size()); // without the end token
    std::size_t discarded = 0;
    for (const ChoiceResult& result : all)
        discarded += result.finished[0].tokens.size();
    CHECK(best.finished[0].discarded_tokens == discarded - best.finished[0].tokens.size());
}

TEST_CASE("an empty answer with a likely end token is the best one") {
    const Model model = test::model_that_says("");
    Request request = short_answers();
    request.seed = 12; // the first answer is not empty
    const std::vector<ChoiceResult> all = run(model, request);
    const auto is_empty = [](const ChoiceResult& result) { return result.finished.at(0).tokens.empty(); };
    REQUIRE_FALSE(is_empty(all[0])); // the best is not just the first
    REQUIRE(std::count_if(all.begin(), all.end(), is_empty) > 0);
    request.choices = 1;
    request.best_of = 8;
    CHECK(is_empty(run(model, request).at(0)));
}

TEST_CASE("best_of delivers the most likely of the sampled answers, best first") {
    const Model model = test::model_that_says(test::story);
    std::vector<ChoiceResult> all = run(model, sampled(6));
    std::stable_sort(all.begin(), all.end(),
                     [](const ChoiceResult& a, const ChoiceResult& b) { return a.mean() > b.mean(); });
    Request request = sampled(2);
    request.best_of = 6;
    const std::vector<ChoiceResult> best = run(model, request);
    REQUIRE(best.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(best[i].text == all[i].text);
        CHECK(best[i].logprobs == all[i].logprobs);
        REQUIRE(best[i].finished.size() == 1);
        CHECK(best[i].finished[0].seed == all[i].finished[0].seed);
    }
    CHECK(best[0].mean() > best[1].mean());
    std::size_t discarded = 0;
    for (std::size_t i = 2; i < all.size(); ++i)
        discarded += all[i].finished[0].tokens.size();
    CHECK(best[0].finished[0].discarded_tokens == discarded);
    CHECK(best[1].finished[0].discarded_tokens == 0);
}

TEST_CASE("a sink that stops a best answer still gets its Finished") {
    const Model model = test::model_that_says(test::story);
    Request request = sampled(1);
    request.best_of = 3;
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    int others = 0;
    int ends = 0;
    REQUIRE(generation->finish([&](uint32_t, const Event& event) {
        ++(std::holds_alternative<Finished>(event) ? ends : others);
        return SinkResult::stop;
    }));
    CHECK(others == 1);
    CHECK(ends == 1);
}

TEST_CASE("a beam search delivers its best hypotheses, best first") {
    const Model model = test::model_that_says(test::story);
    Request request = sampled(3);
    request.beams = engine::BeamOptions{.width = 4};
    const std::vector<ChoiceResult> best = run(model, request);
    REQUIRE(best.size() == 3);
    CHECK(best[0].mean() >= best[1].mean());
    CHECK(best[1].mean() >= best[2].mean());
    CHECK(best[0].text != best[1].text);
    for (const ChoiceResult& one : best) {
        REQUIRE(one.finished.size() == 1);
        CHECK(one.finished[0].tokens.size() == one.logprobs.size());
    }
    Request greedy = sampled(1);
    greedy.sampling.temperature = 0.0F;
    Request single = sampled(1);
    single.beams = engine::BeamOptions{.width = 1};
    CHECK(run(model, single)[0].text == run(model, greedy)[0].text);
}

TEST_CASE("a stop string ends a hypothesis, and no text follows it") {
    const Model model = test::model_that_says(test::story);
    Request request = sampled(2);
    request.max_tokens = 30;
    request.beams = engine::BeamOptions{.width = 3};
    request.stop = {"dog"};
    const std::vector<ChoiceResult> best = run(model, request);
    CHECK(best[0].text == " there was a ");
    CHECK(best[0].finished[0].finish_reason == FinishReason::stop);
    CHECK(best[0].finished[0].matched == "dog");
    for (const ChoiceResult& one : best)
        CHECK(one.text.find("dog") == std::string::npos);
    // The search ended the hypothesis there: it has no tokens after the stop string.
    const std::string text = text::decode(model.file().tokenizer, best[0].finished[0].tokens);
    CHECK(text.ends_with("dog"));
}

TEST_CASE("a grammar constrains each hypothesis separately") {
    const Model model = test::model_that_says(test::story);
    Request request = sampled(3);
    request.max_tokens = 30;
    request.beams = engine::BeamOptions{.width = 3};
    request.grammar =
        grammar::Description{.notation = grammar::Notation::choices, .choices = {"red", "green", "blue"}};
    std::vector<std::string> texts;
    for (const ChoiceResult& one : run(model, request)) {
        CHECK(one.finished[0].finish_reason == FinishReason::stop);
        texts.push_back(one.text);
    }
    std::sort(texts.begin(), texts.end());
    for (const std::string& text : texts)
        CHECK((text == "red" || text == "green" || text == "blue"));
}

TEST_CASE("a cancelled beam search delivers its best hypotheses so far") {
    const Model model = test::model_that_says(test::story, {}, 60'000);
    Request request = sampled(2);
    request.max_tokens = 50'000;
    request.end_tokens = EndTokens::ignore;
    request.beams = engine::BeamOptions{.width = 3};
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    const auto once_started = [&] {
        while (!generation->has_begun())
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // a few tokens
        return true;
    };
    std::vector<Finished> ends;
    REQUIRE(generation
                ->finish(
                    [&](uint32_t, const Event& event) {
                        if (const auto* finished = std::get_if<Finished>(&event))
                            ends.push_back(*finished);
                        return SinkResult::proceed;
                    },
                    once_started)
                .has_value());
    REQUIRE(ends.size() == 2);
    for (const Finished& one : ends) {
        CHECK(one.finish_reason == FinishReason::cancelled);
        CHECK_FALSE(one.tokens.empty());
    }
}

TEST_CASE("best_of below choices, with beams, or beam groups that do not divide the width are refused") {
    const Model model = test::model_that_says(test::story);
    Request request = sampled(3);
    request.best_of = 2;
    CHECK_FALSE(Generation::begin(model, request).has_value());
    request.best_of = 4;
    request.beams = engine::BeamOptions{.width = 4};
    CHECK_FALSE(Generation::begin(model, request).has_value());
    request.best_of.reset();
    request.beams->groups = 3;
    CHECK_FALSE(Generation::begin(model, request).has_value());
}
