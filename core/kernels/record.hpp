#pragma once

#include "core/kernels/library.hpp"
#include "core/vk/recorder.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace etna::kernels {

/// Everything one dispatch needs except its arguments.
struct Launch {
    shaders::Variant variant;
    std::initializer_list<uint32_t> specialization;
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::initializer_list<vk::Range> reads;
    std::initializer_list<vk::Range> writes;
    uint32_t subgroup = 0; ///< Library::pipeline()'s
};

/// Gets the pipeline and records the dispatch; if the pipeline is unavailable, fails the recorder.
void launch_bytes(Library& library, vk::Recorder& recorder, const Launch& launch, ByteView arguments);

template <class Arguments>
void launch(Library& library, vk::Recorder& recorder, const Launch& what, const Arguments& arguments) {
    static_assert(sizeof(Arguments) <= vk::large_push_constant_bytes, "these are the most push constants");
    launch_bytes(library, recorder, what, std::as_bytes(std::span(&arguments, 1)));
}

/// Workgroups folded over x and z: the shaders' folded_group().
std::array<uint32_t, 3> folded_groups(uint32_t groups, uint32_t y);

/// Fails the recorder with invalid_argument unless `holds`; returns `holds`.
bool require(vk::Recorder& recorder, bool holds, std::string_view operation, std::string_view problem);

} // namespace etna::kernels
