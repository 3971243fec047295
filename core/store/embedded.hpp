#pragma once

#include "core/base/bytes.hpp"

#include <span>
#include <string_view>

namespace etna::store {

/// The embedded model used if the user names no model.
constexpr std::string_view demo_name = "demo";

/// The embedded model of embeddings.
constexpr std::string_view demo_embed_name = "demo-embed";

/// User-facing description of the embedded models: a sentence without its subject.
constexpr std::string_view embedded_models_are =
    "a tiny model inside etna: it shows that everything works, and is not an assistant";

/// A model embedded in the executable.
struct EmbeddedModel {
    std::string_view name; ///< on the command line
    ByteView bytes;        ///< a GGUF file, aligned to 64 bytes, with the lifetime of the process
};

/// `demo` (3 MB); `demo-draft`, its draft model, a sixth of its size with the same vocabulary; and
/// `demo-embed`, which embeds texts, as small as the draft. All are built by scripts/demo-model.
std::span<const EmbeddedModel> embedded_models();

/// Returns the embedded model of that name; null if not found.
const EmbeddedModel* embedded_model(std::string_view name);

} // namespace etna::store
