// Random mixes of requests on random executors, in random order of events: every request gets the answer that
// it gets alone.

#include "tests/engine/driver.hpp"
#include "tests/engine/simulation.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::test {
namespace {

constexpr uint32_t mixes = 2000;

/// Random choices of one mix; a function of its seed.
class Dice {
public:
    explicit Dice(uint32_t seed) : generator_(seed) {}

    /// A number in [low, high].
    uint32_t roll(uint32_t low, uint32_t high) {
        return low + static_cast<uint32_t>(generator_() % (uint64_t{high} - low + 1));
    }
    bool one_in(uint32_t count) { return roll(1, count) == 1; }

private:
    std::mt19937 generator_;
};

FakeOptions random_executor(Dice& dice) {
    FakeOptions options;
    engine::Limits& limits = options.limits;
    limits.vocabulary = dice.roll(2, 40);
    limits.page_tokens = dice.roll(1, 5);
    limits.context_tokens = dice.roll(4, 60);
    limits.batch_rows_max = dice.roll(1, 16);
    limits.sequences_max = dice.roll(1, 6);
    limits.slots = dice.roll(1, 14);
    limits.output_rows_max = dice.roll(1, 6);
    limits.candidates_max = dice.roll(1, 8);
    limits.in_flight_max = dice.roll(1, 3);
    limits.groups.assign(dice.roll(1, 2), {});
    const bool is_tight = dice.one_in(2);
    for (engine::CacheGroup& group : limits.groups)
        group.page_count = dice.roll(1, is_tight ? 25 : 300);
    if (limits.groups.size() == 2) {
        const uint32_t window = dice.roll(1, 9);
        const uint32_t needed = engine::window_pages(window, limits.batch_rows_max, limits.page_tokens);
        limits.groups[1] = {engine::CacheKind::sliding_window, window,
                            is_tight ? needed + dice.roll(0, 4) : limits.groups[1].page_count + needed};
        if (dice.one_in(4))
            limits.groups.erase(limits.groups.begin());
    }
    limits.width = 3;
    limits.embeddings_max = dice.one_in(2) ? dice.roll(1, 16) : 0;
    if (dice.one_in(3)) {
        limits.state_slots = limits.sequences_max + dice.roll(1, 4);
        limits.pending_rows_max = dice.roll(1, 9);
        if (dice.one_in(3))
            limits.groups.clear();
    }
    return options;
}

/// Replaces some tokens by embeddings of a few media.
void add_embeddings(Dice& dice, engine::Request& request, const engine::Limits& limits) {
    const auto length = static_cast<uint32_t>(request.prompt.size());
    for (uint32_t position = dice.roll(0, length); position < length; position += dice.roll(0, length)) {
        const uint32_t medium = dice.roll(0, 2);
        engine::EmbeddingSegment segment{.position = position,
                                         .count = dice.roll(1, length - position),
                                         .hash = {medium, 7},
                                         .attention = dice.one_in(2) ? engine::AttentionSpan::segment
                                                                     : engine::AttentionSpan::causal};
        auto values = std::make_shared<std::vector<float>>(std::size_t{segment.count} * limits.width);
        for (std::size_t i = 0; i < values->size(); ++i)
            (*values)[i] = static_cast<float>(i * 3 + medium);
        segment.embeddings = std::move(values);
        std::fill_n(request.prompt.begin() + position, segment.count, engine::no_token);
        position = segment.end();
        request.embeddings.push_back(std::move(segment));
    }
}

/// Makes it a request for hidden states.
void request_hidden(Dice& dice, engine::Request& request) {
    constexpr std::array rows{engine::HiddenRows::first, engine::HiddenRows::last, engine::HiddenRows::mean,
                              engine::HiddenRows::all};
    request.hidden = rows[dice.roll(0, 3)];
    request.attention = dice.one_in(2) ? engine::AttentionSpan::segment : engine::AttentionSpan::causal;
    request.prompt_candidates.reset();
}

sampling::Parameters random_sampling(Dice& dice, const engine::Limits& limits) {
    sampling::Parameters parameters;
    parameters.temperature = dice.one_in(3) ? 0.0F : 0.8F;
    parameters.top_k = dice.one_in(3) ? 0 : dice.roll(1, limits.candidates_max + 2);
    parameters.seed = dice.roll(0, 1000);
    if (dice.one_in(4)) { // filters that the host applies to candidates or logits
        parameters.typical_p = 0.7F;
        parameters.xtc_probability = 0.5F;
        parameters.min_keep = dice.roll(0, limits.candidates_max + 1);
        parameters.top_n_sigma = dice.one_in(2) ? 1.5F : 0;
    }
    if (dice.one_in(4)) {
        parameters.repetition_penalty = 1.3F;
        parameters.presence_penalty = 0.5F;
        parameters.frequency_penalty = 0.25F;
        parameters.dry_multiplier = dice.one_in(2) ? 1 : 0;
        parameters.repetition_window_tokens = dice.roll(0, 20);
    }
    return parameters;
}

/// Prompts are prefixes of a few common texts, sometimes with different ends, so that they share pages.
engine::Request random_request(Dice& dice, const engine::Limits& limits) {
    engine::Request request;
    const uint32_t text = dice.roll(0, 2);
    const uint32_t length = dice.roll(1, limits.context_tokens - 1);
    const uint32_t common = dice.one_in(3) ? dice.roll(0, length) : length;
    for (uint32_t i = 0; i < length; ++i) {
        request.prompt.push_back(i < common ? (i * 7 + text) % limits.vocabulary
                                            : dice.roll(0, limits.vocabulary - 1));
    }
    if (dice.one_in(4)) { // the prompt contains an answer
        const uint32_t begin = dice.roll(0, length - 1);
        const uint32_t end = dice.roll(begin, length);
        for (uint32_t i = 0; i < length; ++i) {
            request.kinds.push_back(i >= begin && i < end ? engine::RowKind::decode
                                                          : engine::RowKind::prefill);
        }
    }
    request.sampling = random_sampling(dice, limits);
    if (!dice.one_in(4))
        request.max_tokens = dice.roll(1, 30);
    for (uint32_t i = dice.roll(0, 2); i > 0; --i)
        request.end_tokens.push_back(dice.roll(0, limits.vocabulary - 1));
    if (limits.vocabulary > 3 && dice.one_in(4))
        request.min_tokens = dice.roll(1, 20);
    request.cache_salt = dice.one_in(4) ? 1 : 0;
    if (dice.one_in(8))
        request.logit_bias = {{dice.roll(0, limits.vocabulary - 1), 3}};
    request.top_candidates = dice.one_in(3) ? dice.roll(0, limits.candidates_max) : 0;
    if (dice.one_in(5))
        request.prompt_candidates = dice.roll(0, limits.candidates_max);
    if (limits.embeddings_max > 0 && dice.one_in(2))
        add_embeddings(dice, request, limits);
    if (dice.one_in(3)) {
        for (uint32_t position = dice.roll(0, length); position < length; position += dice.roll(1, length))
            request.branch_positions.push_back(position);
    }
    if (dice.one_in(6))
        request_hidden(dice, request);
    return request;
}

struct Asked {
    engine::RequestId id = 0;
    engine::RequestId request_group = 0;
    engine::Request request = {};
    bool is_cancelled = false;
};

std::string describe(const Asked& asked) {
    const engine::Request& request = asked.request;
    const sampling::Parameters& parameters = request.sampling;
    return fmt::format(
        "request {}: prompt {}, min {}, max {}, end {}, temperature {}, top_k {}, seed {}, typical_p {}, "
        "top_n_sigma {}, min_keep {}, repetition {} over {}, dry {}, biases {}, top {}, salt {}{}{}{}{}, "
        "branches {}",
        asked.id, request.prompt, request.min_tokens, request.max_tokens.value_or(0), request.end_tokens,
        parameters.temperature, parameters.top_k, parameters.seed, parameters.typical_p,
        parameters.top_n_sigma, parameters.min_keep, parameters.repetition_penalty,
        parameters.repetition_window_tokens, parameters.dry_multiplier, request.logit_bias.size(),
        request.top_candidates, request.cache_salt, request.prompt_candidates ? ", scores" : "",
        asked.is_cancelled ? ", cancelled" : "", request.hidden ? ", hidden" : "",
        request.attention == engine::AttentionSpan::segment ? ", not causal" : "", request.branch_positions);
}

std::string describe(const engine::Limits& limits) {
    std::string text = fmt::format("vocabulary {}, page {}, context {}, rows {}, sequences {}, slots {}, "
                                   "outputs {}, candidates {}, in flight {}",
                                   limits.vocabulary, limits.page_tokens, limits.context_tokens,
                                   limits.batch_rows_max, limits.sequences_max, limits.slots,
                                   limits.output_rows_max, limits.candidates_max, limits.in_flight_max);
    for (const engine::CacheGroup& group : limits.groups)
        text += fmt::format("; group of {} pages, window {}", group.page_count, group.window_tokens);
    return text + fmt::format("; {} state slots, {} pending", limits.state_slots, limits.pending_rows_max);
}

/// Checks that the prompt log-probabilities are a prefix of the expected ones, and complete after a token.
void check_scores(const Received& received, const Expected& expected) {
    REQUIRE(received.scores.size() <= expected.scores.size());
    if (!received.tokens.empty())
        CHECK(received.scores.size() == expected.scores.size());
    for (std::size_t i = 0; i < received.scores.size(); ++i) {
        const engine::TokenEvent& score = received.scores[i];
        const engine::TokenEvent& other = expected.scores[i];
        CHECK(score.token == other.token);
        CHECK(score.logit == other.logit);
        CHECK(score.rank == other.rank);
        CHECK(score.log_sum_exp == Approx(other.log_sum_exp).epsilon(1e-5));
        REQUIRE(score.top.size() == other.top.size());
        for (std::size_t rank = 0; rank < score.top.size(); ++rank) {
            CHECK(score.top[rank].token == other.top[rank].token);
            CHECK(score.top[rank].logit == other.top[rank].logit);
        }
    }
}

void check_hidden(const Asked& asked, const Received& received, const FakeOptions& options) {
    CHECK(received.tokens.empty());
    CHECK(received.finished->completion_tokens == 0);
    CHECK(received.finished->prompt_tokens == asked.request.prompt.size());
    if (received.finished->reason != engine::FinishReason::stop) {
        CHECK((asked.is_cancelled || received.finished->reason == engine::FinishReason::length));
        return;
    }
    CHECK(received.finished->hidden == hidden_states(options, asked.request));
}

void check_answer(const Asked& asked, const Received& received, const FakeOptions& options) {
    INFO(describe(asked));
    REQUIRE(received.finished.has_value());
    if (asked.request.hidden)
        return check_hidden(asked, received, options);
    const Expected expected = simulate(options, asked.request);
    check_scores(received, expected);
    if (asked.request.prompt_candidates)
        CHECK(received.finished->cached_tokens == 0);
    const std::vector<TokenId> ids = received.ids();
    if (received.finished->reason == engine::FinishReason::cancelled) {
        CHECK(asked.is_cancelled);
        REQUIRE(ids.size() <= expected.tokens.size());
        CHECK(ids == std::vector<TokenId>(expected.tokens.begin(),
                                          expected.tokens.begin() + static_cast<std::ptrdiff_t>(ids.size())));
    } else {
        CHECK(ids == expected.tokens);
        CHECK(received.finished->reason == expected.reason);
    }
    for (const engine::TokenEvent& event : received.tokens)
        CHECK(event.top.size() == std::min(asked.request.top_candidates, options.limits.vocabulary));
    CHECK(received.finished->prompt_tokens == asked.request.prompt.size());
    CHECK(received.finished->completion_tokens == ids.size());
    CHECK(received.finished->cached_tokens < asked.request.prompt.size());
}

/// Adds, starts, reads, pauses and cancels in random order until every request has ended.
std::vector<Asked> play(Dice& dice, Driver& driver, const engine::Limits& limits) {
    std::vector<Asked> asked;
    uint32_t to_ask = dice.roll(1, 12);
    while (to_ask > 0 || !driver.is_idle()) {
        if (to_ask > 0 && dice.one_in(3)) {
            engine::Request request = random_request(dice, limits);
            --to_ask;
            std::optional<engine::RequestId> request_group;
            if (!asked.empty() && dice.one_in(2)) // of the previous request's group
                request_group = asked.back().request_group;
            request.client = request_group ? asked.back().request.client : dice.roll(0, 2);
            request.priority = static_cast<int32_t>(dice.roll(0, 2)) - 1;
            if (check(request, limits)) {
                const engine::RequestId id = driver.add(request, request_group);
                asked.push_back({.id = id, .request_group = request_group.value_or(id), .request = request});
            }
        }
        if (!asked.empty() && dice.one_in(25)) {
            Asked& unlucky = asked[dice.roll(0, static_cast<uint32_t>(asked.size()) - 1)];
            unlucky.is_cancelled = true;
            driver.cancel(unlucky.id);
        }
        if (!asked.empty() && dice.one_in(6)) {
            const Asked& one = asked[dice.roll(0, static_cast<uint32_t>(asked.size()) - 1)];
            driver.set_backpressure(one.id, engine::Backpressure::on);
        }
        if (dice.one_in(10)) {
            for (const Asked& one : asked)
                driver.set_backpressure(one.id, engine::Backpressure::off);
        }
        if (!dice.one_in(3))
            driver.start_step();
        if (dice.one_in(2))
            driver.finish_step();
    }
    return asked;
}

TEST_CASE("each request of a random mix gets the answer that it gets alone") {
    uint32_t reused = 0;
    uint32_t copies = 0;
    uint32_t recomputed = 0; // rows of generated tokens that were recomputed after a preemption
    uint32_t exhausted = 0;
    uint32_t scores = 0;
    uint32_t reused_states = 0;
    uint32_t state_copies = 0;
    uint32_t hidden = 0;
    uint32_t embeddings = 0;
    for (uint32_t seed = 0; seed < mixes; ++seed) {
        Dice dice(seed);
        FakeOptions options = random_executor(dice);
        options.on_submit = [&](const engine::Batch& batch) {
            copies += static_cast<uint32_t>(batch.copies.size());
            state_copies += static_cast<uint32_t>(batch.state_copies.size());
            for (const engine::Row& row : batch.rows) {
                recomputed +=
                    row.kind == engine::RowKind::decode && row.output_kind == engine::OutputKind::none ? 1
                                                                                                       : 0;
            }
        };
        INFO("mix " << seed << ": " << describe(options.limits));
        Driver driver(options);
        const std::vector<Asked> asked = play(dice, driver, options.limits);
        for (const Asked& one : asked) {
            const Received& received = driver.received(one.id);
            check_answer(one, received, options);
            scores += static_cast<uint32_t>(received.scores.size());
            reused += received.finished->cached_tokens;
            reused_states += options.limits.state_slots > 0 ? received.finished->cached_tokens : 0;
            hidden += received.finished->hidden.empty() ? 0 : 1;
            embeddings += one.request.embeddings.empty() ? 0 : 1;
            const auto length = received.finished->prompt_tokens + received.finished->completion_tokens;
            exhausted += received.finished->reason == engine::FinishReason::length &&
                                 received.finished->completion_tokens != one.request.max_tokens &&
                                 length < options.limits.context_tokens
                             ? 1
                             : 0;
        }
        for (const engine::PagePool& pool : driver.scheduler().cache().pools())
            CHECK(pool.available() == pool.page_count());
        const engine::PagePool& slots = driver.scheduler().cache().slots().pool();
        CHECK(slots.available() == slots.page_count());
    }
    // The mixes cover each of these many times.
    CHECK(reused > 1000);
    CHECK(copies > 100);
    CHECK(recomputed > 100);
    CHECK(exhausted > 20);
    CHECK(scores > 1000);
    CHECK(reused_states > 300);
    CHECK(state_copies > 300);
    CHECK(hidden > 300);
    CHECK(embeddings > 300);
}

} // namespace
} // namespace etna::test
