#include "core/generate/model.hpp"

#include "core/base/log.hpp"
#include "core/generate/constraint.hpp"
#include "core/model/model.hpp"
#include "core/store/generation_config.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Target duration of a prefill step while other requests may arrive: they wait for up to three such steps.
constexpr double shared_prefill_step_ms = 250;

std::size_t longest_token(const text::Tokenizer& tokenizer) {
    std::size_t bytes = 0;
    for (TokenId token = 0; token < tokenizer.size(); ++token)
        bytes = std::max(bytes, tokenizer.bytes(token).size());
    return bytes;
}

/// Reads the model's generation_config.json. It holds recommendations only, so errors in it do not fail the
/// load.
void read_generation_config(const store::ModelSource& source, SamplingOverrides& overrides,
                            SpeculationOverrides& speculation) {
    if (source.path.empty())
        return;
    if (const auto config = store::generation_config_beside(source.path)) {
        apply(*config, overrides);
        speculation = over(recommended_speculation(*config), speculation);
    } else {
        log(LogLevel::warning, fmt::format("ignoring {}", config.error().message));
    }
}

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

/// Returns the pooling of embeddings, see LoadOptions::pooling. Errors: those of read_pooling().
Result<Pooling> pooling_of(const gguf::File& file, std::optional<Pooling> requested, bool is_encoder) {
    ETNA_TRY(const Pooling own, read_pooling(file, is_encoder ? Pooling::mean : Pooling::last));
    const bool has_head = file.find_tensor("cls.output.weight") != nullptr;
    return requested == Pooling::rank && !has_head ? own : requested.value_or(own);
}

} // namespace

Result<gguf::File> open_file(const store::ModelSource& source) {
    if (source.path.empty())
        return gguf::File::parse(source.bytes, source.name);
    return source.parts.empty() ? gguf::File::open(source.path) : gguf::File::open(source.parts);
}

uint64_t trained_context(const gguf::File& file) {
    const auto architecture = file.text("general.architecture");
    if (!architecture)
        return 0;
    return file.unsigned_integer(fmt::format("{}.context_length", *architecture)).value_or(0);
}

Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice) {
    ETNA_TRY(const gguf::File file, open_file(source));
    ETNA_CHECK(model::check_model(file));
    ETNA_TRY(const auto tokenizer, text::Tokenizer::create(file));
    ETNA_TRY(const auto formats, ChatFormats::read(file, tokenizer, choice));
    const auto format = formats.find({});
    const bool is_chosen = !choice.name.empty() || !choice.text.empty();
    if (!format && is_chosen)
        return format.error();
    return ModelSummary{.trained_context_tokens = trained_context(file),
                        .can_chat = format.has_value(),
                        .stand_in_template = formats.guessed(),
                        .description = description_of(file),
                        .abilities = abilities_of(file, tokenizer, formats)};
}

Result<Model> Model::load(const store::ModelSource& source, const LoadOptions& options,
                          const runtime::ExecutorFactory& factory) {
    const auto start = std::chrono::steady_clock::now();
    ETNA_TRY(const gguf::File file, open_file(source));
    ETNA_TRY(text::Tokenizer tokenizer, text::Tokenizer::create(file));
    ETNA_TRY(ChatFormats chat, ChatFormats::read(file, tokenizer, options.chat_template));
    // The draft model first, because the model's cache takes the remaining memory.
    ETNA_TRY(runtime::LoadedExecutor draft, load_draft(options.draft, tokenizer, options.executor, factory));
    runtime::ExecutorOptions executor_options = options.executor;
    executor_options.has_draft_head = options.executor.has_draft_head && !draft.executor;
    executor_options.memory_bytes_max -= std::min(executor_options.memory_bytes_max, draft.memory_bytes);
    executor_options.client = draft.client; // both belong to one engine, and so take turns as one
    ETNA_TRY(runtime::LoadedExecutor loaded, factory(file, executor_options));

    Model model(std::move(tokenizer));
    model.name_ = source.name;
    model.chat_ = std::move(chat);
    model.recommended_ = generate::recommended_sampling(file);
    model.speculation_ = options.speculation;
    const engine::Limits& limits = loaded.executor->limits();
    ETNA_TRY(model.pooling_, pooling_of(file, options.pooling, limits.is_encoder));
    ETNA_TRY(model.embedding_head_, EmbeddingHead::read(file, model.pooling_, limits.width));
    if (model.pooling_ == Pooling::rank)
        model.pair_format_ = PairFormat::read(file, model.tokenizer_);
    read_generation_config(source, model.recommended_, model.speculation_);
    model.recommended_ = over(options.sampling, model.recommended_);
    model.system_ = options.system;
    model.request_defaults_ = options.requests;
    model.infill_tokens_ = text::find_infill_tokens(file, model.tokenizer_);
    model.sampling_ = with_overrides({}, model.recommended_);
    model.trained_context_tokens_ = trained_context(file);
    model.longest_token_bytes_ = longest_token(model.tokenizer_);
    model.device_name_ = std::move(loaded.device_name);
    model.on_cpu_ = loaded.on_cpu;
    model.is_context_requested_ = options.executor.context_tokens > 0;
    model.memory_bytes_ = loaded.memory_bytes + draft.memory_bytes;
    model.device_use_ = sum_of(loaded.device_use, draft.device_use);
    model.has_adapted_kv_type_ = loaded.has_adapted_kv_type;
    model.host_experts_ = loaded.host_experts;
    model.memory_ = std::move(loaded.memory);
    model.device_ = std::move(loaded.device);
    model.draft_device_ = std::move(draft.device);
    model.has_draft_model_ = draft.executor != nullptr;
    ETNA_TRY(model.engine_,
             engine::Engine::create(
                 std::move(loaded.executor),
                 {.queue_max = options.executor.queue_max,
                  .prefill_step_ms = options.executor.sequences_max > 1 ? shared_prefill_step_ms : 0},
                 std::move(draft.executor)));
    model.load_ms_ =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return model;
}

std::optional<runtime::DeviceMemory> Model::device_memory() const {
    return memory_ ? std::optional(memory_()) : std::nullopt;
}

std::vector<std::string> Model::memory_notes() const {
    std::vector<std::string> notes;
    if (!is_context_requested_ && context_tokens() < trained_context_tokens()) {
        notes.push_back(fmt::format("memory limits the context to {} of the model's {} tokens{}",
                                    context_tokens(), trained_context_tokens(),
                                    has_adapted_kv_type_ ? ", with keys and values in q8_0" : ""));
    } else if (has_adapted_kv_type_) {
        notes.push_back(
            fmt::format("keys and values are in q8_0, because a context of {} tokens does not fit in f16",
                        context_tokens()));
    }
    if (host_experts_.layers > 0)
        notes.push_back(text_of(host_experts_));
    return notes;
}

grammar::GrammarCache& Model::grammars() const {
    std::call_once(grammars_->once, [this] {
        grammars_->grammars = std::make_unique<grammar::GrammarCache>(
            grammar_vocabulary(tokenizer_, engine_->limits().vocabulary));
    });
    return *grammars_->grammars;
}

} // namespace etna::generate
