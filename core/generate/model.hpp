#pragma once

#include "core/base/result.hpp"
#include "core/engine/engine.hpp"
#include "core/generate/chat_format.hpp"
#include "core/generate/description.hpp"
#include "core/generate/embedding_head.hpp"
#include "core/generate/pair_format.hpp"
#include "core/generate/pooling.hpp"
#include "core/generate/request.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/generate/speculation.hpp"
#include "core/gguf/file.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "core/runtime/executor_factory.hpp"
#include "core/sampling/parameters.hpp"
#include "core/store/resolve.hpp"
#include "core/text/infill.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace etna::generate {

/// Opens a model's file. Errors: those of gguf::File::open().
Result<gguf::File> open_file(const store::ModelSource& source);

/// Returns the context length that the model was trained for; 0 if the file does not say.
uint64_t trained_context(const gguf::File& file);

/// Facts about a model that need its file but no device.
struct ModelSummary {
    uint64_t trained_context_tokens = 0; ///< 0: the file does not say
    bool can_chat = true;                ///< false: its own chat template is invalid
    std::string stand_in_template; ///< built-in template used because the model has none; empty: not needed
    ModelDescription description = {};
    ModelAbilities abilities = {};
};

/// Runs the checks of a load that depend only on the file's content, without reading weights. Blocking.
/// Errors: those of gguf::File::open(), text::Tokenizer::create(), ChatFormats::read() and
/// model::check_model(), and those of the chosen template.
Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice);

/// Options for loading a model.
struct LoadOptions {
    runtime::ExecutorOptions executor = {};
    SpeculationOverrides speculation = {}; ///< used if neither the request nor generation_config.json sets it
    ChatTemplateChoice chat_template = {};
    /// How embeddings are pooled; empty: as the file says. `rank` has an effect only on files with a head for
    /// it.
    std::optional<Pooling> pooling = {};
    SamplingOverrides sampling = {}; ///< these override the recommendations of the model's file
    std::string system = {};         ///< system message of conversations that have none; empty: none
    RequestDefaults requests = {};
    /// A smaller model of the same vocabulary that drafts tokens, on the same device; borrowed, null: none.
    const store::ModelSource* draft = nullptr;
};

/// A loaded model: the state shared by its requests. Thread-safe for generate() once loaded.
class Model {
public:
    /// Opens and validates the file, builds the tokenizer, uploads the weights to a device and starts the
    /// engine. Blocking. Errors: those of gguf::File::open, text::Tokenizer::create, the factory and
    /// engine::Engine::create, ChatFormats::read and, with a draft model, check_same_vocabulary().
    static Result<Model> load(const store::ModelSource& source, const LoadOptions& options,
                              const runtime::ExecutorFactory& factory);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const text::Tokenizer& tokenizer() const { return tokenizer_; }
    [[nodiscard]] engine::Engine& engine() const { return *engine_; }

    /// Chat formats of the model.
    [[nodiscard]] const ChatFormats& chat() const { return chat_; }

    /// The grammar cache for the model's vocabulary. Built on the first call, which blocks.
    [[nodiscard]] grammar::GrammarCache& grammars() const;

    /// Sampling parameters for requests that set none.
    [[nodiscard]] const sampling::Parameters& sampling_defaults() const { return sampling_; }

    /// LoadOptions::sampling, and recommendations of the model's file and its `generation_config.json`,
    /// without defaults.
    [[nodiscard]] const SamplingOverrides& recommended_sampling() const { return recommended_; }

    /// LoadOptions::system.
    [[nodiscard]] const std::string& system() const { return system_; }

    /// LoadOptions::requests. Callers apply them with fill().
    [[nodiscard]] const RequestDefaults& request_defaults() const { return request_defaults_; }

    /// Speculative decoding settings for requests that set none.
    [[nodiscard]] const SpeculationOverrides& speculation() const { return speculation_; }
    [[nodiscard]] DraftModels draft_models() const {
        return {.has_model = has_draft_model_, .has_head = engine_->limits().has_draft_head};
    }

    /// How embeddings are pooled if a request does not say: by LoadOptions::pooling, else as the file says,
    /// otherwise the mean with an encoder, and the last token without.
    [[nodiscard]] Pooling pooling() const { return pooling_; }
    /// The layers after the file's pooling.
    [[nodiscard]] const EmbeddingHead& embedding_head() const { return embedding_head_; }

    /// How a reranker, a model with Pooling::rank, reads a query and a document.
    [[nodiscard]] const PairFormat& pair_format() const { return pair_format_; }

    /// Tokens for fill-in-the-middle; empty if the model does not support it.
    [[nodiscard]] const std::optional<text::InfillTokens>& infill_tokens() const { return infill_tokens_; }

    /// Maximum tokens per sequence, and the context length that the model was trained for (0 if the file does
    /// not say).
    [[nodiscard]] uint32_t context_tokens() const { return engine_->limits().context_tokens; }
    [[nodiscard]] uint64_t trained_context_tokens() const { return trained_context_tokens_; }

    /// Byte length of the longest token's text.
    [[nodiscard]] std::size_t longest_token_bytes() const { return longest_token_bytes_; }

    /// Returns a line for each effect of limited device memory: on the context, the format of keys and
    /// values, or the placement of experts. Empty if memory suffices.
    [[nodiscard]] std::vector<std::string> memory_notes() const;

    [[nodiscard]] const std::string& device_name() const { return device_name_; }
    [[nodiscard]] bool on_cpu() const { return on_cpu_; }
    /// Current values from the driver; empty without a device.
    [[nodiscard]] std::optional<runtime::DeviceMemory> device_memory() const;
    /// Bytes that the model and its draft model take on the device and in host memory.
    [[nodiscard]] uint64_t memory_bytes() const { return memory_bytes_; }
    /// The part of them on the device.
    [[nodiscard]] const runtime::DeviceMemoryUse& device_use() const { return device_use_; }
    [[nodiscard]] double load_ms() const { return load_ms_; }

private:
    /// Built on first use, because most models never need a grammar.
    struct LazyGrammars {
        std::once_flag once;
        std::unique_ptr<grammar::GrammarCache> grammars;
    };

    explicit Model(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

    std::string name_;
    text::Tokenizer tokenizer_;
    ChatFormats chat_;
    std::unique_ptr<LazyGrammars> grammars_ = std::make_unique<LazyGrammars>();
    SamplingOverrides recommended_;
    std::string system_;
    RequestDefaults request_defaults_;
    std::optional<text::InfillTokens> infill_tokens_;
    sampling::Parameters sampling_;
    SpeculationOverrides speculation_;
    Pooling pooling_ = Pooling::last;
    EmbeddingHead embedding_head_;
    PairFormat pair_format_;
    bool has_draft_model_ = false;
    uint64_t trained_context_tokens_ = 0;
    std::size_t longest_token_bytes_ = 0;
    std::string device_name_;
    bool on_cpu_ = false;
    bool is_context_requested_ = false;
    bool has_adapted_kv_type_ = false;
    model::HostExperts host_experts_;
    uint64_t memory_bytes_ = 0;
    runtime::DeviceMemoryUse device_use_;
    double load_ms_ = 0;
    std::function<runtime::DeviceMemory()> memory_;
    std::shared_ptr<void> device_; // declared before the engine, so released after it
    std::shared_ptr<void> draft_device_;
    std::unique_ptr<engine::Engine> engine_;
};

} // namespace etna::generate
