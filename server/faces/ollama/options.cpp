#include "server/faces/ollama/options.hpp"

#include "core/sampling/history.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::ollama {
namespace {

constexpr int64_t tokens_max = std::numeric_limits<int32_t>::max();
constexpr double temperature_max = 100;
constexpr double penalty_max = 100;
constexpr std::size_t stops_max = 32;

/// Replaces 0 for a probability that must be positive: only the most likely token remains.
constexpr float probability_min = 1e-6F;

/// Options without effect on answers: those for loading, which the operator decides, and those of samplers
/// that this server lacks.
constexpr std::array<std::string_view, 17> without_effect = {
    "num_ctx",   "num_batch",    "num_gpu",      "main_gpu",         "num_thread",       "use_mmap",
    "use_mlock", "numa",         "low_vram",     "f16_kv",           "logits_all",       "vocab_only",
    "tfs_z",     "mirostat_tau", "mirostat_eta", "penalize_newline", "draft_num_predict"};

std::optional<float> as_float(std::optional<double> value) {
    return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
}

std::optional<float> read_probability(Fields& options, std::string_view name) {
    const auto value = as_float(options.number(name, 0, 1));
    return value ? std::optional(std::max(*value, probability_min)) : std::nullopt;
}

void read_sampling(Fields& options, uint32_t vocabulary, generate::SamplingOverrides& overrides) {
    overrides.temperature = as_float(options.number("temperature", 0, temperature_max));
    if (const auto top_k = options.integer("top_k", -1, tokens_max)) // zero and below: all tokens
        overrides.top_k = *top_k > 0 && *top_k < vocabulary ? static_cast<uint32_t>(*top_k) : 0U;
    overrides.top_p = read_probability(options, "top_p");
    overrides.min_p = as_float(options.number("min_p", 0, 1));
    overrides.typical_p = read_probability(options, "typical_p");
    overrides.repetition_penalty =
        as_float(options.number("repeat_penalty", 0, penalty_max, Bound::excluded));
    overrides.presence_penalty = as_float(options.number("presence_penalty", -penalty_max, penalty_max));
    overrides.frequency_penalty = as_float(options.number("frequency_penalty", -penalty_max, penalty_max));
    if (const auto window = options.integer("repeat_last_n", -1, tokens_max)) {
        const uint32_t tokens = *window < 0 ? sampling::full_history : static_cast<uint32_t>(*window);
        overrides.repetition_window_tokens = tokens;
        overrides.presence_window_tokens = tokens;
        overrides.frequency_window_tokens = tokens;
    }
}

void read_lengths(Fields& options, generate::Request& request) {
    constexpr int64_t until_context_is_full = -2; // same as -1 and 0: until the model ends
    const auto limit = options.integer("num_predict", until_context_is_full, tokens_max);
    if (limit && *limit > 0)
        request.max_tokens = static_cast<uint32_t>(*limit);
    request.is_unbounded = limit && *limit <= 0;
    request.stop = options.texts("stop", stops_max).value_or(std::vector<std::string>());
    if (std::ranges::find(request.stop, "") != request.stop.end())
        options.refuse("stop", "must not contain an empty string");
    using Limits = std::numeric_limits<int64_t>;
    const auto seed = options.integer("seed", Limits::min(), Limits::max());
    if (seed != -1) // -1: random
        request.seed = seed;
}

/// Lists the options that the client sets without effect.
void note_rest(Fields& fields, Fields& options) {
    if (options.integer("mirostat", 0, 2).value_or(0) != 0)
        fields.note_nested(options.path_of("mirostat"));
    for (const std::string_view name : without_effect) {
        if (options.any(name) != nullptr)
            fields.note_nested(options.path_of(name));
    }
}

/// Reads which tokens stay when a prompt or an answer is too long for the context.
void read_shift(Fields& options, generate::ContextShift& shift) {
    const auto keep = options.integer("num_keep", -1, tokens_max);
    if (!keep)
        return;
    shift.keep_tokens.reset(); // -1: the entire prompt
    if (*keep >= 0)
        shift.keep_tokens = static_cast<uint32_t>(*keep);
}

} // namespace

void read_options(Fields& fields, const api::RequestContext& context, generate::Request& request) {
    const Json* const given = fields.object("options");
    if (given == nullptr)
        return;
    Fields options(*given, "options");
    read_sampling(options, context.tokenizer->size(), request.sampling);
    read_lengths(options, request);
    read_shift(options, *request.context_shift);
    note_rest(fields, options);
    fields.adopt(options);
}

void note_options(Fields& fields) {
    const Json* const given = fields.object("options");
    if (given == nullptr)
        return;
    for (const auto& [name, value] : given->items())
        fields.note_nested("options." + name);
}

} // namespace etna::server::ollama
