#pragma once

#include "core/base/result.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/request.hpp"
#include "core/engine/stream.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace etna::engine {

struct EngineOptions {
    /// Requests that may wait for a place; beyond, submit() answers busy. A client with few requests may
    /// submit a few all the same, so that others do not shut it out: at most as many again in all.
    uint32_t queue_max = 256;
    /// About how long a step with prefill rows may take, so that a request that arrives waits for no longer
    /// than a few times that; 0: no limit. Long prompts are computed in more steps then.
    double prefill_step_ms = 0;
    uint64_t model_salt = 0; ///< part of every page's hash: differs for weights that differ
};

/// How busy an engine is.
struct EngineLoad {
    uint32_t waiting = 0;     ///< requests that have no place yet
    uint32_t running = 0;     ///< requests that have one
    uint32_t pages_total = 0; ///< over all cache groups
    uint32_t pages_used = 0;  ///< that running requests hold
    uint32_t pages_kept = 0;  ///< that hold prompts for later requests, and may be taken
    uint64_t preemptions = 0; ///< since the start: requests that gave their pages back and waited again
};

/// Runs many requests on one executor, on one thread of its own. Thread-safe. Knows token ids only, never
/// text.
class Engine {
public:
    /// Takes the executor over, and that of a draft model of the same vocabulary, or null, and starts the
    /// thread. Errors: invalid_argument (an executor's limits contradict themselves), out_of_memory
    /// (the system has no threads to give).
    static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor,
                                                  const EngineOptions& options = {},
                                                  std::unique_ptr<Executor> draft = nullptr);

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Ends every request with FinishReason::cancelled, waits for the step that runs on the device, joins the
    /// thread.
    ~Engine();

    /// Queues a request of one answer. Does not block. Errors: invalid_argument (empty prompt, a token
    /// outside the vocabulary, sampling parameters out of range, a prompt that can never fit), busy
    /// (see EngineOptions::queue_max), and after the executor failed, its error.
    Result<Stream> submit(Request request);

    /// Queues several, all or none, and gives their streams in the same order, those of a beam search's
    /// answers (the best first) one after the other; wait_any() waits for all of them. They count as one
    /// caller's, and are the same client's: see Scheduler. Errors: as submit().
    Result<std::vector<Stream>> submit_all(std::vector<Request> requests);

    /// The executor's bounds; constant.
    [[nodiscard]] const Limits& limits() const;

    /// Whether it accepts nothing any more, since its executor failed or the host's memory was used up.
    [[nodiscard]] bool has_failed() const;

    /// As of the last step.
    [[nodiscard]] EngineLoad load() const;

private:
    class Loop;

    explicit Engine(std::unique_ptr<Loop> loop);

    std::unique_ptr<Loop> loop_;
};

} // namespace etna::engine
