// The best of several answers: sampled ones, and those of a beam search.

#include "core/generate/generation.hpp"
#include "core/generate/ranking.hpp"
#include "tests/generate/answers.hpp"
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

constexpr const char* story = "there was a dog. The dog was big.";

struct Told {
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

std::vector<Told> tell(const Model& model, const Request& request) {
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    std::vector<Told> all(generation->choices());
    const Status status = generation->finish([&](uint32_t choice, const Event& event) {
        Told& told = all.at(choice);
        CHECK(told.finished.empty());
        if (const auto* delta = std::get_if<TextDelta>(&event))
            told.text += delta->text;
        if (const auto* token = std::get_if<TokenDelta>(&event))
            told.logprobs.push_back(token->chosen.logprob);
        if (const auto* finished = std::get_if<Finished>(&event))
            told.finished.push_back(*finished);
        return SinkResult::proceed;
    });
    REQUIRE(status.has_value());
    return all;
}

Request sampled(uint32_t choices) {
    Request request = test::raw("Once");
    request.sampling.temperature = 100.0F; // the script is very likely
    request.sampling.top_k = 0;
    request.sampling.top_p = 1.0F;
    request.sampling.min_p = 0.0F;
    request.choices = choices;
    request.seed = 7;
    request.max_tokens = 8;
    request.logprobs = 1;
    return request;
}

/// Eight short answers, of which the model's end token may come at once.
Request short_ones() {
    Request request = sampled(8);
    request.sampling.temperature = 8.0F; // what the script says comes about as often as all else together
    return request;
}

KeptAnswer kept(double logprob_sum, std::size_t tokens, std::optional<double> end_logprob = std::nullopt) {
    KeptAnswer answer;
    answer.logprob_sum = logprob_sum;
    answer.tokens = tokens;
    answer.end_logprob = end_logprob;
    return answer;
}

KeptAnswer ended(KeptAnswer answer, FinishReason reason) {
    Finished finished;
    finished.finish_reason = reason;
    answer.events.push_back(finished);
    return answer;
}

} // namespace

TEST_CASE("an answer that was cut is told only where there are too few whole ones") {
    const std::vector<KeptAnswer> answers = {ended(kept(0, 0), FinishReason::cancelled), // never began
                                             ended(kept(-1, 1), FinishReason::cancelled),
                                             ended(kept(-8, 2), FinishReason::length), // -4
                                             ended(kept(-9, 3), FinishReason::stop),   // -3
                                             ended(kept(0, 0), FinishReason::cancelled)};
    CHECK(rank(answers, 5) == std::vector<std::size_t>{3, 2, 1, 0, 4});
    CHECK(rank({kept(0, 0), kept(-50, 1)}, 1) == std::vector<std::size_t>{1}); // nothing drawn is no answer
}

TEST_CASE("the token that ended an answer is ranked with its others, and counted nowhere else") {
    const std::vector<KeptAnswer> answers = {kept(0, 0, -9.0),   // ended at once, which was improbable
                                             kept(-6, 3),        // -2, cut off
                                             kept(-2, 3, -2.0),  // -1
                                             kept(-1, 1, -9.0),  // -5
                                             kept(-4, 2, -2.0),  // -2 as well
                                             kept(0, 0, -0.25)}; // ended at once, as was likely
    CHECK(rank(answers, 6) == std::vector<std::size_t>{5, 2, 1, 4, 3, 0});
    CHECK(tokens_beside(answers, {5, 2}) == 6);
}

TEST_CASE("an empty answer is no best one where its end was improbable") {
    const Model model = test::model_that_says(story);
    Request request = short_ones();
    request.logit_bias = {{model.tokenizer().eos().value(), 60}}; // of which log-probabilities know nothing
    const std::vector<Told> all = tell(model, request);
    const auto is_empty = [](const Told& told) { return told.finished.at(0).tokens.empty(); };
    const auto empty = std::count_if(all.begin(), all.end(), is_empty);
    REQUIRE(empty > 0);
    REQUIRE(empty < 8);
    request.choices = 1;
    request.best_of = 8;
    const Told best = tell(model, request).at(0);
    CHECK_FALSE(is_empty(best));
    CHECK(best.logprobs.size() == best.finished[0].tokens.size()); // the end is not told with them
    std::size_t untold = 0;
    for (const Told& told : all)
        untold += told.finished[0].tokens.size();
    CHECK(best.finished[0].discarded_tokens == untold - best.finished[0].tokens.size());
}

