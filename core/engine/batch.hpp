#pragma once

#include "core/base/token.hpp"
#include "core/sampling/parameters.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

using PageId = uint32_t;

/// In a page table: the page was released, because the window has passed it.
constexpr PageId no_page = UINT32_MAX;

/// Selects the kernels of a row: they may differ between the two kinds, never within one (see
/// core/kernels/README.md, Numerics). A row has the kind that its token was first computed as: a generated
/// token that is recomputed after preemption is a decode row again.
enum class RowKind : uint8_t { prefill, decode };

enum class RowInput : uint8_t {
    token,     ///< `Row::value` is a token id
    slot,      ///< `Row::value` is the slot of an id sampled by an earlier submission, read on the device
    embedding, ///< `Row::value` is an index into Batch::embeddings
};

/// Which output a row produces. Anything but `none` and `hidden` runs the LM head for that row.
enum class OutputKind : uint8_t {
    none,
    sampled,    ///< one token id, drawn on the device with Row::sampling; and candidates, if the row requests
                ///< them
    candidates, ///< the most likely ids with their logits, and the log-sum-exp over the vocabulary
    logits,     ///< all logits
    hidden,     ///< the hidden state after the last norm
};

/// Whether a row runs the LM head.
[[nodiscard]] constexpr bool runs_head(OutputKind kind) {
    return kind != OutputKind::none && kind != OutputKind::hidden;
}

/// One token of one sequence in one forward pass.
struct Row {
    RowInput input = RowInput::token;
    RowKind kind = RowKind::prefill;
    OutputKind output_kind = OutputKind::none;
    uint32_t value = 0;    ///< token id, slot, or index into Batch::embeddings
    uint32_t sequence = 0; ///< index into Batch::sequences
    uint32_t position = 0; ///< position in the sequence: K and V are stored there
    /// The row attends to [attend_begin, attend_end), which contains `position`; layers with a window attend
    /// to the part of it from position + 1 - window on. A causal row ends at position + 1.
    uint32_t attend_begin = 0;
    uint32_t attend_end = 1;
    std::array<uint32_t, 4> rope_position{}; ///< text models use the first component, equal to `position`
    uint32_t candidates = 0;  ///< number of candidates returned, for OutputKind::candidates (at least 1) and
                              ///< sampled; at most Limits::candidates_max
    uint32_t output_slot = 0; ///< slot that receives the sampled id, for OutputKind::sampled
    /// For OutputKind::sampled, must be plain; the draw is uniform(sampling.seed, position).
    sampling::Parameters sampling = {};
    /// For the draft head: the token after the row. Empty: the row's own sample, or not known.
    std::optional<TokenId> next_token = std::nullopt;
    /// For OutputKind::sampled, with Limits::has_draft_head: the draft head drafts the token after the
    /// sampled one, drawn with uniform(sampling.seed, position + 1) as the row of the next position will draw
    /// it.
    bool requests_draft = false;

    /// Sets the position of a causal text row, which attends to everything up to itself.
    void set_position(uint32_t at) {
        position = at;
        attend_begin = 0;
        attend_end = at + 1;
        rope_position.fill(at);
    }
};

/// Number of a slot that holds the state of a sequence's recurrent layers.
using StateSlot = uint32_t;
constexpr StateSlot no_state_slot = UINT32_MAX;

/// How the rows of a step change the state of recurrent layers.
enum class StateUpdate : uint8_t {
    commit, ///< the state holds them afterwards
    /// They stay pending, because they may be rejected drafts: the sequence's next step commits those before
    /// its own first row, and drops the others. At most Limits::pending_rows_max rows.
    defer,
};

/// One sequence in a batch.
struct SequenceView {
    /// Page tables, one for each cache group: entry i holds positions [i * page_tokens, (i + 1) *
    /// page_tokens). Tables of groups with a window may begin with entries `no_page`. Borrowed until submit()
    /// returns.
    std::vector<std::span<const PageId>> pages;
    /// With recurrent layers only (Limits::state_slots). The state in the slot covers positions [0,
    /// state_position); rows pending up to the sequence's first row are committed before it. A slot at
    /// position 0 needs no content.
    StateSlot state_slot = no_state_slot;
    uint32_t state_position = 0;
    StateUpdate state_update = StateUpdate::commit;
};

/// Copy of the state of all recurrent layers, made before the forward pass. Rows pending in `from` are not
/// copied.
struct StateCopy {
    StateSlot from = 0;
    StateSlot to = 0;
};

/// Copy of one page's content, made before the forward pass (copy on write).
struct PageCopy {
    uint32_t group = 0;
    PageId from = 0;
    PageId to = 0;
};

/// One forward pass over rows of any mix of sequences. The rows of one sequence are in ascending order of
/// `position` without gaps; with recurrent layers they are of one kind. The scheduler fills in everything;
/// the executor reads it and retains nothing.
struct Batch {
    std::vector<PageCopy> copies;
    std::vector<StateCopy> state_copies = {};
    std::vector<SequenceView> sequences;
    std::vector<Row> rows;
    /// Inputs of rows, f32 [Limits::width] each, without the scale that some models apply to the
    /// embeddings of tokens. At most Limits::embeddings_max. Borrowed until submit() returns.
    std::vector<std::span<const float>> embeddings = {};
    /// The draft head stores its keys and values of all rows. Drafts are good only if it has done so at the
    /// earlier positions too.
    bool runs_draft_head = false;
};

} // namespace etna::engine
