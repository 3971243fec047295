// Speculative decoding: the settings in effect, and the counts of accepted and rejected drafts.

#include "core/generate/generation.hpp"
#include "core/generate/speculation.hpp"
#include "core/store/embedded.hpp"
#include "core/store/resolve.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <string>

using namespace etna;
using namespace etna::generate;

namespace {

Finished finish(const Model& model, const SpeculationOverrides& overrides,
                const std::string& prediction = {}) {
    Request request = test::raw("Once");
    request.sampling.temperature = 0.0F;
    request.speculation = overrides;
    request.prediction = prediction;
    test::Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.text() == " " + std::string(test::story));
    return events.finished.at(0);
}

text::Tokenizer tokenizer_of(const std::string& name) {
    const auto source = store::resolve(name, "/nonexistent");
    REQUIRE(source.has_value());
    const auto file =
        source->path.empty() ? gguf::File::parse(source->bytes, name) : gguf::File::open(source->path);
    REQUIRE(file.has_value());
    auto tokenizer = text::Tokenizer::create(*file);
    REQUIRE(tokenizer.has_value());
    return std::move(tokenizer).value();
}

} // namespace

TEST_CASE("a draft model drafts unless the request sets tokens_max to 0") {
    const Model model = test::model_that_says_with_draft(test::story, test::story);
    const Finished drafted = finish(model, {});
    CHECK(drafted.accepted_drafts > 4);
    CHECK(drafted.rejected_drafts <= 5); // after the end
    const Finished plain = finish(model, {.tokens_max = 0});
    CHECK(plain.accepted_drafts + plain.rejected_drafts == 0);
    CHECK(finish(model, {.confidence_min = 0.5F}).accepted_drafts > 4);
}

TEST_CASE("a draft model that disagrees does not change the answer") {
    const Model model = test::model_that_says_with_draft(test::story, "nothing of the kind");
    CHECK(finish(model, {}).rejected_drafts > 0);
}

TEST_CASE("a correct prediction saves steps, and a wrong one does not change the answer") {
    const Model model = test::model_that_says(test::story);
    CHECK(finish(model, {}, " " + std::string(test::story)).accepted_drafts > 4);
    CHECK(finish(model, {}, "a long text of quite another kind").accepted_drafts == 0);
    CHECK(finish(model, {}).accepted_drafts == 0);
}

TEST_CASE("only drafts within the answer count as accepted") {
    const std::string longer =
        "there was a dog. The dog was big. The dog was red. The cat was small. The end of it all came late.";
    const Model model = test::model_that_says_with_draft(longer, longer);
    bool has_surplus = false;
    for (const char* stop : {"big", "red", "cat", "small", "end", "came"}) {
        INFO("stop " << stop);
        Request request = test::raw("Once");
        request.sampling.temperature = 0.0F;
        request.speculation.tokens_max = 32;
        request.stop = {stop};
        test::Events events;
        REQUIRE(generate::generate(model, request, events.sink()).has_value());
        const Finished& last = events.finished.at(0);
        CHECK(last.finish_reason == FinishReason::stop);
        CHECK(last.accepted_drafts > 0);
        CHECK(last.accepted_drafts < last.tokens.size()); // the first token comes from prefill
        has_surplus = has_surplus || last.rejected_drafts > 0;
    }
    CHECK(has_surplus); // some correct drafts came after an end
}

TEST_CASE(
    "a prediction longer than the context is truncated, and its encoding is cancelled with the request") {
    const Model model = test::model_that_says(test::story);
    std::string prediction = " " + std::string(test::story);
    while (prediction.size() < 2'000'000)
        prediction += " d\u00e9j\u00e0 vu";
    CHECK(finish(model, {}, prediction).accepted_drafts > 4);

    const Model wide = test::model_that_says(test::story, {}, 1'000'000);
    Request request = test::raw("Once");
    request.prediction = prediction;
    int asked = 0;
    const auto generation = Generation::begin(wide, request, [&] { return ++asked > 2; });
    REQUIRE_FALSE(generation.has_value());
    CHECK(generation.error().kind == ErrorKind::cancelled);
}

TEST_CASE("speculation settings of the request override the model's file, which overrides the options") {
    const SpeculationOverrides option = {.tokens_max = 7, .ngram_max = 2};
    store::GenerationConfig config;
    CHECK(over(recommended_speculation(config), option).tokens_max == 7U);
    config.assistant_confidence_threshold = 0.25;
    const SpeculationOverrides recommended = over(recommended_speculation(config), option);
    CHECK_FALSE(recommended.tokens_max.has_value());
    CHECK(recommended.confidence_min == 0.25F);
    CHECK(recommended.ngram_max == 2U);
    const SpeculationOverrides requested = over({.tokens_max = 3}, recommended);
    CHECK(requested.tokens_max == 3U);
    CHECK_FALSE(requested.confidence_min.has_value());
    config.num_assistant_tokens = 1e9;
    CHECK_FALSE(recommended_speculation(config).tokens_max.has_value());
}

TEST_CASE("the engine gets speculation options only if something can draft") {
    CHECK_FALSE(speculation({}, {}, {}).has_value());
    CHECK_FALSE(speculation({.tokens_max = 0}, {.has_model = true}, {1}).has_value());
    CHECK(speculation({}, {.has_model = true}, {})->tokens_max == usual_draft_tokens);
    CHECK(speculation({.confidence_min = 0.5F}, {.has_model = true}, {})->tokens_max ==
          confident_draft_tokens);
    CHECK(speculation({.ngram_max = 2}, {}, {})->lookup_ngram_max == 2);
    CHECK(speculation({}, {}, {1})->prediction.size() == 1);
    CHECK(speculation({}, {.has_head = true}, {})->uses_head);
    CHECK_FALSE(speculation({.tokens_max = 0}, {.has_head = true}, {}).has_value());
    const auto both = speculation({}, {.has_model = true, .has_head = true}, {});
    CHECK(both->uses_model);
    CHECK_FALSE(both->uses_head);
}

TEST_CASE("a draft model with another vocabulary is refused") {
    const text::Tokenizer demo = tokenizer_of("demo");
    CHECK(check_same_vocabulary(demo, tokenizer_of("demo-draft")).has_value());
    const Status other = check_same_vocabulary(demo, tokenizer_of(ETNA_TEST_DATA "/models/stories260K.gguf"));
    REQUIRE_FALSE(other.has_value());
    CHECK(other.error().message.find("another vocabulary") != std::string::npos);
}
