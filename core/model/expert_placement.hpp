#pragma once

#include <cstdint>
#include <string>

namespace etna::model {

struct Blueprint;

/// The stacks of experts in host memory, which the device reads by address over its bus.
struct HostExperts {
    uint32_t layers = 0;    ///< with their stacks there: the last ones
    uint64_t bytes = 0;     ///< of these stacks
    uint64_t row_bytes = 0; ///< of the experts in them that one row chooses
};

/// Describes the placement of the experts and its cost in a clause for people.
std::string text_of(const HostExperts& experts);

/// Layers of the model that have stacks of experts. Pure.
uint32_t expert_layers(const Blueprint& blueprint);

/// Moves the stacks of the last `layers` of the layers that have any to host memory, all if there are fewer,
/// and the others to the device; sets Blueprint::weight_bytes and Blueprint::host_experts.
void place_experts(Blueprint& blueprint, uint32_t layers);

} // namespace etna::model
