#pragma once

#include "core/base/result.hpp"
#include "core/engine/engine.hpp"
#include "core/generate/speculation.hpp"
#include "core/gguf/file.hpp"
#include "core/runtime/executor_factory.hpp"
#include "core/store/resolve.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::generate {

/// What runs: an engine with a model's weights, and facts about the device that they are on. Thread-safe
/// once loaded.
struct Runtime {
    /// Uploads the weights of the model, and of a draft model (null: none), to a device and starts the
    /// engine. Blocking. Errors: those of the factory and engine::Engine::create(), and for the draft model
    /// those of open_file(), text::Tokenizer::create() and check_same_vocabulary().
    static Result<Runtime> load(const gguf::File& file, const text::Tokenizer& tokenizer,
                                const store::ModelSource* draft, const runtime::ExecutorOptions& options,
                                const runtime::ExecutorFactory& factory);

    /// Returns the models that the engine can draft with.
    [[nodiscard]] DraftModels draft_models() const;

    /// Current values from the driver; empty without a device.
    [[nodiscard]] std::optional<runtime::DeviceMemory> device_memory() const;

    /// Returns a line for each effect of limited device memory: on the context, the format of keys and
    /// values, or the placement of experts. Empty if memory suffices.
    [[nodiscard]] std::vector<std::string> memory_notes(uint64_t trained_context_tokens) const;

    std::string device_name;   ///< for display
    bool on_cpu = false;       ///< a software device, because no GPU was found
    uint64_t memory_bytes = 0; ///< that the model and its draft model take on the device and in host memory
    runtime::DeviceMemoryUse device_use = {}; ///< the part of memory_bytes on the device
    bool is_context_requested = false;        ///< ExecutorOptions::context_tokens is set
    bool has_adapted_kv_type = false;         ///< see runtime::LoadedExecutor
    model::HostExperts host_experts = {};
    bool has_draft_model = false;
    std::function<runtime::DeviceMemory()> memory = {}; ///< see runtime::LoadedExecutor
    std::shared_ptr<void> device = {}; ///< before the engine, so that it is released after it
    std::shared_ptr<void> draft_device = {};
    std::unique_ptr<engine::Engine> engine; ///< never null
};

} // namespace etna::generate
