#pragma once

#include "core/kernels/library.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// What one operation runs on a device, for people.
struct ChosenKernel {
    std::string operation;    ///< "linear q4_k, prompt"
    std::string_view variant; ///< name of the shader variant; static
};

/// The kernel that each operation of the forward pass, and each weight format, gets on a device. Pure.
std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target);

} // namespace etna::kernels
