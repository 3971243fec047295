#include "core/generate/runtime.hpp"

#include "core/generate/model_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Target duration of a prefill step while other requests may arrive: they wait for up to three such steps.
constexpr double shared_prefill_step_ms = 250;

/// Loads the draft model's executor; empty without a draft model.
Result<runtime::LoadedExecutor> load_draft(const store::ModelSource* draft, const text::Tokenizer& tokenizer,
                                           const runtime::ExecutorOptions& options,
                                           const runtime::ExecutorFactory& factory) {
    if (draft == nullptr)
        return runtime::LoadedExecutor{};
    ETNA_TRY(const gguf::File file, open_file(*draft));
    ETNA_TRY(const text::Tokenizer draft_tokenizer, text::Tokenizer::create(file));
    ETNA_CHECK(check_same_vocabulary(tokenizer, draft_tokenizer));
    runtime::ExecutorOptions quiet = options;
    quiet.progress = {};
    quiet.host_expert_layers = 0; // a draft model must be fast
    quiet.has_draft_head = false;
    return factory(file, quiet);
}

runtime::DeviceMemoryUse sum_of(const runtime::DeviceMemoryUse& one, const runtime::DeviceMemoryUse& other) {
    return {.weights_bytes = one.weights_bytes + other.weights_bytes,
            .cache_bytes = one.cache_bytes + other.cache_bytes,
            .total_bytes = one.total_bytes + other.total_bytes};
}

} // namespace

Result<Runtime> Runtime::load(const gguf::File& file, const text::Tokenizer& tokenizer,
                              const store::ModelSource* draft_source, const runtime::ExecutorOptions& options,
                              const runtime::ExecutorFactory& factory) {
    // The draft model first, because the model's cache takes the remaining memory.
    ETNA_TRY(runtime::LoadedExecutor draft, load_draft(draft_source, tokenizer, options, factory));
    runtime::ExecutorOptions executor_options = options;
    executor_options.has_draft_head = options.has_draft_head && !draft.executor;
    executor_options.memory_bytes_max -= std::min(executor_options.memory_bytes_max, draft.memory_bytes);
    executor_options.client = draft.client; // both belong to one engine, and so take turns as one
    ETNA_TRY(runtime::LoadedExecutor loaded, factory(file, executor_options));

    Runtime runtime = {.device_name = std::move(loaded.device_name),
                       .on_cpu = loaded.on_cpu,
                       .memory_bytes = loaded.memory_bytes + draft.memory_bytes,
                       .device_use = sum_of(loaded.device_use, draft.device_use),
                       .is_context_requested = options.context_tokens > 0,
                       .has_adapted_kv_type = loaded.has_adapted_kv_type,
                       .host_experts = loaded.host_experts,
                       .has_draft_model = draft.executor != nullptr,
                       .memory = std::move(loaded.memory),
                       .device = std::move(loaded.device),
                       .draft_device = std::move(draft.device),
                       .engine = nullptr};
    ETNA_TRY(runtime.engine, engine::Engine::create(
                                 std::move(loaded.executor),
                                 {.queue_max = options.queue_max,
                                  .prefill_step_ms = options.sequences_max > 1 ? shared_prefill_step_ms : 0},
                                 std::move(draft.executor)));
    return runtime;
}

DraftModels Runtime::draft_models() const {
    return {.has_model = has_draft_model, .has_head = engine->limits().has_draft_head};
}

std::optional<runtime::DeviceMemory> Runtime::device_memory() const {
    return memory ? std::optional(memory()) : std::nullopt;
}

std::vector<std::string> Runtime::memory_notes(uint64_t trained_context_tokens) const {
    const uint32_t context_tokens = engine->limits().context_tokens;
    std::vector<std::string> notes;
    if (!is_context_requested && context_tokens < trained_context_tokens) {
        notes.push_back(fmt::format("memory limits the context to {} of the model's {} tokens{}",
                                    context_tokens, trained_context_tokens,
                                    has_adapted_kv_type ? ", with keys and values in q8_0" : ""));
    } else if (has_adapted_kv_type) {
        notes.push_back(
            fmt::format("keys and values are in q8_0, because a context of {} tokens does not fit in f16",
                        context_tokens));
    }
    if (host_experts.layers > 0)
        notes.push_back(text_of(host_experts));
    return notes;
}

} // namespace etna::generate
