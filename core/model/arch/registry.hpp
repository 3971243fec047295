#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/model/config.hpp"
#include "core/model/forward.hpp"
#include "core/model/tensor_table.hpp"
#include "core/model/weights.hpp"

#include <span>
#include <string_view>

namespace etna::model {

/// One family of models, as metadata key general.architecture names it.
struct Architecture {
    std::string_view name;
    /// Reads its metadata keys. Errors: those of model::read_config().
    Result<Config> (*read_config)(const gguf::File& file) = nullptr;
    /// Declares every tensor that its files may contain.
    TensorTable (*declare)(const Config& config) = nullptr;
    /// Precondition: `weights` has every tensor that was declared as required.
    Decoder (*assemble)(const Config& config, const Weights& weights) = nullptr;

    // Text of core/model/MODELS.md and man/etna-models.7, which scripts/generate-docs renews; without markup.
    std::string_view models; ///< every model of this architecture, by the names that users know
    std::string_view peer;   ///< largest difference from llama.cpp's outputs, in scripts/compare-peer
    std::string_view
        definition;          ///< papers, or files of Hugging Face's transformers, that the reference follows
    std::string_view checks; ///< features and formats that are compared with the reference
};

/// Every architecture, ascending by name.
std::span<const Architecture* const> architectures();

/// The architecture of a file. Errors: corrupt (the key is missing), unsupported (unknown; lists similar
/// names and the known ones).
Result<const Architecture*> find_architecture(const gguf::File& file);

// Every architecture, ascending by name. It is `NAME_architecture` in arch/NAME.cpp; but granitemoe and
// granitehybrid are in arch/granite.cpp, nemotron_h_moe in arch/nemotron_h.cpp, lfm2moe in arch/lfm2.cpp, the
// text models of Qwen's vision models in arch/qwen_vl.cpp.
#define ETNA_ARCHITECTURES(X)                                                                                \
    X(bert)                                                                                                  \
    X(deepseek2)                                                                                             \
    X(falcon_h1)                                                                                             \
    X(gemma_embedding)                                                                                       \
    X(gemma2)                                                                                                \
    X(gemma3)                                                                                                \
    X(gemma3n)                                                                                               \
    X(gemma4)                                                                                                \
    X(glm4)                                                                                                  \
    X(glm4moe)                                                                                               \
    X(gpt_oss)                                                                                               \
    X(granite)                                                                                               \
    X(granitehybrid)                                                                                         \
    X(granitemoe)                                                                                            \
    X(jina_bert_v2)                                                                                          \
    X(lfm2)                                                                                                  \
    X(lfm2moe)                                                                                               \
    X(llama)                                                                                                 \
    X(mamba2)                                                                                                \
    X(mistral3)                                                                                              \
    X(modern_bert)                                                                                           \
    X(nemotron_h)                                                                                            \
    X(nemotron_h_moe)                                                                                        \
    X(nomic_bert)                                                                                            \
    X(phi3)                                                                                                  \
    X(qwen2)                                                                                                 \
    X(qwen2moe)                                                                                              \
    X(qwen2vl)                                                                                               \
    X(qwen3)                                                                                                 \
    X(qwen35)                                                                                                \
    X(qwen35moe)                                                                                             \
    X(qwen3moe)                                                                                              \
    X(qwen3next)                                                                                             \
    X(qwen3vl)                                                                                               \
    X(qwen3vlmoe)                                                                                            \
    X(smollm3)

#define ETNA_DECLARE(name) extern const Architecture name##_architecture;
ETNA_ARCHITECTURES(ETNA_DECLARE)
#undef ETNA_DECLARE

} // namespace etna::model
