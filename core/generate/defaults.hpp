#pragma once

#include "core/generate/pooling.hpp"
#include "core/generate/request.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/generate/speculation.hpp"
#include "core/gguf/file.hpp"
#include "core/sampling/parameters.hpp"
#include "core/store/resolve.hpp"

#include <string>

namespace etna::generate {

/// What a request gets if it says nothing, by the user's options and by recommendations for the model.
/// Thread-safe while it is not changed.
struct Defaults {
    sampling::Parameters sampling = {};
    /// The parameters of `sampling` that are not etna's own defaults: set by the user, else by the model's
    /// `generation_config.json`, else by its file.
    SamplingOverrides recommended_sampling = {};
    SpeculationOverrides speculation = {}; ///< set by `generation_config.json`, else by the user
    Pooling pooling = Pooling::last;       ///< of embeddings
    std::string system = {};               ///< system message of conversations that have none; empty: none
    RequestDefaults requests = {};         ///< callers apply them with fill()
};

/// Adds the recommendations of the model's file and of its `generation_config.json` to the user's options,
/// which recommended_sampling and speculation hold before, and sets `sampling` by them. An error in
/// `generation_config.json` is a warning in the log. Blocking.
void add_recommendations(Defaults& defaults, const gguf::File& file, const store::ModelSource& source);

} // namespace etna::generate
