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

// In arch/<name>.cpp; granitemoe and granitehybrid in arch/granite.cpp, nemotron_h_moe in
// arch/nemotron_h.cpp, lfm2moe in arch/lfm2.cpp, the text models of Qwen's
// vision models in arch/qwen_vl.cpp.
extern const Architecture bert_architecture;
extern const Architecture deepseek2_architecture;
extern const Architecture falcon_h1_architecture;
extern const Architecture gemma2_architecture;
extern const Architecture gemma3_architecture;
extern const Architecture gemma3n_architecture;
extern const Architecture gemma4_architecture;
extern const Architecture gemma_embedding_architecture;
extern const Architecture glm4_architecture;
extern const Architecture glm4moe_architecture;
extern const Architecture gpt_oss_architecture;
extern const Architecture granite_architecture;
extern const Architecture granitehybrid_architecture;
extern const Architecture granitemoe_architecture;
extern const Architecture jina_bert_v2_architecture;
extern const Architecture lfm2_architecture;
extern const Architecture lfm2moe_architecture;
extern const Architecture llama_architecture;
extern const Architecture mamba2_architecture;
extern const Architecture mistral3_architecture;
extern const Architecture modern_bert_architecture;
extern const Architecture nemotron_h_architecture;
extern const Architecture nemotron_h_moe_architecture;
extern const Architecture nomic_bert_architecture;
extern const Architecture phi3_architecture;
extern const Architecture qwen2_architecture;
extern const Architecture qwen2moe_architecture;
extern const Architecture qwen2vl_architecture;
extern const Architecture qwen3_architecture;
extern const Architecture qwen35_architecture;
extern const Architecture qwen35moe_architecture;
extern const Architecture qwen3moe_architecture;
extern const Architecture qwen3next_architecture;
extern const Architecture qwen3vl_architecture;
extern const Architecture qwen3vlmoe_architecture;
extern const Architecture smollm3_architecture;

} // namespace etna::model
