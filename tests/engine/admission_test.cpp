#include "core/engine/admission.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace etna::test {
namespace {

using engine::Admission;
using engine::Backpressure;
using engine::Sequence;
using engine::SequenceState;

Sequence sequence_of(engine::RequestId id, engine::ClientId client, engine::RequestId group) {
    Sequence sequence;
    sequence.id = {.request = id};
    sequence.client = client;
    sequence.request_group = group;
    sequence.tokens.resize(4);
    return sequence;
}

TEST_CASE("the next sequence is the oldest of the client that was served the fewest rows") {
    Admission admission(4);
    Sequence first = sequence_of(1, 1, 1), second = sequence_of(2, 2, 2), third = sequence_of(3, 2, 3);
    for (Sequence* one : {&first, &second, &third})
        admission.add(*one);
    CHECK(admission.next() == &first);
    admission.charge(1, 5);
    CHECK(admission.next() == &first); // charges count from the next batch on
    admission.end_batch();
    CHECK(admission.next() == &second);
    second.backpressure = Backpressure::on;
    CHECK(admission.next() == &third);
    third.constraint_state.waits = true;
    CHECK(admission.next() == &first);
    admission.remove(first);
    CHECK(admission.next() == nullptr);
}

TEST_CASE("within a client the group with the fewest running sequences comes first") {
    Admission admission(4);
    Sequence running = sequence_of(1, 1, 1), same = sequence_of(2, 1, 1), other = sequence_of(3, 1, 3);
    for (Sequence* one : {&running, &same, &other})
        admission.add(*one);
    admission.start(running);
    CHECK(admission.next() == &other);
    running.has_continuations = true; // it waits for others of its group
    CHECK(admission.next() == &same);
}

TEST_CASE("without capacity the youngest of a group with several is preempted for another group") {
    Admission admission(3);
    Sequence first = sequence_of(1, 1, 1), second = sequence_of(2, 1, 1), third = sequence_of(3, 1, 3);
    Sequence next = sequence_of(4, 1, 4);
    for (Sequence* one : {&first, &second, &third, &next})
        admission.add(*one);
    admission.start(first);
    admission.start(second);
    CHECK(admission.victim_for(next) == nullptr); // it can be started
    admission.start(third);
    CHECK(admission.victim_for(next) == &second);
    next.request_group = 3;
    CHECK(admission.victim_for(next) == nullptr); // its group runs
}

TEST_CASE("a client that runs one more is preempted only after its quantum") {
    Admission admission(2);
    Sequence running = sequence_of(1, 1, 1), next = sequence_of(2, 2, 2);
    admission.add(running);
    admission.add(next);
    admission.start(running);
    admission.charge(1, 5);
    admission.end_batch();
    CHECK(admission.victim_for(next) == nullptr);
    running.tokens.resize(running.quantum_end);
    CHECK(admission.victim_for(next) == &running);
}

TEST_CASE("the sequence that is served last is the youngest of the client that was served most") {
    Admission admission(3);
    Sequence first = sequence_of(1, 1, 1), second = sequence_of(2, 2, 2), third = sequence_of(3, 1, 3);
    for (Sequence* one : {&first, &second, &third}) {
        admission.add(*one);
        admission.start(*one);
    }
    admission.charge(2, 5);
    admission.end_batch();
    CHECK(&admission.last_served(0) == &second);
    CHECK(&admission.last_served(2) == &third);
    admission.charge(1, 50);
    admission.end_batch();
    CHECK(&admission.last_served(0) == &third);
}

} // namespace
} // namespace etna::test
