#pragma once

#include "core/engine/constraint_workers.hpp"
#include "core/engine/draft_costs.hpp"
#include "core/engine/draft_model.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/prefill_budget.hpp"
#include "core/engine/scheduler.hpp"
#include "core/engine/stream.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace etna::engine {

/// The engine's thread, and the inbox through which other threads reach it. The executor, the scheduler and
/// the requests in `active_` belong to the thread; the inbox is guarded by the mutex of `wake_`.
class Engine::Loop {
public:
    /// `draft`: null for none.
    Loop(std::unique_ptr<Executor> executor, std::unique_ptr<Executor> draft, const EngineOptions& options,
         const HashKey& hash_key);
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop();

    /// `reader`: is notified of events; null: a new one.
    Result<std::vector<Stream>> submit_all(std::vector<Request> requests,
                                           std::shared_ptr<WakeSignal> reader = nullptr);
    [[nodiscard]] const Limits& limits() const { return limits_; }
    void observe_cache(std::shared_ptr<CacheObserver> observer);
    [[nodiscard]] EngineStats load();
    [[nodiscard]] bool has_failed();

private:
    using Channels = std::vector<std::shared_ptr<Channel>>; ///< one for each answer of a request

    /// A request that has not ended.
    struct ActiveRequest {
        ClientId client = 0;
        Channels channels;
        bool has_ended = false; ///< Finished is not delivered yet
    };

    struct Submission {
        RequestId id = 0;
        RequestId request_group = 0; ///< see Scheduler::add()
        Request request;
        Channels channels;
        Clock::time_point submitted;
    };

    /// A submitted batch with unread outputs.
    struct InFlight {
        Ticket ticket;
        uint32_t rows = 0;            ///< of all kinds
        uint32_t prefill_rows = 0;    ///< of these, RowKind::prefill
        uint32_t drafts = 0;          ///< rows beyond one per sequence; 0 with prefill
        bool requests_drafts = false; ///< the draft head drafts for the next step
        Clock::time_point submitted;
    };

    void run();
    Status work();
    bool take_submissions();
    Status step();
    void draft();
    void drop_draft_model(const Error& error);
    Result<bool> submit_batch();
    [[nodiscard]] bool has_capacity(ClientId client, const std::vector<Request>& requests) const;
    void add_inbox(EngineStats& load) const;
    void update_stats();
    void count_updates();
    static InFlight describe(const Batch& batch, Ticket ticket);
    Status read_outputs();
    void report_cache();
    void apply_backpressure();
    void deliver();
    void close(FinishReason reason, const std::optional<Error>& error);

    std::unique_ptr<Executor> executor_; ///< null once the thread has ended
    const Limits limits_;
    const uint32_t queue_max_;
    Scheduler scheduler_;
    std::unique_ptr<DraftModel> draft_model_; ///< null: none, or it has failed
    DraftCostEstimate draft_costs_;
    PrefillBudget prefill_budget_;
    std::map<RequestId, ActiveRequest> active_;
    std::deque<InFlight> in_flight_;      ///< oldest first
    Updates updates_;                     ///< not delivered yet
    Clock::time_point read_;              ///< time of the last read_outputs()
    uint64_t prompt_tokens_computed_ = 0; ///< see EngineStats, as the next member
    uint64_t tokens_generated_ = 0;
    std::shared_ptr<CacheObserver> observer_; ///< null: none
    bool has_lost_changes_ = false;           ///< the observer dropped some; next it gets a snapshot
    /// Nothing can run until a reader reads or cancels, or a constraint job is done.
    bool waits_for_signal_ = false;

    const std::shared_ptr<WakeSignal> wake_ = std::make_shared<WakeSignal>();
    ConstraintWorkers workers_{[wake = wake_] { wake->notify(); }};
    std::vector<Submission> inbox_;
    std::shared_ptr<CacheObserver> new_observer_; ///< not taken by the thread yet
    RequestId next_id_ = 1;
    std::map<ClientId, std::size_t> requests_of_; ///< active requests and those of the inbox
    std::size_t requests_ = 0;                    ///< of all clients
    EngineStats stats_;                           ///< load of the scheduler, after its last step
    std::optional<Error> closed_;                 ///< the error of all further submissions
    bool is_stopping_ = false;

    std::thread thread_; ///< last, so that everything it uses exists
};

} // namespace etna::engine
