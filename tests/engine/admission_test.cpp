#include "core/engine/admission.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <vector>

namespace etna::test {
namespace {

using engine::Admission;
using engine::Backpressure;
using engine::Sequence;
using engine::SequenceState;

std::shared_ptr<const engine::Request> request_of(engine::ClientId client, int32_t priority = 0) {
    return std::make_shared<const engine::Request>(engine::Request{.client = client, .priority = priority});
}

Sequence sequence_of(engine::RequestId id, engine::ClientId client, engine::RequestId group,
                     int32_t priority = 0) {
    Sequence sequence;
    sequence.id = {.request = id};
    sequence.request = request_of(client, priority);
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

TEST_CASE("within a client smaller priority numbers come first") {
    Admission admission(4);
    Sequence low = sequence_of(1, 1, 1, 5), plain = sequence_of(2, 1, 2), high = sequence_of(3, 1, 3, -5);
    Sequence sibling = sequence_of(4, 1, 3, -5);
    for (Sequence* one : {&low, &plain, &high, &sibling})
        admission.add(*one);
    CHECK(admission.next() == &high);
    admission.start(high);
    CHECK(admission.next() == &sibling); // although a group without running sequences waits
    admission.remove(sibling);
    CHECK(admission.next() == &plain);
    CHECK(admission.is_served_before(plain, low));
    CHECK(admission.is_admitted_before(plain, low));
    CHECK_FALSE(admission.is_admitted_before(plain, high));
    admission.remove(plain);
    CHECK(admission.next() == &low);
}

TEST_CASE("a priority does not delay another client") {
    Admission admission(4);
    Sequence high = sequence_of(1, 1, 1, -1000), other = sequence_of(2, 2, 2);
    admission.add(high);
    admission.add(other);
    admission.charge(1, 5);
    admission.end_batch();
    CHECK(admission.next() == &other);
    CHECK_FALSE(admission.is_served_before(high, other));
    admission.start(other);
    CHECK(admission.victim_for(high) == nullptr);
}

TEST_CASE("the last sequence with a larger priority number is preempted for the client's own request") {
    Admission admission(3);
    Sequence low = sequence_of(1, 1, 1, 1), lowest = sequence_of(2, 1, 2, 2), plain = sequence_of(3, 1, 3);
    Sequence next = sequence_of(4, 1, 4);
    for (Sequence* one : {&low, &lowest, &plain, &next})
        admission.add(*one);
    for (Sequence* one : {&low, &lowest, &plain})
        admission.start(*one);
    CHECK(admission.victim_for(next) == &lowest);
    admission.stop(lowest);
    CHECK(admission.victim_for(next) == &low);
    CHECK(admission.victim_for(lowest) == nullptr); // not in return
    next.request = request_of(1, 1);
    CHECK(admission.victim_for(next) == nullptr);
}

TEST_CASE("a group of smaller priority number is not preempted for another group") {
    Admission admission(2);
    Sequence first = sequence_of(1, 1, 1, -1), second = sequence_of(2, 1, 1, -1);
    Sequence next = sequence_of(3, 1, 3);
    for (Sequence* one : {&first, &second, &next})
        admission.add(*one);
    admission.start(first);
    admission.start(second);
    CHECK(admission.victim_for(next) == nullptr);
    next.request = request_of(1, -1);
    CHECK(admission.victim_for(next) == &second);
}

TEST_CASE("the waiting queue counts raised and lowered priorities") {
    engine::WaitingQueue queue;
    Sequence low = sequence_of(1, 1, 1, 7), plain = sequence_of(2, 1, 2), high = sequence_of(3, 1, 3, -7);
    for (Sequence* one : {&low, &plain, &high})
        queue.insert(*one);
    CHECK(queue.queues().at(1) == engine::WaitingQueue::Queue{&high, &plain, &low});
    CHECK(queue.prioritized().raised == 1);
    CHECK(queue.prioritized().lowered == 1);
    queue.erase(low);
    queue.erase(low);
    CHECK(queue.prioritized().lowered == 0);
    CHECK(queue.size() == 2);
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
