// The best of several answers: sampled ones, and those of a beam search.

#include "core/generate/generation.hpp"
#include "tests/generate/answers.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
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
        return Flow::go_on;
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

} // namespace

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
    CHECK(best[0].finished[0].untold_tokens == untold);
    CHECK(best[1].finished[0].untold_tokens == 0);
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
        return Flow::stop;
    }));
    CHECK(others == 1);
    CHECK(ends == 1);
}

TEST_CASE("a beam search tells its best hypotheses, the best first") {
    const Model model = test::model_that_says(story);
    Request request = sampled(3);
    request.beams = engine::Beams{.width = 4};
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
    single.beams = engine::Beams{.width = 1};
    CHECK(tell(model, single)[0].text == tell(model, greedy)[0].text);
}

TEST_CASE("a stop string ends a hypothesis, and no text goes past it") {
    const Model model = test::model_that_says(story);
    Request request = sampled(2);
    request.max_tokens = 30;
    request.beams = engine::Beams{.width = 3};
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
    request.beams = engine::Beams{.width = 3};
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

TEST_CASE("what cannot be chosen from is refused") {
    const Model model = test::model_that_says(story);
    Request request = sampled(3);
    request.best_of = 2;
    CHECK_FALSE(Generation::begin(model, request).has_value());
    request.best_of = 4;
    request.beams = engine::Beams{.width = 4};
    CHECK_FALSE(Generation::begin(model, request).has_value());
    request.best_of.reset();
    request.beams->groups = 3;
    CHECK_FALSE(Generation::begin(model, request).has_value());
}
