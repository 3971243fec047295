#pragma once

#include "core/engine/draft_model.hpp"
#include "core/engine/scheduler.hpp"
#include "core/engine/stream.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace etna::test {

/// The events of one request so far.
struct Received {
    std::vector<engine::TokenEvent> scores; ///< of the prompt's tokens
    std::vector<engine::TokenEvent> tokens;
    std::optional<engine::Finished> finished;

    [[nodiscard]] std::vector<TokenId> ids() const;
};

/// A scheduler and a fake executor without threads: the test controls each step. Every error,
/// broken invariant and event after the end throws std::runtime_error, which fails the test.
class Driver {
public:
    /// `draft`: options of the draft model's executor; empty: no draft model.
    explicit Driver(FakeOptions options, std::optional<FakeOptions> draft = std::nullopt);

    engine::RequestId add(engine::Request request,
                          std::optional<engine::RequestId> request_group = std::nullopt);
    void cancel(engine::RequestId id);
    /// Sets the workers for slow constraint work; borrowed.
    void use(engine::ConstraintWorkers& workers) {
        workers_ = &workers;
        scheduler_.use(workers);
    }
    void set_backpressure(engine::RequestId id, engine::Backpressure backpressure) {
        scheduler_.set_backpressure(id, backpressure);
    }

    /// Schedules and submits a batch, unless in_flight_max are unread. Returns whether one was submitted.
    bool start_step();
    /// Reads the oldest step. Returns false if there is none.
    bool finish_step();
    /// Runs steps as the engine does, until every request has finished.
    void run();

    /// `answer`: index of the answer of a beam search.
    [[nodiscard]] const Received& received(engine::RequestId id, std::size_t answer = 0) const {
        return received_.at(id).at(answer);
    }
    [[nodiscard]] const engine::Scheduler& scheduler() const { return scheduler_; }
    void set_prefill_rows_max(uint32_t rows) { scheduler_.set_prefill_rows_max(rows); }
    /// The last submitted batch.
    [[nodiscard]] const engine::Batch& batch() const { return batch_; }
    /// Rows of all batches so far.
    [[nodiscard]] uint64_t rows() const { return rows_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] bool is_idle() const { return scheduler_.is_idle() && tickets_.empty(); }
    /// Number of requests that the draft model postponed, because their text was not computed yet.
    [[nodiscard]] uint64_t postponed() const { return postponed_; }
    void drop_draft_model() { scheduler_.drop_draft_model(); }
    [[nodiscard]] std::size_t unread() const { return tickets_.size(); }

private:
    void draft();
    void take_updates();
    static void require(const Status& status);

    FakeExecutor executor_;
    engine::Scheduler scheduler_;
    std::optional<engine::DraftModel> draft_model_;
    engine::ConstraintWorkers* workers_ = nullptr;
    uint64_t rows_ = 0;
    uint64_t steps_ = 0;
    uint64_t postponed_ = 0;
    engine::Updates updates_;
    engine::Batch batch_;
    std::deque<engine::Ticket> tickets_;
    std::map<engine::RequestId, std::vector<Received>> received_; ///< [answer]
    engine::RequestId next_id_ = 1;
};

/// All events of a stream.
struct Answer {
    std::vector<TokenId> tokens;
    engine::Finished finished;
};

/// Reads a stream to its end.
Answer read_all(engine::Stream& stream);

/// A greedy request for `tokens` tokens.
engine::Request long_request(uint32_t tokens, const engine::Speculation& speculation);

/// Options with capacity for 512 tokens and for every draft.
FakeOptions roomy();

} // namespace etna::test
