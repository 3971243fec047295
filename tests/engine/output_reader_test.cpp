#include "core/engine/output_reader.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <variant>
#include <vector>

namespace etna::test {
namespace {

using engine::FinishReason;
using engine::PendingOutput;
using engine::RowOutput;
using engine::Sequence;

struct Reading : SchedulerParts {
    /// Schedules the sequence's next row and returns the description of its output.
    PendingOutput schedule(Sequence& sequence) {
        builder.begin(0);
        const uint32_t begin = sequence.computed_tokens;
        REQUIRE(cache.reserve(sequence.held, begin, begin + 1, 0, builder.copies()));
        builder.append_rows(sequence, 1);
        builder.finish();
        return builder.take_step(1)->front();
    }
    Status read(Sequence& sequence, TokenId token) {
        RowOutput output;
        output.token = token;
        return reader.read(sequence, schedule(sequence), output, updates, now);
    }
    [[nodiscard]] std::vector<TokenId> tokens() const {
        std::vector<TokenId> ids;
        for (const engine::Update& update : updates) {
            if (const auto* token = std::get_if<engine::TokenEvent>(&update.event))
                ids.push_back(token->token);
        }
        return ids;
    }

    engine::OutputReader reader{limits, store, beams, constraints, finisher};
};

/// Forces two tokens after each drawn one, and ends after five tokens.
class Forcing final : public engine::Constraint {
public:
    Result<Allowed> allowed() override { return Allowed{}; }
    void accept(TokenId /*token*/) override { ++count_; }
    std::vector<TokenId> forced() override { return {40, 41}; }
    Result<bool> is_over() override { return count_ == 5; }
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override {
        return std::make_shared<Forcing>(*this);
    }

private:
    uint32_t count_ = 0;
};

TEST_CASE("a sampled token is appended and emitted, and the last one ends the request with length") {
    Reading parts;
    engine::Request request = plain_request(3);
    request.max_tokens = 2;
    Sequence& sequence = parts.add_decoding(request);
    REQUIRE(parts.read(sequence, 10));
    CHECK(sequence.tokens.back() == 10);
    CHECK(sequence.pending_samples == 0);
    CHECK(sequence.first_token.has_value());
    CHECK(ends_in(parts.updates).empty());
    REQUIRE(parts.read(sequence, 11));
    CHECK(parts.tokens() == std::vector<TokenId>{10, 11});
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::length);
    CHECK(parts.store.all().empty());
}

TEST_CASE("an end token ends the request with stop and is not part of the answer") {
    Reading parts;
    engine::Request request = plain_request(3);
    request.end_tokens = {7};
    REQUIRE(parts.read(parts.add_decoding(request), 7));
    CHECK(parts.tokens().empty());
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::stop);
    CHECK(ends_in(parts.updates)[0].end_token == TokenId{7});
}

TEST_CASE("the error of a row is returned, and its sequence still exists") {
    Reading parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    const PendingOutput pending = parts.schedule(sequence);
    RowOutput broken;
    broken.error = Error{ErrorKind::internal, "not numbers"};
    const Status status = parts.reader.read(sequence, pending, broken, parts.updates, parts.now);
    REQUIRE(!status);
    CHECK(status.error().message == "not numbers");
    CHECK(parts.store.find(sequence.id) == &sequence);
    CHECK(parts.updates.empty());
}

TEST_CASE("the log-probability of a prompt's token goes to every answer of a request") {
    Reading parts;
    engine::Request request = plain_request(3);
    request.prompt_candidates = 0;
    request.beams = engine::BeamOptions{.width = 2, .answers = 2};
    Sequence& sequence = parts.add_prompt(request, 0);
    parts.beams.begin(*request.beams, sequence);
    const PendingOutput pending = parts.schedule(sequence);
    CHECK(pending.position == 0);
    RowOutput output;
    output.logits.assign(parts.limits.vocabulary, 0);
    REQUIRE(parts.reader.read(sequence, pending, output, parts.updates, parts.now));
    REQUIRE(parts.updates.size() == 2);
    CHECK(parts.updates[1].answer == 1);
    CHECK(parts.tokens() == std::vector<TokenId>{2, 2});
    CHECK(sequence.length() == 3);
}

TEST_CASE("tokens that a constraint forces are appended without rows, until it is over") {
    Reading parts;
    engine::Request request = plain_request(3);
    request.constraint = std::make_shared<Forcing>();
    Sequence& sequence = parts.add_decoding(request);
    PendingOutput pending = parts.schedule(sequence);
    RowOutput output;
    output.logits.assign(parts.limits.vocabulary, 0);
    output.logits[20] = 1;
    REQUIRE(parts.reader.read(sequence, pending, output, parts.updates, parts.now));
    CHECK(parts.tokens() == std::vector<TokenId>{20, 40, 41});
    CHECK(sequence.pending_samples == 0);
    CHECK(sequence.length() == sequence.computed_tokens + 3);
    sequence.computed_tokens = sequence.length() - 1;
    pending = parts.schedule(sequence);
    REQUIRE(parts.reader.read(sequence, pending, output, parts.updates, parts.now));
    CHECK(parts.tokens() == std::vector<TokenId>{20, 40, 41, 20, 40});
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::stop);
}

} // namespace
} // namespace etna::test
