#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/sampling/candidates.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::engine {

enum class CacheKind : uint8_t { full, sliding_window };

/// Layers that share one page table. Pages of different groups are numbered separately, from 0.
struct CacheGroup {
    CacheKind kind = CacheKind::full;
    uint32_t window_tokens = 0; ///< for sliding_window
    uint32_t page_count =
        0; ///< pages that exist on the device; for sliding_window at least those of one sequence
    /// Rows attend to positions at most this far away, on both sides; with CacheKind::full.
    std::optional<uint32_t> reach = std::nullopt;
};

/// First position that a row attends to in a group's layers.
[[nodiscard]] inline uint32_t attend_begin(const Row& row, const CacheGroup& group) {
    if (group.reach && row.position > *group.reach)
        return std::max(row.attend_begin, row.position - *group.reach);
    const bool is_cut = group.kind == CacheKind::sliding_window && row.position + 1 > group.window_tokens;
    return is_cut ? std::max(row.attend_begin, row.position + 1 - group.window_tokens) : row.attend_begin;
}

/// One past the last position that a row attends to in a group's layers.
[[nodiscard]] inline uint32_t attend_end(const Row& row, const CacheGroup& group) {
    return group.reach ? std::min(row.attend_end, row.position + *group.reach + 1) : row.attend_end;
}

/// Pages that a sequence holds at most in a group with a window, while a batch of `rows` of its rows is
/// computed.
[[nodiscard]] constexpr uint32_t window_pages(uint32_t window_tokens, uint32_t rows, uint32_t page_tokens) {
    return (window_tokens + rows - 2) / page_tokens + 2;
}

/// Limits of an executor; all fixed at its creation.
struct Limits {
    uint32_t vocabulary = 0;
    uint32_t width = 0;          ///< of a hidden state
    uint32_t page_tokens = 32;   ///< positions in a page, the same for all groups
    uint32_t context_tokens = 0; ///< maximum sequence length
    uint32_t batch_rows_max = 0; ///< rows in one batch
    uint32_t sequences_max = 0;  ///< sequences in one batch
    uint32_t slots = 0; ///< slots for sampled ids; with in_flight_max * sequences_max no sequence waits for
                        ///< one, and drafts use those beyond
    uint32_t embeddings_max = 0;   ///< embeddings in one batch; memory is reserved for them
    uint32_t output_rows_max = 0;  ///< rows that run the LM head in one batch
    uint32_t candidates_max = 0;   ///< for OutputKind::candidates; OutputKind::sampled supports plain
                                   ///< parameters with 1 <= top_k <= candidates_max, or temperature 0
    uint32_t state_slots = 0;      ///< states of recurrent layers; 0: the model has no such layers
    uint32_t pending_rows_max = 0; ///< rows of a sequence in a step with StateUpdate::defer
    /// The model encodes texts: requests are for hidden states, and the rows of a prompt attend to each
    /// other.
    bool is_encoder = false;
    bool has_draft_head = false; ///< the executor drafts for rows that request it
    bool verifies_steps = false; ///< the engine verifies its invariants before every step, which is slow
    uint32_t in_flight_max = 2;  ///< maximum number of submissions whose outputs are unread
    std::vector<CacheGroup> groups;
};

/// Identifies one submission; tickets count up from 1.
struct Ticket {
    uint64_t value = 0;
};

using sampling::Candidate;

/// Output of one row with OutputKind != none.
struct RowOutput {
    TokenId token = 0;     ///< OutputKind::sampled
    float log_sum_exp = 0; ///< log of the sum of exp(logit) over the vocabulary
    float logit = 0;       ///< logit of `token`, before any filter: log-probability = logit - log_sum_exp
    std::vector<Candidate>
        candidates;            ///< Row::candidates entries: descending logit, smaller id first among equals
    std::vector<float> logits; ///< OutputKind::logits: [vocabulary]
    std::vector<float> hidden; ///< OutputKind::hidden: [Limits::width]
    /// A token of the draft head, for the position after the one that `token` is sampled for.
    struct Draft {
        TokenId token = 0;
        float log_sum_exp = 0; ///< as those of the row, of the draft head's logits
        float logit = 0;
    };
    /// With Row::requests_draft; empty if the draft head's logits are not numbers.
    std::optional<Draft> draft = std::nullopt;
    /// The row's logits are not numbers (internal): nothing else is set. Its sequence cannot continue; others
    /// can.
    std::optional<Error> error = std::nullopt;
};

struct Outputs {
    std::vector<RowOutput> rows; ///< one for each row with OutputKind != none, in batch order
    double device_ms = 0;        ///< time that the device spent on this batch; 0 if it is unknown
    uint32_t dispatches = 0;     ///< of this batch; 0 if it is unknown
    uint32_t barriers = 0;       ///< between its commands; 0 if it is unknown
    bool is_repeated = false;    ///< its commands were recorded for an earlier batch
    bool found_idle = false;     ///< the device had nothing to do when this batch was submitted
};

/// Runs batches on a device, in order of submission. Not thread-safe: it belongs to one engine thread.
class Executor {
public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    [[nodiscard]] virtual const Limits& limits() const = 0;

    /// Whether submit() would start a batch at once. False while models that share the device have their
    /// turn.
    [[nodiscard]] virtual bool has_turn() { return true; }

    /// Checks the batch against the limits and starts it. Blocks until has_turn(), never for the
    /// device to finish a batch of this executor. Errors: invalid_argument (a limit is violated; nothing was
    /// started), busy (in_flight_max submissions are unread), out_of_memory, device_lost.
    virtual Result<Ticket> submit(const Batch& batch) = 0;

    /// Blocks until the submission is done and returns its outputs, once. Tickets must be waited for in
    /// order. Errors: invalid_argument (unknown or already read), device_lost.
    virtual Result<Outputs> wait(Ticket ticket) = 0;
};

/// Checks that the limits are consistent. Errors: invalid_argument, naming the limit.
Status check(const Limits& limits);

/// Checks every rule of submit(); shared by all executors.
Status check(const Batch& batch, const Limits& limits);

} // namespace etna::engine
