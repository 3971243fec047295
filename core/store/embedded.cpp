#include "core/store/embedded.hpp"

#include <array>

// Defined in embedded.S.
extern "C" {
extern const std::byte etna_demo_begin[];       // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_end[];         // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_draft_begin[]; // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_draft_end[];   // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_embed_begin[]; // NOLINT(readability-identifier-naming)
extern const std::byte etna_demo_embed_end[];   // NOLINT(readability-identifier-naming)
}

namespace etna::store {

std::span<const EmbeddedModel> embedded_models() {
    static const std::array models = {
        EmbeddedModel{demo_name, {etna_demo_begin, etna_demo_end}},
        EmbeddedModel{"demo-draft", {etna_demo_draft_begin, etna_demo_draft_end}},
        EmbeddedModel{demo_embed_name, {etna_demo_embed_begin, etna_demo_embed_end}},
    };
    return models;
}

const EmbeddedModel* embedded_model(std::string_view name) {
    for (const EmbeddedModel& model : embedded_models()) {
        if (model.name == name)
            return &model;
    }
    return nullptr;
}

} // namespace etna::store
