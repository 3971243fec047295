#pragma once

#include "core/kernels/rows.hpp"
#include "shaders/include/sequences.h"

#include <cstdint>
#include <string_view>

// Recurrent layers store a state of fixed size per sequence, in a slot, instead of keys and values per
// position. Drafts need no copy of a large state: memory holds the state before the last step's rows, which
// are kept as `pending` inputs. A step first advances the state by those that were accepted, stores it, and
// then computes its own rows, which become pending in the other half. Accepted drafts thus cost no pass over
// the state and give the same bits as rows that came one per step. Rows of a prompt are committed at once
// (commit_rows).
//
// A sequence starts with a zero state if none of its rows are committed yet (position == accepted), so that a
// slot needs no initialization. A copy of a slot's state and ring covers the rows before those that are
// pending: the copy continues with accepted == 0. A step with row_count 0 commits accepted rows.
namespace etna::kernels {

/// A sequence in a step, 24 bytes, on the device. Its flags: commit_rows, pending_parity. A step without
/// commit_rows has at most pending_rows_max rows of the sequence and writes the half of `pending` that the
/// next step reads: the caller changes pending_parity after each such step.
using shaders::SequenceInfo;
static_assert(sizeof(SequenceInfo) == 24);

using shaders::commit_rows;
using shaders::pending_parity;
using shaders::pending_rows_max;

/// The sequences of a step, each at most once: SequenceInfo [count].
struct Sequences {
    vk::Range infos = {};
    uint32_t count = 0;
    uint32_t rows = 0; ///< of the batch; first_row and row_count are clamped to them

    bool operator==(const Sequences&) const = default;
};
constexpr uint32_t sequences_max = 65535; ///< the smallest limit of a grid's second dimension
/// Fails the launcher, and returns false, if there are too many sequences, or fewer infos.
bool sequences_fit(const Launcher& launcher, std::string_view operation, const Sequences& sequences);

/// The states of a recurrent layer, one per slot, in f32, and the pending rows of each: what a row adds to
/// the state. Their shapes are the operation's.
struct RecurrentStates {
    vk::Range states = {};  ///< [slots][the state of a slot]
    vk::Range pending = {}; ///< [slots][2 halves][pending_rows_max][a row]
    uint32_t slots = 0;
};

/// Fails the launcher, and returns false, if there are no slots, too many for the shader's indices of 32
/// bits, or fewer bytes than a slot's times their number.
bool states_fit(const Launcher& launcher, std::string_view operation, const RecurrentStates& states,
                uint64_t state_bytes, uint64_t pending_bytes);

} // namespace etna::kernels
