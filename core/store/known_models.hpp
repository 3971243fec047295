#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace etna::store {

enum class KnownUse : uint8_t { text, embedding, reranker };

/// Returns "text", "embedding" or "reranker".
std::string_view to_string(KnownUse use);

/// A short name for a repository of the hub, with what its publishers state of the model.
struct KnownModel {
    std::string_view name; ///< "FAMILY:SIZE", in lower case
    std::string_view user;
    std::string_view repository;
    std::string_view quantisation; ///< taken if the user names none
    uint32_t download_mb = 0;      ///< approximate size of the file, in 10^6 bytes
    uint32_t parameters_m = 0;     ///< millions
    uint32_t active_m = 0;         ///< millions computed for each token: fewer if it has experts
    uint32_t context_tokens = 0;   ///< that it was trained for; 0: unknown
    KnownUse use = KnownUse::text;

    /// Returns the name without the size.
    [[nodiscard]] std::string_view family() const { return name.substr(0, name.find(':')); }
};

/// The models that have short names, sorted by family, then by size. The repository is the publisher's own;
/// if the publisher has none in GGUF, one that ggml-org, bartowski, unsloth, gpustack or CompendiumLabs
/// converted. Models whose architecture this program does not run are absent.
std::span<const KnownModel> known_models();

/// Whether the family's name alone means this model, as Ollama's `latest` does. One of each family is.
bool is_usual(const KnownModel& model);

/// Returns the model of that name, ignoring ASCII case; null if there is none. "FAMILY" and "FAMILY:latest"
/// mean the usual model of the family, and a size such as "30b" the model of "30b-a3b".
const KnownModel* known_model(std::string_view name);

} // namespace etna::store