TEST_CASE("an empty answer is the best one where its end was likely") {
    const Model model = test::model_that_says("");
    Request request = short_ones();
    request.seed = 12; // whose first answer is not empty
    const std::vector<Told> all = tell(model, request);
    const auto is_empty = [](const Told& told) { return told.finished.at(0).tokens.empty(); };
    REQUIRE_FALSE(is_empty(all[0])); // it is not simply the first
    REQUIRE(std::count_if(all.begin(), all.end(), is_empty) > 0);
    request.choices = 1;
    request.best_of = 8;
    CHECK(is_empty(tell(model, request).at(0)));
}

TEST_CASE("best_of tells the likeliest of what would have been sampled, the best first") {
    const Model model = test::model_that_says(story);
    std::vector<Told> all = tell(model, sampled(6));
    std::stable_sort(all.begin(), all.end(),
                     [](const Told& a, const Told& b) { return a.mean() > b.mean(); });
    Request request = sampled(2);
    request.best_of = 6;
    const std::vector<Told> best = tell(model, request);
    REQUIRE(best.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(best[i].text == all[i].text);
        CHECK(best[i].logprobs == all[i].logprobs);
        REQUIRE(best[i].finished.size() == 1);
        CHECK(best[i].finished[0].seed == all[i].finished[0].seed);
    }
    CHECK(best[0].mean() > best[1].mean());
    std::size_t untold = 0;
    for (std::size_t i = 2; i < all.size(); ++i)
        untold += all[i].finished[0].tokens.size();
    CHECK(best[0].finished[0].discarded_tokens == untold);
    CHECK(best[1].finished[0].discarded_tokens == 0);
}

TEST_CASE("a sink that has enough of a best answer still hears of its end") {
    const Model model = test::model_that_says(story);
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

TEST_CASE("a beam search tells its best hypotheses, the best first") {
    const Model model = test::model_that_says(story);
    Request request = sampled(3);
    request.beams = engine::BeamOptions{.width = 4};
    const std::vector<Told> best = tell(model, request);
    REQUIRE(best.size() == 3);
    CHECK(best[0].mean() >= best[1].mean());
    CHECK(best[1].mean() >= best[2].mean());
    CHECK(best[0].text != best[1].text);
    for (const Told& one : best) {
        REQUIRE(one.finished.size() == 1);
        CHECK(one.finished[0].tokens.size() == one.logprobs.size());
    }
    Request greedy = sampled(1);
    greedy.sampling.temperature = 0.0F;
    Request single = sampled(1);
    single.beams = engine::BeamOptions{.width = 1};
    CHECK(tell(model, single)[0].text == tell(model, greedy)[0].text);
}

TEST_CASE("a stop string ends a hypothesis, and no text goes past it") {
    const Model model = test::model_that_says(story);
    Request request = sampled(2);
    request.max_tokens = 30;
    request.beams = engine::BeamOptions{.width = 3};
    request.stop = {"dog"};
    const std::vector<Told> best = tell(model, request);
    CHECK(best[0].text == " there was a ");
    CHECK(best[0].finished[0].finish_reason == FinishReason::stop);
    CHECK(best[0].finished[0].matched == "dog");
    for (const Told& one : best)
        CHECK(one.text.find("dog") == std::string::npos);
    // The search itself ended there: the hypothesis has no tokens beyond the stop string.
    const std::string whole = text::decode(model.tokenizer(), best[0].finished[0].tokens);
    CHECK(whole.ends_with("dog"));
}

TEST_CASE("hypotheses are kept to a grammar, each by itself") {
    const Model model = test::model_that_says(story);
    Request request = sampled(3);
    request.max_tokens = 30;
    request.beams = engine::BeamOptions{.width = 3};
    request.grammar =
        grammar::Description{.notation = grammar::Notation::choices, .choices = {"red", "green", "blue"}};
    std::vector<std::string> texts;
    for (const Told& one : tell(model, request)) {
        CHECK(one.finished[0].finish_reason == FinishReason::stop);
        texts.push_back(one.text);
    }
    std::sort(texts.begin(), texts.end());
    for (const std::string& text : texts)
        CHECK((text == "red" || text == "green" || text == "blue"));
}

TEST_CASE("who does not wait for a search to end gets the best it has by then") {
    const Model model = test::model_that_says(story, {}, 60'000);
    Request request = sampled(2);
    request.max_tokens = 50'000;
    request.end_tokens = EndTokens::go_on;
    request.beams = engine::BeamOptions{.width = 3};
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    const auto when_it_has_begun = [&] {
        while (!generation->has_begun())
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // some tokens
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
                    when_it_has_begun)
                .has_value());
    REQUIRE(ends.size() == 2);
    for (const Finished& one : ends) {
        CHECK(one.finish_reason == FinishReason::cancelled);
        CHECK_FALSE(one.tokens.empty());
    }
}

TEST_CASE("what cannot be chosen from is refused") {
    const Model model = test::model_that_says(story);
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
