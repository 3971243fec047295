#pragma once

#include "core/base/result.hpp"
#include "core/engine/cache_journal.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/request.hpp"
#include "core/engine/stream.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace etna::engine {

struct EngineOptions {
    /// Maximum number of waiting requests; beyond, submit() fails with busy. Clients with few requests may
    /// submit more, so that other clients do not shut them out: at most as many again in total. Requests with
    /// a priority number above 0 leave half of the queue to the others.
    uint32_t queue_max = 256;
    /// Target duration of a step with prefill rows, which bounds the wait of a new request to a few times
    /// that; 0: no limit. Long prompts then take more steps.
    double prefill_step_ms = 0;
    uint64_t model_salt = 0; ///< part of every page's hash; differs for different weights
};

/// Load of an engine.
struct EngineStats {
    uint32_t waiting = 0;                    ///< requests that wait to run
    PriorityCounts waiting_prioritized = {}; ///< of `waiting`
    uint32_t running = 0;                    ///< requests that run
    uint32_t page_tokens = 0;                ///< positions in a page
    uint32_t prefix_pages = 0; ///< pages of the first cache group that keeps all positions; 0: there is none
    uint32_t pages_total = 0;  ///< over all cache groups
    uint32_t pages_used = 0;   ///< pages that running requests hold
    uint32_t pages_cached = 0; ///< pages cached for later requests, which may be evicted
    uint64_t preemptions = 0;  ///< since the start
    uint64_t prompt_tokens_computed = 0; ///< since the start; tokens found in the cache are not counted
    uint64_t tokens_generated = 0;       ///< since the start, end tokens included
};

/// Runs many requests on one executor, on one dedicated thread. Thread-safe. Handles token ids only, never
/// text.
class Engine {
public:
    /// Takes ownership of the executor, and of that of a draft model of the same vocabulary, or null, and
    /// starts the thread. Errors: invalid_argument (an executor's limits are inconsistent, or queue_max is
    /// 0), out_of_memory (the system has no free thread).
    static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                  const EngineOptions& options = {},
                                                  std::unique_ptr<Executor> draft = nullptr);

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Ends every request with FinishReason::cancelled, waits for the steps in flight, joins the thread.
    ~Engine();

    /// Queues a request with one answer. Does not block. Errors: invalid_argument (empty prompt, a token
    /// outside the vocabulary, sampling parameters out of range, a prompt that can never fit), busy (see
    /// EngineOptions::queue_max), and once the executor has failed, its error.
    Result<Stream> submit(Request request);

    /// Queues several requests, all or none, and returns their streams in the same order, those of a beam
    /// search's answers (best first) consecutively; wait_any() waits for all of them. They are one request
    /// group of one client: see Scheduler. Errors: as submit().
    Result<std::vector<Stream>> submit_all(std::vector<Request> requests);

    /// As submit(), for a request that continues the one of an ended stream: wait_any() waits for it as for
    /// the streams that were submitted together with that one.
    Result<Stream> resubmit(Request request, const Stream& ended);

    /// The executor's limits; constant.
    [[nodiscard]] const Limits& limits() const;

    /// Whether all submissions are refused, because the executor failed or the host's memory was exhausted.
    [[nodiscard]] bool has_failed() const;

    /// Reports the changes of the cache to `observer` from now on, before the events of the step that made
    /// them are delivered, and its end before the destructor returns. Precondition: no request was submitted.
    /// Once at most.
    void observe_cache(std::shared_ptr<CacheObserver> observer);

    /// Returns the load after the last step.
    [[nodiscard]] EngineStats load() const;

private:
    class Loop;

    explicit Engine(std::unique_ptr<Loop> loop);

    std::unique_ptr<Loop> loop_;
};

} // namespace etna::engine
