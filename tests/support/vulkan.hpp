#pragma once

#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"

namespace etna::test {

/// The device under test, shared by all test cases of a process, with the validation layer on: a test case
/// during which a validation message arrives fails.
struct Gpu {
    vk::Instance& instance;
    vk::Device& device;
    const vk::PhysicalDevice& physical; ///< from which `device` was created
    vk::DeviceOptions options;          ///< with which `device` was created
};

/// Opens the device that the environment variable ETNA_TEST_DEVICE names (default: the best), without
/// optional features when ETNA_TEST_MASK_FEATURES=1. A device that cannot be opened fails the test case with
/// the reason. Not thread-safe: call it on the test's own thread.
Gpu gpu();

} // namespace etna::test
