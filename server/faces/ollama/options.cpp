#include "server/faces/ollama/options.hpp"

#include "server/api/parameter_fields.hpp"
#include "server/api/sampling_fields.hpp"

#include <array>
#include <string_view>

namespace etna::server::ollama {
namespace {

using sampling::tokens_max;

/// Options without effect on answers: those for loading, which the operator decides, and those of samplers
/// that this server lacks.
constexpr std::array<std::string_view, 17> without_effect = {
    "num_ctx",   "num_batch",    "num_gpu",      "main_gpu",         "num_thread",       "use_mmap",
    "use_mlock", "numa",         "low_vram",     "f16_kv",           "logits_all",       "vocab_only",
    "tfs_z",     "mirostat_tau", "mirostat_eta", "penalize_newline", "draft_num_predict"};

void read_lengths(Fields& options, generate::Request& request) {
    constexpr int64_t until_context_is_full = -2; // like -1 and 0: until the model ends
    const auto limit = options.integer("num_predict", until_context_is_full, tokens_max);
    if (limit && *limit > 0)
        request.max_tokens = static_cast<uint32_t>(*limit);
    request.is_unbounded = limit && *limit <= 0;
    request.stop = api::read_stop_strings(options);
    request.seed = api::read_seed(options);
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
    api::read_parameters(options, &sampling::Parameter::ollama, context.tokenizer->size(), request.sampling);
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
