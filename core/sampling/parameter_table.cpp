#include "core/sampling/parameter_table.hpp"

#include "core/sampling/history.hpp"

#include <algorithm>
#include <array>

namespace etna::sampling {
namespace {

constexpr double float_max = std::numeric_limits<float>::max();
constexpr double uint32_max = std::numeric_limits<uint32_t>::max();

constexpr double temperature_max = 100;
constexpr double sigmas_max = 1000;
constexpr double openai_penalty_max = 2;
constexpr double share_min = 1e-6; ///< of the probability: only the most likely token remains
constexpr double recommended_penalty_min = 1e-3;
constexpr double recommended_count_max = 1 << 30;

constexpr Range any_number = {-float_max, float_max};
constexpr Range temperatures = {0, temperature_max};
constexpr Range counts = {0, tokens_max};
constexpr Range counts_or_all = {-1, tokens_max};
constexpr Range any_count = {-tokens_max, tokens_max};
constexpr Range recommended_counts = {0, recommended_count_max};
constexpr Range shares = {0, 1};
constexpr Range positive_shares = {0, 1, Edge::excluded};
constexpr Range recommended_shares = {share_min, 1};
constexpr Range factors = {0, penalty_max, Edge::excluded};
constexpr Range recommended_factors = {recommended_penalty_min, penalty_max};
constexpr Range penalties = {-penalty_max, penalty_max};
constexpr Range openai_penalties = {-openai_penalty_max, openai_penalty_max};
constexpr Range windows = {-1, tokens_max};

constexpr auto member(float Parameters::* value, std::optional<float> Overrides::* given) {
    return Member<float>{value, given};
}

constexpr auto member(uint32_t Parameters::* value, std::optional<uint32_t> Overrides::* given) {
    return Member<uint32_t>{value, given};
}

// Sources: llama.cpp, tools/server/README.md; Ollama, docs/modelfile.md; OpenAI API 2.3.0; vLLM, sampling
// parameters; OpenVINO Model Server, completions; Dynamo, NvExt; Anthropic, Messages; Hugging Face
// Transformers, GenerationConfig.
constexpr std::array table = {
    Parameter{.name = "temperature",
              .member = member(&Parameters::temperature, &Overrides::temperature),
              .range = {0, float_max},
              .neutral = 1,
              .placeholder = "T",
              .description = "temperature; 0 always takes the likeliest token, higher values vary more",
              .brief = "temperature; 0 takes the likeliest token, higher values vary more",
              .command_line = {"temp", temperatures},
              .modelfile = "temperature",
              .ollama = {"temperature", temperatures},
              .llamacpp = {"temperature", any_number},
              .openai = {"temperature", {0, 2}},
              .ovms = {"temperature", {0, 2}},
              .anthropic = {"temperature", {0, 1}},
              .gguf = {"general.sampling.temp", temperatures},
              .generation_config = {"temperature", temperatures}},
    Parameter{.name = "top_k",
              .member = member(&Parameters::top_k, &Overrides::top_k),
              .unit = Unit::candidates,
              .range = {0, uint32_max},
              .neutral = 0,
              .placeholder = "N",
              .description = "sample from the N likeliest tokens; 0: from all",
              .command_line = {"top-k", counts},
              .modelfile = "top_k",
              .ollama = {"top_k", counts_or_all},
              .llamacpp = {"top_k", any_count},
              .openai = {"top_k", counts_or_all},
              .ovms = {"top_k", counts_or_all},
              .nvext = {"top_k", counts_or_all},
              .anthropic = {"top_k", counts},
              .gguf = {"general.sampling.top_k", recommended_counts},
              .generation_config = {"top_k", recommended_counts}},
    Parameter{.name = "top_p",
              .member = member(&Parameters::top_p, &Overrides::top_p),
              .range = positive_shares,
              .neutral = 1,
              .least = share_min,
              .placeholder = "P",
              .description = "sample from the likeliest tokens with a total probability of P; 1: from all",
              .command_line = {"top-p", positive_shares},
              .modelfile = "top_p",
              .ollama = {"top_p", shares},
              .llamacpp = {"top_p", shares},
              .openai = {"top_p", shares},
              .ovms = {"top_p", positive_shares},
              .anthropic = {"top_p", shares},
              .gguf = {"general.sampling.top_p", recommended_shares},
              .generation_config = {"top_p", recommended_shares}},
    Parameter{.name = "min_p",
              .member = member(&Parameters::min_p, &Overrides::min_p),
              .range = shares,
              .neutral = 0,
              .placeholder = "P",
              .description = "drop tokens less likely than P times the likeliest",
              .command_line = {"min-p", shares},
              .modelfile = "min_p",
              .ollama = {"min_p", shares},
              .llamacpp = {"min_p", shares},
              .openai = {"min_p", shares},
              .ovms = {"min_p", {0, 1, Edge::included, Edge::excluded}},
              .gguf = {"general.sampling.min_p", shares},
              .generation_config = {"min_p", shares}},
    Parameter{.name = "typical_p",
              .member = member(&Parameters::typical_p, &Overrides::typical_p),
              .range = positive_shares,
              .neutral = 1,
              .least = share_min,
              .placeholder = "P",
              .description = "sample from the most typical tokens with a total probability of P (locally "
                             "typical sampling); 1: from all",
              .command_line = {"typical-p", positive_shares},
              .modelfile = "typical_p",
              .ollama = {"typical_p", shares},
              .llamacpp = {"typical_p", shares}},
    Parameter{.name = "top_n_sigma",
              .member = member(&Parameters::top_n_sigma, &Overrides::top_n_sigma),
              .range = {0, float_max},
              .neutral = 0,
              .placeholder = "N",
              .description = "sample from tokens with logits within N standard deviations of the largest; "
                             "0: from all",
              .command_line = {"top-n-sigma", {0, sigmas_max}, -1},
              .llamacpp = {"top_n_sigma", any_number}},
    Parameter{.name = "xtc_probability",
              .member = member(&Parameters::xtc_probability, &Overrides::xtc_probability),
              .range = shares,
              .neutral = 0,
              .placeholder = "P",
              .description = "probability of dropping the top choices, except the least likely of them "
                             "(XTC); 0: never",
              .command_line = {"xtc-probability", shares},
              .llamacpp = {"xtc_probability", shares},
              .gguf = {"general.sampling.xtc_probability", shares}},
    Parameter{.name = "xtc_threshold",
              .member = member(&Parameters::xtc_threshold, &Overrides::xtc_threshold),
              .range = shares,
              .placeholder = "P",
              .description = "minimum probability of a top choice; above 0.5, XTC has no effect",
              .command_line = {"xtc-threshold", shares},
              .llamacpp = {"xtc_threshold", shares},
              .gguf = {"general.sampling.xtc_threshold", shares}},
    Parameter{.name = "min_keep",
              .member = member(&Parameters::min_keep, &Overrides::min_keep),
              .unit = Unit::tokens,
              .range = {0, uint32_max},
              .neutral = 0,
              .placeholder = "N",
              .description = "minimum number of tokens that each of the filters above leaves",
              .command_line = {"min-keep", counts},
              .llamacpp = {"min_keep", counts}},
    Parameter{.name = "repetition_penalty",
              .member = member(&Parameters::repetition_penalty, &Overrides::repetition_penalty),
              .range = factors,
              .neutral = 1,
              .placeholder = "X",
              .description = "penalize tokens of the prompt and the answer; positive logits are divided by "
                             "X, others multiplied; 1: no effect",
              .command_line = {"repeat-penalty", factors},
              .modelfile = "repeat_penalty",
              .ollama = {"repeat_penalty", factors},
              .llamacpp = {"repeat_penalty", factors},
              .openai = {"repetition_penalty", factors},
              .ovms = {"repetition_penalty", factors},
              .nvext = {"repetition_penalty", {0, 2, Edge::excluded}},
              .gguf = {"general.sampling.penalty_repeat", recommended_factors},
              // 1 means no penalty, so it is not a recommendation.
              .generation_config = {"repetition_penalty", recommended_factors, 1}},
    Parameter{.name = "repetition_window_tokens",
              .member = member(&Parameters::repetition_window_tokens, &Overrides::repetition_window_tokens),
              .unit = Unit::window,
              .range = {-1, uint32_max},
              .placeholder = "N",
              .description = "window of --repeat-penalty in tokens; -1: everything",
              .command_line = {"repeat-last-n", windows},
              .modelfile = "repeat_last_n",
              .ollama = {"repeat_last_n", windows},
              .llamacpp = {"repeat_last_n", windows},
              .gguf = {"general.sampling.penalty_last_n", {-1, recommended_count_max}}},
    Parameter{.name = "presence_penalty",
              .member = member(&Parameters::presence_penalty, &Overrides::presence_penalty),
              .range = penalties,
              .neutral = 0,
              .placeholder = "X",
              .description = "subtract X from the logits of tokens that occur in the answer",
              .command_line = {"presence-penalty", penalties},
              .modelfile = "presence_penalty",
              .ollama = {"presence_penalty", penalties},
              .llamacpp = {"presence_penalty", penalties},
              .openai = {"presence_penalty", openai_penalties},
              .ovms = {"presence_penalty", openai_penalties}},
    Parameter{.name = "presence_window_tokens",
              .member = member(&Parameters::presence_window_tokens, &Overrides::presence_window_tokens),
              .unit = Unit::window,
              .range = {-1, uint32_max},
              .placeholder = "N",
              .description = "window of --presence-penalty in tokens of the answer; -1: everything",
              .command_line = {"presence-last-n", windows},
              .ollama = {"repeat_last_n", windows},
              .llamacpp = {"repeat_last_n", windows}},
    Parameter{.name = "frequency_penalty",
              .member = member(&Parameters::frequency_penalty, &Overrides::frequency_penalty),
              .range = penalties,
              .neutral = 0,
              .placeholder = "X",
              .description = "subtract X from a token's logit for each occurrence in the answer",
              .command_line = {"frequency-penalty", penalties},
              .modelfile = "frequency_penalty",
              .ollama = {"frequency_penalty", penalties},
              .llamacpp = {"frequency_penalty", penalties},
              .openai = {"frequency_penalty", openai_penalties},
              .ovms = {"frequency_penalty", openai_penalties}},
    Parameter{.name = "frequency_window_tokens",
              .member = member(&Parameters::frequency_window_tokens, &Overrides::frequency_window_tokens),
              .unit = Unit::window,
              .range = {-1, uint32_max},
              .placeholder = "N",
              .description = "window of --frequency-penalty in tokens of the answer; -1: everything",
              .command_line = {"frequency-last-n", windows},
              .ollama = {"repeat_last_n", windows},
              .llamacpp = {"repeat_last_n", windows}},
    Parameter{.name = "dry_multiplier",
              .member = member(&Parameters::dry_multiplier, &Overrides::dry_multiplier),
              .range = {0, penalty_max},
              .neutral = 0,
              .placeholder = "X",
              .description = "penalize tokens that would continue a repetition in the prompt or answer "
                             "(DRY); subtracts X times --dry-base to the power of the surplus length; 0: no "
                             "effect",
              .command_line = {"dry-multiplier", {0, penalty_max}},
              .llamacpp = {"dry_multiplier", {0, penalty_max}}},
    Parameter{.name = "dry_base",
              .member = member(&Parameters::dry_base, &Overrides::dry_base),
              .range = {1, penalty_max},
              .below = Below::ignored,
              .placeholder = "X",
              .description = "growth of the DRY penalty per repeated token",
              .command_line = {"dry-base", {1, penalty_max}},
              .llamacpp = {"dry_base", {-float_max, penalty_max}}},
    Parameter{.name = "dry_allowed_length",
              .member = member(&Parameters::dry_allowed_length, &Overrides::dry_allowed_length),
              .unit = Unit::tokens,
              .range = {1, uint32_max},
              .placeholder = "N",
              .description = "repetition length from which the DRY penalty grows; shorter ones are free",
              .command_line = {"dry-allowed-length", {1, tokens_max}},
              .llamacpp = {"dry_allowed_length", {1, tokens_max}}},
    Parameter{.name = "dry_window_tokens",
              .member = member(&Parameters::dry_window_tokens, &Overrides::dry_window_tokens),
              .unit = Unit::window,
              .range = {-1, uint32_max},
              .placeholder = "N",
              .description = "window in which DRY searches for repetitions, in tokens; -1: everything",
              .command_line = {"dry-penalty-last-n", windows},
              .llamacpp = {"dry_penalty_last_n", windows}},
};

} // namespace

std::span<const Parameter> parameter_table() {
    return table;
}

const Parameter* find_parameter(Interface interface, std::string_view name) {
    const auto found = std::ranges::find_if(
        table, [&](const Parameter& parameter) { return (parameter.*interface).name == name; });
    return found == table.end() ? nullptr : &*found;
}

double value_of(const Parameters& parameters, const Parameter& parameter) {
    return std::visit(
        [&](auto member) {
            const double value = parameters.*member.value;
            return parameter.unit == Unit::window && value == double{full_history} ? -1 : value;
        },
        parameter.member);
}

void set(Overrides& overrides, const Parameter& parameter, double value) {
    const auto put = [&]<class Number>(const Member<Number>& member) {
        const bool is_all = parameter.unit == Unit::window && value < 0;
        overrides.*member.given = static_cast<Number>(is_all ? double{full_history} : value);
    };
    std::visit(put, parameter.member);
}

} // namespace etna::sampling
