#pragma once

#include "core/engine/executor.hpp"
#include "tests/support/fake_model.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace etna::test {

/// Small enough that pages fill, chunks split and batches overflow in short tests.
engine::Limits fake_limits();

/// The time of a device that executors share: their steps run in order of submission.
/// Thread-safe.
class FakeDevice {
public:
    using Clock = std::chrono::steady_clock;

    /// Returns when a step is done that takes `duration` and is submitted now.
    Clock::time_point submit(Clock::duration duration);

private:
    std::mutex mutex_;
    Clock::time_point free_;
};

/// Drafts of a fake executor's draft head, with Limits::has_draft_head.
enum class FakeDrafts {
    right, ///< the token that the model will sample
    wrong, ///< another
    none,
    late, ///< wrong up to position 60, then right
};

struct FakeOptions {
    engine::Limits limits = fake_limits();
    std::vector<FakeScript> scripts = {};
    std::optional<TokenId> bad_token = {};     ///< rows that attend to it return Error instead of logits
    std::optional<uint64_t> lost_at_step = {}; ///< the device is lost in this step; the first is 1
    FakeDrafts drafts = FakeDrafts::right;
    std::chrono::microseconds step_delay{0}; ///< duration of one step
    std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
    std::function<void(const engine::Batch&)> on_submit = {}; ///< called with every accepted batch
};

/// An executor without weights or device, with a real page cache: each row stores its token at the position
/// that its page table selects, copies are executed, and logits are computed from the entries that the tables
/// select, so that a wrong table, a missing copy or a stale page shows as a wrong token. Nothing is computed
/// before wait(); slots are filled step by step. Rows that write the same position in one step, and slots
/// that were never filled, are internal errors.
///
/// With Limits::state_slots, rows also read a state: the entries of all positions up to their own. It is
/// wrong if a copy is missing or late, if a rejected draft stays, or if a slot is shared; a state
/// whose length is not SequenceView::state_position is an internal error.
class FakeExecutor : public engine::Executor {
public:
    explicit FakeExecutor(FakeOptions options = {});

    [[nodiscard]] const engine::Limits& limits() const override { return options_.limits; }
    Result<engine::Ticket> submit(const engine::Batch& batch) override;
    Result<engine::Outputs> wait(engine::Ticket ticket) override;

private:
    using Clock = FakeDevice::Clock;
    using PageTables = std::vector<std::vector<engine::PageId>>; ///< [group][page of the sequence]

    /// The recurrent state in a slot.
    struct State {
        std::vector<FakeEntry> committed;
        std::vector<FakeEntry> pending;
    };

    struct Sequence {
        PageTables pages;
        engine::StateSlot slot = engine::no_state_slot;
        uint32_t state_position = 0;
        engine::StateUpdate update = engine::StateUpdate::commit;
    };

    struct Submission {
        std::vector<engine::PageCopy> copies;
        std::vector<engine::StateCopy> state_copies;
        std::vector<engine::Row> rows;
        std::vector<Sequence> sequences;
        uint64_t ticket = 0;
        Clock::time_point done;
    };

    Result<engine::Outputs> execute(const Submission& submission);
    Status copy_states(const Submission& submission);
    Status begin_states(const Submission& submission);
    void end_states(const Submission& submission);
    Status write_row(const engine::Row& row, const Sequence& sequence);
    Result<engine::RowOutput> answer(const engine::Row& row, const Sequence& sequence);
    Status add_draft(const engine::Row& row, std::vector<std::vector<FakeEntry>> visible,
                     engine::RowOutput& output) const;
    FakeEntry& entry(std::size_t group, const PageTables& tables, uint32_t position);

    FakeOptions options_;
    FakeModel model_;
    std::vector<std::vector<FakeEntry>> cache_;     ///< [group][page * page_tokens + offset]
    std::vector<State> states_;                     ///< [slot]
    std::vector<std::vector<uint64_t>> written_at_; ///< same shape: ticket of the last write
    std::vector<std::optional<TokenId>> slots_;
    std::deque<Submission> submissions_; ///< unread, oldest first
    uint64_t next_ticket_ = 1;
    uint64_t running_ticket_ = 0;
    bool is_lost_ = false;
};

} // namespace etna::test
