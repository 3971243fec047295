#pragma once

#include "core/base/result.hpp"
#include "core/engine/engine.hpp"
#include "core/generate/chat_format.hpp"
#include "core/generate/defaults.hpp"
#include "core/generate/speculation.hpp"
#include "core/gguf/file.hpp"
#include "core/grammar/grammars.hpp"
#include "core/sampling/parameters.hpp"
#include "core/store/resolve.hpp"
#include "core/text/infill.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace etna::generate {

/// Element type of cached keys or values.
enum class KvType : uint8_t { f16, f32, q8_0 };

/// Options for loading a model onto a device.
struct ExecutorOptions {
    uint32_t context_tokens = 0; ///< 0: the model's own, capped by memory
    KvType key_type = KvType::f16;
    KvType value_type = KvType::f16;
    uint64_t kv_memory_bytes = 0;       ///< 0: one context, more for several sequences if memory is plentiful
    uint32_t sequences_max = 1;         ///< maximum number of concurrent sequences
    uint32_t batch_tokens_max = 0;      ///< rows per step over all sequences; 0: 512, and 64 on a CPU
    uint32_t queue_max = 256;           ///< maximum number of waiting requests; more are refused
    std::string device;                 ///< index, UUID or part of a name; empty: the best device
    std::filesystem::path cache_folder; ///< for compiled kernels; empty: no cache
    SpeculationWishes speculation = {}; ///< used if neither the request nor generation_config.json sets it
    std::string plan_as;                ///< vendor to select kernels for; empty: the device's own
    /// Called on the loading thread while weights are uploaded; may be empty.
    std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

/// A device's memory, counting the use of all processes.
struct DeviceMemory {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
};

/// An executor and the device that it uses.
struct LoadedExecutor {
    std::shared_ptr<void> device; ///< keeps alive what the executor borrows; released after it
    std::unique_ptr<engine::Executor> executor;
    std::string device_name;                   ///< for display
    bool on_cpu = false;                       ///< a software device, because there is no GPU
    std::function<DeviceMemory()> memory = {}; ///< thread-safe; may be empty
};

/// Creates an executor for the model in the file. The file is used only during the call.
using ExecutorFactory = std::function<Result<LoadedExecutor>(const gguf::File&, const ExecutorOptions&)>;

/// A loaded model: the state shared by its requests. Thread-safe for generate() once loaded.
class Model {
public:
    /// Opens and validates the file, builds the tokenizer, uploads the weights to a device and starts the
    /// engine. Blocking. Errors: those of gguf::File::open, text::Tokenizer::create, the factory and
    /// engine::Engine::create, ChatFormats::read. `draft`: a smaller model of the same vocabulary that drafts
    /// tokens for it, on the same device; null: none. Errors: also check_same_vocabulary().
    static Result<Model> load(const store::ModelSource& source, const ExecutorOptions& options,
                              const ExecutorFactory& factory, const ChatTemplateChoice& chat_template = {},
                              const store::ModelSource* draft = nullptr);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const text::Tokenizer& tokenizer() const { return tokenizer_; }
    [[nodiscard]] engine::Engine& engine() const { return *engine_; }

    /// Chat formats of the model.
    [[nodiscard]] const ChatFormats& chat() const { return chat_; }

    /// The grammar cache for the model's vocabulary. Built on the first call, which blocks.
    [[nodiscard]] grammar::Grammars& grammars() const;

    /// Sampling parameters used where a caller sets none.
    [[nodiscard]] const sampling::Parameters& sampling_defaults() const { return sampling_; }

    /// Recommendations of the model's file and its `generation_config.json`, without defaults.
    [[nodiscard]] const SamplingWishes& recommended_sampling() const { return recommended_; }

    /// Speculative decoding settings used where a request sets none.
    [[nodiscard]] const SpeculationWishes& speculation() const { return speculation_; }
    [[nodiscard]] bool has_draft_model() const { return has_draft_model_; }

    /// Tokens for fill-in-the-middle; empty if the model does not support it.
    [[nodiscard]] const std::optional<text::InfillTokens>& infill_tokens() const { return infill_tokens_; }

    /// Maximum tokens per sequence, and the context length that the model was trained for (0 if the file does
    /// not say).
    [[nodiscard]] uint32_t context_tokens() const { return engine_->limits().context_tokens; }
    [[nodiscard]] uint64_t trained_context_tokens() const { return trained_context_tokens_; }

    /// Byte length of the longest token's text.
    [[nodiscard]] std::size_t longest_token_bytes() const { return longest_token_bytes_; }

    [[nodiscard]] const std::string& device_name() const { return device_name_; }
    [[nodiscard]] bool on_cpu() const { return on_cpu_; }
    /// Current values from the driver; empty if there is no device.
    [[nodiscard]] std::optional<DeviceMemory> device_memory() const;
    [[nodiscard]] double load_ms() const { return load_ms_; }

private:
    /// Built on first use, because most models never need a grammar.
    struct LazyGrammars {
        std::once_flag once;
        std::unique_ptr<grammar::Grammars> grammars;
    };

    explicit Model(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

    std::string name_;
    text::Tokenizer tokenizer_;
    ChatFormats chat_;
    std::unique_ptr<LazyGrammars> grammars_ = std::make_unique<LazyGrammars>();
    SamplingWishes recommended_;
    std::optional<text::InfillTokens> infill_tokens_;
    sampling::Parameters sampling_;
    SpeculationWishes speculation_;
    bool has_draft_model_ = false;
    uint64_t trained_context_tokens_ = 0;
    std::size_t longest_token_bytes_ = 0;
    std::string device_name_;
    bool on_cpu_ = false;
    double load_ms_ = 0;
    std::function<DeviceMemory()> memory_;
    std::shared_ptr<void> device_; // declared before the engine, so released after it
    std::shared_ptr<void> draft_device_;
    std::unique_ptr<engine::Engine> engine_;
};

} // namespace etna::generate
