#include "core/engine/segments.hpp"
#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace etna::test {
namespace {

using engine::AttentionSpan;
using engine::EmbeddingSegment;
using engine::FinishReason;
using engine::HiddenRows;
using engine::no_token;

std::shared_ptr<const std::vector<float>> values(uint32_t count, float first) {
    auto all = std::make_shared<std::vector<float>>(std::size_t{count} * fake_limits().width);
    for (std::size_t i = 0; i < all->size(); ++i)
        (*all)[i] = first + static_cast<float>(i);
    return all;
}

/// A prompt of `before` tokens, an image of `count` embeddings, and `after` tokens.
engine::Request with_image(uint32_t before, uint32_t count, uint32_t after, uint64_t image = 1,
                           AttentionSpan attention = AttentionSpan::causal) {
    engine::Request request{.sampling = {.temperature = 0}, .max_tokens = 4};
    for (uint32_t i = 0; i < before + count + after; ++i)
        request.prompt.push_back(i >= before && i < before + count ? no_token : i * 5 % 60);
    request.embeddings.push_back({.position = before,
                                  .count = count,
                                  .embeddings = values(count, static_cast<float>(image)),
                                  .hash = {image, 1},
                                  .attention = attention});
    return request;
}

std::string refusal(const engine::Request& request, const engine::Limits& limits = fake_limits()) {
    const Status status = check(request, limits);
    return status ? "" : status.error().message;
}

TEST_CASE("an image among tokens is computed in chunks, and gives the answer that it gives alone") {
    Driver driver({});
    const engine::Request request = with_image(13, 37, 9);
    const auto id = driver.add(request);
    const auto other = driver.add({.prompt = {1, 2, 3}, .sampling = {.temperature = 0}, .max_tokens = 20});
    driver.run();
    CHECK(driver.received(id).ids() == simulate({}, request).tokens);
    CHECK(driver.received(other).tokens.size() == 20);
    CHECK(simulate({}, request).tokens != simulate({}, with_image(13, 37, 9, 2)).tokens);
}

TEST_CASE("rows of an image that attend to each other share a step with each other and other sequences") {
    for (const uint32_t budget : {16U, 2U}) {
        FakeOptions options;
        uint32_t steps_with_image = 0;
        options.on_submit = [&](const engine::Batch& batch) {
            steps_with_image += batch.embeddings.empty() ? 0 : 1;
            for (const engine::Row& row : batch.rows) {
                const bool is_image = row.input == engine::RowInput::embedding;
                CHECK(row.attend_end == (is_image ? 18U : row.position + 1));
            }
        };
        Driver driver(options);
        driver.set_prefill_rows_max(budget);
        for (TokenId i = 0; i < 3; ++i)
            driver.add({.prompt = {i}, .sampling = {.temperature = 0}, .max_tokens = 30});
        driver.start_step();
        const engine::Request request = with_image(5, 13, 20, 1, AttentionSpan::segment);
        const auto id = driver.add(request);
        driver.run();
        CHECK(steps_with_image == 1);
        CHECK(driver.received(id).ids() == simulate(options, request).tokens);
    }
}

TEST_CASE("an image is found in the cache by its content hash") {
    Driver driver({});
    const auto cached = [&](const engine::Request& request) {
        const auto id = driver.add(request);
        driver.run();
        CHECK(driver.received(id).ids() == simulate({}, request).tokens);
        return driver.received(id).finished->cached_tokens;
    };
    CHECK(cached(with_image(6, 8, 6)) == 0);
    CHECK(cached(with_image(6, 8, 8)) == 20);
    CHECK(cached(with_image(6, 8, 6, 2)) == 6); // another image
    CHECK(cached(with_image(6, 10, 6)) == 6);   // other embeddings of an image
    CHECK(cached(with_image(6, 8, 6, 1, AttentionSpan::segment)) == 6);
    engine::Request shifted = with_image(6, 8, 6);
    for (uint32_t i = 0; i < 20; ++i)
        shifted.rope_positions.push_back({i, i, i < 10 ? i : 10, i});
    CHECK(cached(shifted) == 11);
}

TEST_CASE("rows have the rotary positions of the request, and continue after the largest") {
    FakeOptions options;
    std::vector<engine::RopePosition> seen;
    options.on_submit = [&](const engine::Batch& batch) {
        for (const engine::Row& row : batch.rows)
            seen.push_back(row.rope_position);
    };
    engine::Request request = with_image(1, 4, 1);
    request.rope_positions = {{0, 0, 0, 0}, {1, 1, 1, 0}, {1, 1, 2, 0},
                              {1, 2, 1, 0}, {1, 2, 2, 0}, {3, 3, 3, 3}};
    Driver driver(options);
    driver.add(request);
    driver.run();
    std::vector<engine::RopePosition> expected = request.rope_positions;
    for (uint32_t i = 4; i < 7; ++i)
        expected.push_back({i, i, i, i});
    CHECK(seen == expected);
}

TEST_CASE("penalties and drafts ignore embeddings") {
    engine::Request request = with_image(4, 6, 4);
    request.sampling.repetition_penalty = 1.5F;
    request.speculation = engine::Speculation{.tokens_max = 3, .lookup_ngram_max = 3, .uses_model = true};
    request.max_tokens = 30;
    Driver driver({}, FakeOptions{});
    const auto id = driver.add(request);
    driver.run();
    CHECK(driver.received(id).ids() == simulate({}, request).tokens);
}

TEST_CASE("hidden states of a prompt are returned, without an answer") {
    for (const HiddenRows rows : {HiddenRows::first, HiddenRows::last, HiddenRows::mean, HiddenRows::all}) {
        for (const AttentionSpan attention : {AttentionSpan::causal, AttentionSpan::segment}) {
            FakeOptions options;
            options.limits.output_rows_max = 8;
            Driver driver(options);
            engine::Request request = with_image(2, 1, 1);
            request.hidden = rows;
            request.attention = attention;
            if (attention == AttentionSpan::causal) // several steps
                request.prompt.insert(request.prompt.end(), 30, 7);
            const auto id = driver.add(request);
            driver.run();
            const engine::Finished& finished = *driver.received(id).finished;
            CHECK(finished.reason == FinishReason::stop);
            CHECK(finished.hidden == hidden_states(options, request));
            CHECK(finished.completion_tokens == 0);
            CHECK(driver.received(id).tokens.empty());
        }
    }
}

TEST_CASE("an answer after an image is found with its rotary positions, and only with them") {
    Driver driver({});
    engine::Request turn = with_image(1, 6, 1);
    for (uint32_t i = 0; i < 8; ++i)
        turn.rope_positions.push_back(i < 7 ? engine::RopePosition{1, i, i, 0}
                                            : engine::RopePosition{7, 7, 7, 7});
    turn.rope_positions.back() = {2, 2, 2, 2}; // the answer continues at 7, because of row 6 of the image
    turn.max_tokens = 12;
    const auto first = driver.add(turn);
    driver.run();
    turn.kinds.assign(turn.prompt.size(), engine::RowKind::prefill);
    for (const TokenId token : driver.received(first).ids()) {
        const auto rope = static_cast<uint32_t>(turn.prompt.size()) - 1;
        turn.prompt.push_back(token);
        turn.kinds.push_back(engine::RowKind::decode);
        turn.rope_positions.push_back({rope, rope, rope, rope});
    }
    turn.prompt.push_back(5);
    turn.kinds.push_back(engine::RowKind::prefill);
    turn.rope_positions.push_back({19, 19, 19, 19});
    engine::Request other = turn;
    for (uint32_t i = 8; i < other.prompt.size(); ++i)
        other.rope_positions[i].fill(i);
    const auto shifted = driver.add(other);
    driver.run();
    CHECK(driver.received(shifted).finished->cached_tokens == 8);
    const auto second = driver.add(turn);
    driver.run();
    CHECK(driver.received(second).finished->cached_tokens == 8 + 11); // the last token was never an input
}

TEST_CASE("a prompt whose rows attend to each other shares no prefix with another") {
    Driver driver({});
    const auto cached = [&](std::vector<TokenId> prompt) {
        const auto id = driver.add(
            {.prompt = std::move(prompt), .hidden = HiddenRows::last, .attention = AttentionSpan::segment});
        driver.run();
        return driver.received(id).finished->cached_tokens;
    };
    CHECK(cached({1, 2, 3, 4, 5, 6, 7, 8, 9}) == 0);
    CHECK(cached({1, 2, 3, 4, 5, 6, 7, 8, 10}) == 0);
    CHECK(cached({1, 2, 3, 4, 5, 6, 7, 8, 9}) == 8);
    CHECK(cached({1, 2, 3, 4}) == 0);
    for (const std::vector<TokenId>& prompt :
         {std::vector<TokenId>{1, 2, 3, 4, 9}, {1, 2, 3, 4, 1, 2, 3, 4, 9}}) {
        const engine::Request causal{.prompt = prompt, .sampling = {.temperature = 0}, .max_tokens = 3};
        const auto id = driver.add(causal);
        driver.run();
        CHECK(driver.received(id).ids() == simulate({}, causal).tokens);
        CHECK(driver.received(id).finished->cached_tokens == prompt.size() / 9 * 4);
    }
}

TEST_CASE("an encoder accepts only requests for the hidden states of entire prompts") {
    engine::Limits limits = fake_limits();
    limits.is_encoder = true;
    CHECK(refusal({.prompt = {1, 2}}, limits) == "the model encodes texts and generates none");
    CHECK(refusal({.prompt = {1, 2}, .hidden = HiddenRows::mean}, limits) ==
          "the model encodes texts and generates none");
    engine::Request whole{.prompt = std::vector<TokenId>(limits.batch_rows_max, 1),
                          .hidden = HiddenRows::mean,
                          .attention = AttentionSpan::segment};
    CHECK(refusal(whole, limits).empty());
    whole.prompt.push_back(1);
    CHECK(!refusal(whole, limits).empty());
}

TEST_CASE("check() refuses segments that do not fit, by name") {
    const engine::Request good = with_image(4, 6, 4);
    CHECK(refusal(good).empty());
    engine::Request bad = good;
    bad.embeddings[0].embeddings = std::make_shared<std::vector<float>>(6 * 4);
    CHECK(refusal(bad) == "embedding segment 0: 24 values for 6 embeddings; the width of the model is 3");
    bad = good;
    bad.embeddings[0].embeddings = nullptr;
    CHECK(refusal(bad) == "embedding segment 0: 0 values for 6 embeddings; the width of the model is 3");
    bad = good;
    auto nan = std::make_shared<std::vector<float>>(*bad.embeddings[0].embeddings);
    nan->back() = std::numeric_limits<float>::quiet_NaN();
    bad.embeddings[0].embeddings = std::move(nan);
    CHECK(refusal(bad) == "embedding segment 0: it contains values that are not finite");
    bad = good;
    bad.embeddings[0].position = 9;
    CHECK(refusal(bad) == "embedding segment 0: it ends at 15 in a prompt of 14 positions");
    bad = good;
    bad.prompt[4] = 3;
    CHECK(refusal(bad) == "position 4 of the prompt has both a token and an embedding");
    bad = good;
    bad.prompt[0] = no_token;
    CHECK(refusal(bad) == "position 0 of the prompt has neither a token nor an embedding");
    bad = good;
    bad.embeddings.push_back(bad.embeddings[0]);
    CHECK(refusal(bad) == "embedding segment 1: it overlaps the one before, or is out of order");
    bad = with_image(4, 14, 4, 1, AttentionSpan::segment);
    CHECK(refusal(bad) ==
          "embedding segment 0: 14 embeddings that attend to each other, but at most 13 fit a step");
    engine::Limits text_only = fake_limits();
    text_only.embeddings_max = 0;
    CHECK(refusal(good, text_only) == "embedding segment 0: no memory is reserved for embeddings");
    bad = good;
    bad.rope_positions = {{0, 0, 0, 0}};
    CHECK(refusal(bad) == "1 rotary positions for 14 tokens");
    bad = good;
    bad.attention = AttentionSpan::segment;
    CHECK(refusal(bad) == "a prompt without causal attention has no continuation");
    engine::Limits few = fake_limits();
    few.embeddings_max = 5;
    engine::Request states = with_image(2, 6, 2);
    states.hidden = HiddenRows::last;
    states.attention = AttentionSpan::segment;
    CHECK(refusal(states, few) ==
          "the prompt has 6 embeddings that attend to each other, but at most 5 fit a step");
    bad.hidden = HiddenRows::all;
    CHECK(refusal(bad) == "the prompt has 14 tokens; at most 13 can attend to each other");
    bad = {.prompt = {1, 2}, .hidden = HiddenRows::all, .prompt_candidates = 0};
    CHECK(refusal(bad).starts_with("hidden states exclude"));
}

} // namespace
} // namespace etna::test
