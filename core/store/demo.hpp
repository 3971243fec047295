#pragma once

#include "core/base/bytes.hpp"

#include <string_view>

namespace etna::store {

/// What the embedded model is called on the command line.
constexpr std::string_view demo_name = "demo";

/// The embedded model: a GGUF file of 1.2 MB, aligned to 64 bytes, that lives as long as the process.
/// Source and licence: core/store/demo/LICENSE.
ByteView demo_model();

} // namespace etna::store
