#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

// Models that other programs stored, used in place and never changed.

enum class ModelOwner : uint8_t { hugging_face, llama_cpp, ollama };

/// "Hugging Face", "llama.cpp" or "Ollama".
std::string_view to_string(ModelOwner owner);

/// Folders in which the programs store models; those that do not exist are skipped.
struct ForeignFolders {
    std::vector<std::filesystem::path> hugging_face = {}; ///< of models--USER--REPO
    std::vector<std::filesystem::path> llama_cpp = {};    ///< of .gguf files
    std::vector<std::filesystem::path> ollama = {};       ///< of blobs and manifests
};

/// A model of another program on this machine.
struct FoundModel {
    ModelOwner owner = ModelOwner::hugging_face;
    std::string name;                         ///< accepted by resolve()
    std::vector<std::filesystem::path> parts; ///< in order; at least one
    uint64_t bytes = 0;                       ///< of all parts
};

/// Returns the sums of the weights that a manifest of Ollama's names, in hexadecimal; empty for other text.
std::vector<std::string> parse_ollama_manifest(std::string_view text);

/// Returns the models of other programs, sorted by owner and name: `hf.co/USER/REPO:QUANT[@REVISION]` of the
/// hub's cache, NAME of llama.cpp's NAME.gguf, and Ollama's `NAME:TAG`. Files that cannot be read are
/// skipped. Sources: huggingface_hub, "Understand caching"; Ollama's registry manifests, which are those of
/// OCI.
std::vector<FoundModel> foreign_models(const ForeignFolders& folders);

/// Returns the model of that name. Accepts `hf.co/USER/REPO[:QUANT]` with the defaults of choose_files(),
/// also for llama.cpp's files, and Ollama's NAME for NAME:latest.
std::optional<FoundModel> find_foreign(std::string_view name, const ForeignFolders& folders);

} // namespace etna::store
