#pragma once

#include "core/engine/batch_builder.hpp"
#include "core/engine/beam_searches.hpp"
#include "core/engine/draft_planner.hpp"
#include "core/engine/finisher.hpp"
#include "core/engine/sequence_store.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <vector>

namespace etna::test {

/// The dependencies of a scheduler's parts, so that each can be tested without the others: sequences are put
/// into any state, and no batch is executed.
struct SchedulerParts {
    explicit SchedulerParts(engine::Limits with = fake_limits());

    /// Adds a waiting sequence. Ids count up from 1.
    engine::Sequence& add(engine::Request request);
    /// Adds a running sequence with pages for its prompt, `computed` tokens of which are computed.
    engine::Sequence& add_prompt(engine::Request request, uint32_t computed);
    /// Adds a running sequence of whose prompt all but the last token is computed, as after a recomputation.
    engine::Sequence& add_decoding(engine::Request request);

    engine::Limits limits;
    engine::Admission admission;
    engine::StateCache cache;
    engine::ConstraintRunner constraints;
    engine::SequenceStore store;
    engine::BatchBuilder builder;
    engine::BeamSearches beams;
    engine::Finisher finisher;
    engine::DraftPlanner drafts;
    engine::Updates updates;
    engine::Clock::time_point now;
    engine::RequestId next_id = 1;
};

/// A greedy request without end tokens, whose prompt has `prompt_tokens` tokens: `first`, `first` + 1 and so
/// on.
engine::Request plain_request(uint32_t prompt_tokens, TokenId first = 1);

/// Number of the batch's rows that belong to a sequence: those of its view `index`.
uint32_t rows_of(const engine::Batch& batch, uint32_t index);

/// Returns the last events of `updates`, in order.
std::vector<engine::Finished> ends_in(const engine::Updates& updates);

} // namespace etna::test
