// Log-probabilities, biases and penalties of one request, on the fake executor.

#include "core/text/tokenizer.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::generate;
using test::Events;
using test::model_that_says;
using test::raw;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<TokenId> tokens_of(const Model& model, const Request& request) {
    Events events;
    const Status status = generate::generate(model, request, events.sink());
    REQUIRE(status.has_value());
    return events.finished.at(0).tokens;
}

} // namespace

TEST_CASE("every token has log-probabilities if they are requested") {
    const Model model = model_that_says("a little girl");
    Events silent;
    REQUIRE(generate::generate(model, raw("x"), silent.sink()).has_value());
    CHECK(silent.tokens.empty());

    for (const uint32_t count : {0U, 3U, logprobs_max}) {
        for (const float penalty : {1.0F, 1.2F}) { // sampled on the device, and on the host
            Events events;
            Request request = raw("x");
            request.logprobs = count;
            request.sampling.repetition_penalty = penalty;
            REQUIRE(generate::generate(model, request, events.sink()).has_value());
            REQUIRE(events.tokens.size() == events.finished.at(0).tokens.size());
            std::string bytes;
            for (std::size_t i = 0; i < events.tokens.size(); ++i) {
                const TokenDelta& token = events.tokens[i];
                CHECK(token.chosen.token == events.finished[0].tokens[i]);
                CHECK(token.chosen.logprob <= 0);
                CHECK(token.chosen.logprob > -1e-6); // a logit of 60 where others are below 8
                REQUIRE(token.top.size() == count);
                for (std::size_t k = 0; k < count; ++k) {
                    CHECK(token.top[k].bytes == model.file().tokenizer.bytes(token.top[k].token));
                    CHECK((k == 0 ? token.top[0].token == token.chosen.token
                                  : token.top[k].logprob <= token.top[k - 1].logprob));
                    CHECK((k == 0 || (token.top[k].logprob < -52 && token.top[k].logprob >= -68)));
                }
                bytes += token.chosen.bytes;
            }
            CHECK(bytes == events.text());
        }
    }
}

TEST_CASE("logprobs above the maximum is refused") {
    const Model model = model_that_says("x");
    Request request = raw("x");
    request.logprobs = logprobs_max + 1;
    Events events;
    const Error error = generate::generate(model, request, events.sink()).error();
    CHECK(error.kind == ErrorKind::invalid_argument);
    CHECK(error.message.find("logprobs is 21; the maximum is 20") == 0);
    CHECK(events.finished.empty());
}

TEST_CASE("a sink that stops at a token gets no text for it") {
    const Model model = model_that_says("a little girl and her dog");
    Events events;
    events.stop_after = 2;
    Request request = raw("x");
    request.logprobs = 0;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.tokens.size() == 2);
    CHECK(events.deltas.size() == 1);
    CHECK(events.finished.at(0).finish_reason == FinishReason::cancelled);
}

TEST_CASE("a bias changes the answer, and one that bans every token is an error with a hint") {
    const Model model = model_that_says("dog");
    Request request = raw("x");
    request.sampling.temperature = 0;
    request.max_tokens = 3;
    const TokenId first = tokens_of(model, request).at(0);
    request.logit_bias = {{first, -infinity}};
    CHECK(tokens_of(model, request).at(0) != first);
    request.logit_bias = {{7, 100}};
    CHECK(tokens_of(model, request) == std::vector<TokenId>{7, 7, 7});

    for (TokenId token = 0; token < model.file().tokenizer.size(); ++token)
        request.logit_bias.push_back({token, -infinity});
    Events events;
    const Error error = generate::generate(model, request, events.sink()).error();
    CHECK(error.message == "logit_bias bans every token that is possible here");
    CHECK(!error.hint.empty());
    CHECK(events.finished.empty());
    request.logit_bias = {{model.file().tokenizer.size(), 1}};
    CHECK(!generate::generate(model, request, events.sink()).has_value());
    request.logit_bias.clear();
    CHECK(tokens_of(model, request).at(0) == first); // the model still works
}

TEST_CASE("DRY ends a loop unless the loop contains a breaker") {
    const Model model = model_that_says("dog dog dog dog dog dog dog dog");
    Request request = raw("x");
    request.sampling.temperature = 0;
    request.max_tokens = 16;
    const std::vector<TokenId> loop = tokens_of(model, request);
    request.sampling.dry_multiplier = 100;
    CHECK(tokens_of(model, request) != loop);
    request.dry_breakers = {"dog"};
    request.sampling.dry_allowed_length = 4;
    CHECK(tokens_of(model, request) == loop);
    request.dry_breakers = {""};
    Events events;
    CHECK(!generate::generate(model, request, events.sink()).has_value());
    request.sampling.dry_multiplier = 0; // breakers are ignored while DRY is off
    CHECK(tokens_of(model, request) == loop);
}
