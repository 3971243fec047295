#pragma once

#include <span>
#include <string_view>

namespace etna::store {

/// A short name for a repository of the hub.
struct KnownModel {
    std::string_view name; ///< "FAMILY:SIZE", in lower case
    std::string_view user;
    std::string_view repository;
    std::string_view quantisation; ///< taken if the user names none
};

/// The models that have short names, sorted by family, then by size. The repository is the publisher's own;
/// if the publisher has none in GGUF, one that ggml-org or bartowski converted.
std::span<const KnownModel> known_models();

/// Returns the model of that name, ignoring ASCII case; null if there is none.
const KnownModel* known_model(std::string_view name);

} // namespace etna::store
