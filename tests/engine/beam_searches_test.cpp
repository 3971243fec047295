#include "core/engine/beam_searches.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <initializer_list>
#include <variant>
#include <vector>

namespace etna::test {
namespace {

using engine::Continuations;
using engine::FinishReason;
using engine::Sequence;
using engine::SequenceState;

Sequence& begin_search(SchedulerParts& parts, const engine::BeamOptions& beams, uint32_t max_tokens = 10) {
    engine::Request request = plain_request(3);
    request.beams = beams;
    request.max_tokens = max_tokens;
    Sequence& first = parts.add_decoding(request);
    parts.beams.begin(beams, first);
    return first;
}

/// Continuations with logits that descend by 1 from `logit` on.
Continuations ranked(std::initializer_list<TokenId> tokens, float logit = 0) {
    Continuations continuations;
    for (const TokenId token : tokens) {
        continuations.tokens.push_back({.token = token, .logit = logit, .processed_logit = logit});
        logit -= 1;
    }
    return continuations;
}

std::vector<TokenId> tokens_of(const engine::Updates& updates, uint32_t answer) {
    std::vector<TokenId> tokens;
    for (const engine::Update& update : updates) {
        const auto* token = std::get_if<engine::TokenEvent>(&update.event);
        if (token != nullptr && update.answer == answer)
            tokens.push_back(token->token);
    }
    return tokens;
}

TEST_CASE("a search branches into sequences that share pages, and advances once all are known") {
    SchedulerParts parts;
    Sequence& first = begin_search(parts, {.width = 2});
    parts.beams.take(first, ranked({10, 11, 12, 13}), parts.updates, parts.now);
    REQUIRE(parts.store.all().size() == 2);
    Sequence& second = parts.store.all().rbegin()->second;
    CHECK(first.length() == 4);
    CHECK(second.length() == 4);
    CHECK(first.tokens.back() + second.tokens.back() == 10 + 11);
    CHECK(first.held.groups[0] == second.held.groups[0]);
    CHECK(second.state == SequenceState::decode);

    parts.beams.take(first, ranked({20, 21, 22, 23}, 1.5F), parts.updates, parts.now);
    CHECK(first.has_continuations); // it waits for the other
    CHECK(first.length() == 4);
    parts.beams.take(second, ranked({30, 31, 32, 33}), parts.updates, parts.now);
    REQUIRE(parts.store.all().size() == 2); // one of each is among the best two
    CHECK(!first.has_continuations);
    CHECK(first.tokens.back() + second.tokens.back() == 20 + 30);
    CHECK(parts.updates.empty());
    CHECK(parts.store.verify());
}

TEST_CASE("a search at its maximum length emits the best hypothesis, and retires all sequences") {
    SchedulerParts parts;
    Sequence& first = begin_search(parts, {.width = 2}, 2);
    parts.beams.take(first, ranked({10, 11, 12, 13}), parts.updates, parts.now);
    Sequence& second = parts.store.all().rbegin()->second;
    parts.beams.take(first, ranked({20, 21, 22, 23}), parts.updates, parts.now);
    parts.beams.take(second, ranked({20, 21, 22, 23}), parts.updates, parts.now);
    CHECK(tokens_of(parts.updates, 0) == std::vector<TokenId>{10, 20});
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::length);
    CHECK(parts.store.all().empty());
    CHECK(parts.beams.answers_of(1) == 1); // it is forgotten
}

TEST_CASE("a cancelled search returns an end for every answer, with the best tokens so far") {
    SchedulerParts parts;
    Sequence& first = begin_search(parts, {.width = 2, .answers = 2});
    CHECK(parts.beams.answers_of(first.id.request) == 2);
    parts.beams.take(first, ranked({10, 11, 12, 13}), parts.updates, parts.now);
    engine::Finished cancelled = describe_end(first, parts.now);
    cancelled.reason = FinishReason::cancelled;
    parts.beams.end(first.id.request, cancelled, parts.updates);
    CHECK(tokens_of(parts.updates, 0) == std::vector<TokenId>{10});
    CHECK(tokens_of(parts.updates, 1) == std::vector<TokenId>{11});
    for (const engine::Finished& end : ends_in(parts.updates)) {
        CHECK(end.reason == FinishReason::cancelled);
        CHECK(end.completion_tokens == 1);
    }
    CHECK(ends_in(parts.updates).size() == 2);
    CHECK(parts.store.all().empty());
}

TEST_CASE("a search that fails returns no tokens") {
    SchedulerParts parts;
    Sequence& first = begin_search(parts, {.width = 2});
    parts.beams.take(first, ranked({10, 11, 12, 13}), parts.updates, parts.now);
    const Error error{ErrorKind::internal, "broken"};
    parts.beams.end(first.id.request, describe_failure(first, error, parts.now), parts.updates);
    CHECK(tokens_of(parts.updates, 0).empty());
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].error->message == "broken");
}

TEST_CASE("a search without a possible token is the request's own fault") {
    SchedulerParts parts;
    Sequence& first = begin_search(parts, {.width = 2});
    parts.beams.take(first, {}, parts.updates, parts.now);
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].error->kind == ErrorKind::invalid_argument);
}

} // namespace
} // namespace etna::test
