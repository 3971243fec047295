#pragma once

#include "core/sampling/parameter_table.hpp"
#include "server/base/fields.hpp"

#include <cstdint>

namespace etna::server::api {

/// Reads the sampling parameters that an API offers, in the table's order. A number of candidates that
/// reaches the vocabulary's size becomes 0, all. Errors are recorded in `fields`.
void read_parameters(Fields& fields, sampling::Interface api, uint32_t vocabulary,
                     sampling::Overrides& overrides);

} // namespace etna::server::api
