#pragma once

#include "core/engine/draft_model.hpp"
#include "core/engine/scheduler.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace etna::test {

/// What one request was told so far.
struct Told {
    std::vector<engine::TokenEvent> scores; ///< of the prompt's tokens
    std::vector<engine::TokenEvent> tokens;
    std::optional<engine::Finished> finished;

    [[nodiscard]] std::vector<TokenId> ids() const;
};

/// A scheduler and a fake executor without any thread: the test decides what happens when. Every error,
/// broken invariant and event after the end throws std::runtime_error, which fails the test.
class Driver {
public:
    /// `draft`: what the draft model's executor does; empty: there is no draft model.
    explicit Driver(FakeOptions options, std::optional<FakeOptions> draft = std::nullopt);

    engine::RequestId add(engine::Request request, std::optional<engine::RequestId> caller = std::nullopt);
    void cancel(engine::RequestId id);
    /// Constraints that take long are worked on by these; borrowed.
    void use(engine::ConstraintWorkers& workers) {
        workers_ = &workers;
        scheduler_.use(workers);
    }
    void set_pace(engine::RequestId id, engine::Pace pace) { scheduler_.set_pace(id, pace); }

    /// Schedules a batch and starts it, unless in_flight_max are unread. False when none was started.
    bool start_step();
    /// Reads the oldest step. False when there is none.
    bool finish_step();
    /// As the engine does it, until every request has finished.
    void run();

    /// `answer`: of a beam search.
    [[nodiscard]] const Told& told(engine::RequestId id, std::size_t answer = 0) const {
        return told_.at(id).at(answer);
    }
    [[nodiscard]] const engine::Scheduler& scheduler() const { return scheduler_; }
    void set_prefill_rows_max(uint32_t rows) { scheduler_.set_prefill_rows_max(rows); }
    /// The batch that was started last.
    [[nodiscard]] const engine::Batch& batch() const { return batch_; }
    /// Rows of all batches so far.
    [[nodiscard]] uint64_t rows() const { return rows_; }
    [[nodiscard]] uint64_t steps() const { return steps_; }
    [[nodiscard]] bool is_idle() const { return scheduler_.is_idle() && tickets_.empty(); }
    /// How often the draft model had not computed a text yet that it was to go on with.
    [[nodiscard]] uint64_t put_off() const { return put_off_; }
    void forget_draft_model() { scheduler_.forget_draft_model(); }
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
    uint64_t put_off_ = 0;
    engine::Updates updates_;
    engine::Batch batch_;
    std::deque<engine::Ticket> tickets_;
    std::map<engine::RequestId, std::vector<Told>> told_; ///< for each answer
    engine::RequestId next_id_ = 1;
};

/// A greedy request for so many tokens.
engine::Request long_request(uint32_t tokens, const engine::Speculation& speculation);

/// Room for 512 tokens, and for every draft.
FakeOptions roomy();

} // namespace etna::test
