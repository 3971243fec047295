#include "core/engine/finisher.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

namespace etna::test {
namespace {

using engine::FinishReason;
using engine::Sequence;

TEST_CASE("a request ends with its reason, and leaves no sequence") {
    SchedulerParts parts;
    const engine::RequestId ended = parts.add_decoding(plain_request(3)).id.request;
    Sequence& other = parts.add(plain_request(3));
    parts.finisher.end(*parts.store.first_of(ended), FinishReason::cancelled, parts.updates, parts.now);
    REQUIRE(parts.updates.size() == 1);
    CHECK(parts.updates[0].request == ended);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::cancelled);
    CHECK(parts.store.first_of(ended) == nullptr);
    CHECK(parts.store.find(other.id) == &other);
    CHECK(parts.store.verify());
}

TEST_CASE("an error is part of the last event") {
    SchedulerParts parts;
    parts.finisher.fail(parts.add(plain_request(3)), {ErrorKind::unsupported, "too large"}, parts.updates,
                        parts.now);
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::error);
    CHECK(ends_in(parts.updates)[0].error->message == "too large");
}

TEST_CASE("the end of a hypothesis ends its search, with an event for every answer") {
    SchedulerParts parts;
    engine::Request request = plain_request(3);
    request.beams = engine::BeamOptions{.width = 3, .answers = 3};
    Sequence& first = parts.add_decoding(request);
    parts.beams.begin(*request.beams, first);
    parts.finisher.end(first, FinishReason::cancelled, parts.updates, parts.now);
    REQUIRE(parts.updates.size() == 3);
    for (uint32_t answer = 0; answer < 3; ++answer)
        CHECK(parts.updates[answer].answer == answer);
    CHECK(ends_in(parts.updates).size() == 3);
    CHECK(parts.store.all().empty());
}

} // namespace
} // namespace etna::test
