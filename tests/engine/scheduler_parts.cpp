#include "tests/engine/scheduler_parts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

namespace etna::test {

using engine::Sequence;
using engine::SequenceState;

SchedulerParts::SchedulerParts(engine::Limits with)
    : limits(std::move(with)), admission(limits.sequences_max), cache(limits, {1, 2}, 3),
      store(admission, cache, constraints), builder(limits), beams(store, constraints),
      finisher(store, beams), drafts(limits, admission, cache, store, builder) {
    if (!check(limits))
        throw std::invalid_argument("the limits contradict each other");
    builder.begin(0);
}

Sequence& SchedulerParts::add(engine::Request request) {
    if (!check(request, limits))
        throw std::invalid_argument("the request cannot run");
    Sequence sequence = make_sequence(next_id, std::move(request), limits, cache, now);
    sequence.request_group = next_id++;
    return store.add(std::move(sequence));
}

Sequence& SchedulerParts::add_prompt(engine::Request request, uint32_t computed) {
    Sequence& sequence = add(std::move(request));
    if (!cache.reserve(sequence.held, 0, sequence.length(), 0, builder.copies()))
        throw std::invalid_argument("the cache has no pages for the prompt");
    sequence.computed_tokens = computed;
    sequence.state = SequenceState::prefill;
    admission.start(sequence);
    return sequence;
}

Sequence& SchedulerParts::add_decoding(engine::Request request) {
    const auto computed = static_cast<uint32_t>(request.prompt.size() - 1);
    Sequence& sequence = add_prompt(std::move(request), computed);
    sequence.state = SequenceState::decode;
    return sequence;
}

engine::Request plain_request(uint32_t prompt_tokens, TokenId first) {
    engine::Request request = {.end_tokens = {}};
    for (uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back((first + i) % fake_limits().vocabulary);
    request.sampling.temperature = 0;
    return request;
}

uint32_t rows_of(const engine::Batch& batch, uint32_t index) {
    return static_cast<uint32_t>(
        std::count_if(batch.rows.begin(), batch.rows.end(),
                      [index](const engine::Row& row) { return row.sequence == index; }));
}

std::vector<engine::Finished> ends_in(const engine::Updates& updates) {
    std::vector<engine::Finished> ends;
    for (const engine::Update& update : updates) {
        if (const auto* end = std::get_if<engine::Finished>(&update.event))
            ends.push_back(*end);
    }
    return ends;
}

} // namespace etna::test
