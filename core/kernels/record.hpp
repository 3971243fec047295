#pragma once

#include "core/kernels/launcher.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace etna::kernels {

template <class Arguments>
void launch(const Launcher& launcher, const Launch& what, const Arguments& arguments) {
    static_assert(sizeof(Arguments) <= vk::large_push_constant_bytes, "these are the most push constants");
    launcher.launch(what, std::as_bytes(std::span(&arguments, 1)));
}

/// Workgroups folded over x and z: the shaders' folded_group().
std::array<uint32_t, 3> folded_groups(uint32_t groups, uint32_t y);

/// Fails the launcher with invalid_argument unless `holds`; returns `holds`.
bool require(const Launcher& launcher, bool holds, std::string_view operation, std::string_view problem);

} // namespace etna::kernels
