#include "core/kernels/sequences.hpp"

#include "core/kernels/record.hpp"

namespace etna::kernels {

bool sequences_fit(const Launcher& launcher, std::string_view operation, const Sequences& sequences) {
    return require(launcher,
                   sequences.count <= sequences_max &&
                       sequences.infos.bytes >= uint64_t{sequences.count} * sizeof(SequenceInfo),
                   operation, "sequences are too many or short");
}

bool states_fit(const Launcher& launcher, std::string_view operation, const RecurrentStates& states,
                uint64_t state_bytes, uint64_t pending_bytes) {
    const uint64_t all_states = states.slots * state_bytes;
    const uint64_t all_pending = states.slots * pending_bytes;
    return require(launcher,
                   states.slots > 0 && all_states / 4 <= UINT32_MAX && all_pending / 4 <= UINT32_MAX,
                   operation, "there are no states, or too many") &&
           require(launcher, states.states.bytes >= all_states && states.pending.bytes >= all_pending,
                   operation, "states or pending rows are shorter than their shape");
}

} // namespace etna::kernels
