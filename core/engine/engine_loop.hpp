#pragma once

#include "core/engine/channel.hpp"
#include "core/engine/constraint_workers.hpp"
#include "core/engine/draft_meter.hpp"
#include "core/engine/draft_model.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/prefill_budget.hpp"
#include "core/engine/scheduler.hpp"

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
/// the requests in `open_` belong to the thread; the inbox is guarded by the bell's mutex.
class Engine::Loop {
public:
    /// `draft`: null for none.
    Loop(std::unique_ptr<Executor> executor, std::unique_ptr<Executor> draft, const EngineOptions& options,
         const HashKey& hash_key);
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop();

    Result<std::vector<Stream>> submit_all(std::vector<Request> requests);
    [[nodiscard]] const Limits& limits() const { return limits_; }
    [[nodiscard]] EngineStats load();
    [[nodiscard]] bool has_failed();

private:
    using Channels = std::vector<std::shared_ptr<Channel>>; ///< one for each answer of a request

    /// A request that has not ended.
    struct Open {
        ClientId client = 0;
        Channels channels;
        bool has_ended = false; ///< it has ended, and Finished is not delivered yet
    };

    struct Submission {
        RequestId id = 0;
        RequestId caller = 0; ///< the first request submitted with it
        Request request;
        Channels channels;
        Clock::time_point submitted;
    };

    /// A submitted batch whose outputs are unread.
    struct Unread {
        Ticket ticket;
        uint32_t rows = 0;         ///< of all kinds
        uint32_t prefill_rows = 0; ///< of these, RowKind::prefill
        uint32_t drafts = 0;       ///< rows beyond one per sequence; 0 with prefill
        Clock::time_point submitted;
    };

    void run();
    Status work();
    bool take_submissions();
    Status step();
    void draft();
    void lose_draft_model(const Error& error);
    Result<bool> submit_batch();
    [[nodiscard]] bool has_room(ClientId client, std::size_t requests) const;
    void note_ends();
    static Unread unread_of(const Batch& batch, Ticket ticket);
    Status read_outputs();
    void follow_readers();
    void deliver();
    void close(FinishReason reason, const std::optional<Error>& error);

    const std::unique_ptr<Executor> executor_;
    const Limits limits_;
    const uint32_t queue_max_;
    Scheduler scheduler_;
    std::unique_ptr<DraftModel> draft_model_; ///< null: none, or it has failed
    DraftMeter draft_meter_;
    PrefillBudget prefill_budget_;
    std::map<RequestId, Open> open_;
    std::deque<Unread> tickets_; ///< oldest first
    Updates updates_;            ///< to be delivered
    Clock::time_point read_;     ///< when the last batch was read
    bool waits_for_bell_ =
        false; ///< nothing can run until a reader reads or cancels, or a constraint job is done

    const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
    ConstraintWorkers workers_{[bell = bell_] { bell->ring(); }};
    std::vector<Submission> inbox_;
    RequestId next_id_ = 1;
    std::map<ClientId, std::size_t> requests_of_; ///< open requests, those of the inbox included
    std::size_t requests_ = 0;                    ///< of all clients
    EngineStats stats_;                           ///< load of the scheduler, after its last step
    std::optional<Error> closed_;                 ///< why submissions are refused
    bool is_stopping_ = false;

    std::thread thread_; ///< last, so that everything it uses exists
};

} // namespace etna::engine
