#pragma once

#include "core/base/bytes.hpp"

#include <span>
#include <string_view>

namespace etna::store {

/// The embedded model that is taken where a user names none.
constexpr std::string_view demo_name = "demo";

/// What every one of them is, for those who meet it: a sentence without its subject.
constexpr std::string_view embedded_models_are =
    "a tiny model inside etna: it shows that everything works, and is no assistant";

/// A model inside the executable.
struct EmbeddedModel {
    std::string_view name; ///< on the command line
    ByteView bytes;        ///< a GGUF file, aligned to 64 bytes, that lives as long as the process
};

/// `demo` (3 MB), and `demo-draft`, a sixth of its size with the same vocabulary, to draft for it. Both are
/// made by scripts/demo-model.
std::span<const EmbeddedModel> embedded_models();

/// The one of that name; null where there is none.
const EmbeddedModel* embedded_model(std::string_view name);

} // namespace etna::store
