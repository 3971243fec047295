#pragma once

#include "core/base/result.hpp"
#include "core/engine/device/device_model.hpp"
#include "core/engine/executor.hpp"

namespace etna::engine {

/// Creates every pipeline that a step can request, by recording steps of both row kinds at the row counts
/// where kernel selection changes, without submitting them. Blocks while the driver compiles. Errors:
/// unsupported (a shader that the device refuses), out_of_memory, device_lost.
Status warm_up(DeviceModel& model, const Transfer& transfer, const Limits& limits);

} // namespace etna::engine
