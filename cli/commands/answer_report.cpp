#include "cli/commands/answer_report.hpp"

#include "cli/options/grammar_check.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/duration.hpp"
#include "core/base/json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Json entry(const generate::TokenLogprob& one) {
    Json bytes = Json::array();
    for (const char byte : one.bytes)
        bytes.push_back(static_cast<uint8_t>(byte));
    return {{"token", one.bytes}, {"logprob", one.logprob}, {"bytes", std::move(bytes)}};
}

/// Replaces minus infinity, which JSON cannot represent. Source: vLLM.
constexpr double impossible = -9999;

void add_ranked(Json& entry_json, const generate::TokenLogprob& one, std::size_t rank) {
    entry_json[fmt::format("{}", one.token)] = {
        {"logprob", std::max(one.logprob, impossible)}, {"rank", rank}, {"decoded_token", one.bytes}};
}

/// Quotes text with JSON escapes.
std::string quoted(const std::string& bytes) {
    return dump_json(Json(bytes));
}

/// Formats a token as `-0.0123 " there"`.
std::string described(const generate::TokenLogprob& one) {
    return fmt::format("{:8.4f} {}", one.logprob, quoted(one.bytes));
}

std::string likeliest(std::span<const generate::TokenLogprob> tokens) {
    std::string text;
    for (const generate::TokenLogprob& one : tokens)
        text += (text.empty() ? "  likeliest " : ", ") + described(one);
    return text;
}

/// Returns 0 if no time was measured.
double per_second(double count, double ms) {
    return ms > 0 ? count * ms_per_second / ms : 0;
}

std::string counted_tokens(std::size_t count) {
    return fmt::format("{} token{}", count, count == 1 ? "" : "s");
}

/// One phase: "24 tokens in 0.50 s, 48.0 tok/s"; without the speed if there is nothing to measure.
std::string phase(std::size_t count, double ms, double speed) {
    std::string text = fmt::format("{} in {:.2f} s", counted_tokens(count), ms / ms_per_second);
    if (speed > 0)
        text += fmt::format(", {:.1f} tok/s", speed);
    return text;
}

/// Returns the token ids that correspond to the entries of `prompt_logprobs`, named as in vLLM.
std::vector<TokenId> token_ids(const std::vector<generate::PromptTokenDelta>& prompt) {
    std::vector<TokenId> ids;
    ids.reserve(prompt.size());
    for (const generate::PromptTokenDelta& token : prompt)
        ids.push_back(token.token);
    return ids;
}

/// Returns the option that gives a grammar in this notation.
std::string_view option_of(grammar::Notation notation) {
    switch (notation) {
    case grammar::Notation::json_schema:
        return "--json-schema";
    case grammar::Notation::regex:
        return "--regex";
    case grammar::Notation::choices:
        return "--choice";
    default:
        return "--grammar";
    }
}

} // namespace

Json logprobs_json(std::span<const generate::TokenDelta> tokens) {
    Json content = Json::array();
    for (const generate::TokenDelta& token : tokens) {
        Json one = entry(token.chosen);
        Json& top = one["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& other : token.top)
            top.push_back(entry(other));
        content.push_back(std::move(one));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json prompt_logprobs_json(std::span<const generate::PromptTokenDelta> tokens) {
    Json entries = Json::array();
    for (const generate::PromptTokenDelta& token : tokens) {
        Json& entry_json = entries.emplace_back(nullptr);
        if (!token.likelihood)
            continue;
        entry_json = Json::object();
        for (std::size_t i = 0; i < token.likelihood->top.size(); ++i)
            add_ranked(entry_json, token.likelihood->top[i], i + 1);
        add_ranked(entry_json, token.likelihood->chosen, token.rank);
    }
    return entries;
}

void report_prompt_logprobs(Diagnostics& diagnostics, std::span<const generate::PromptTokenDelta> tokens) {
    for (const generate::PromptTokenDelta& token : tokens) {
        if (!token.likelihood) {
            diagnostics.line(fmt::format("prompt  {:8} {}", "", quoted(token.bytes)));
            continue;
        }
        diagnostics.line(fmt::format("prompt  {}  rank {}{}", described(token.likelihood->chosen), token.rank,
                                     likeliest(token.likelihood->top)));
    }
}

void report_logprobs(Diagnostics& diagnostics, std::span<const generate::TokenDelta> tokens) {
    for (const generate::TokenDelta& token : tokens) {
        diagnostics.line(fmt::format("logprob {}{}", described(token.chosen), likeliest(token.top)));
    }
}

double tokens_per_second(const generate::Finished& finished) {
    if (finished.tokens.size() < 2)
        return 0;
    return per_second(static_cast<double>(finished.tokens.size() - 1), finished.timings.generation_ms);
}

std::string why_incomplete(const generate::Finished& finished, std::optional<uint32_t> max_tokens) {
    if (finished.finish_reason == generate::FinishReason::cancelled)
        return std::string(stopped_early);
    if (finished.finish_reason != generate::FinishReason::length || max_tokens == 0U)
        return {};
    const bool has_all_tokens = max_tokens && finished.tokens.size() >= *max_tokens;
    return has_all_tokens ? fmt::format("--max-tokens {} reached", *max_tokens) : "the context is full";
}

std::optional<Error> cut_off_answer(const generate::Finished& finished, std::string_view text,
                                    const GenerationOptions& options) {
    const std::string why = why_incomplete(finished, options.max_tokens);
    if (!options.grammar || why.empty() || finished.finish_reason != generate::FinishReason::length)
        return std::nullopt;
    grammar::Description description = *options.grammar;
    description.spacing = options.json_spacing;
    if (is_complete_text(std::move(description), text))
        return std::nullopt;
    const bool is_full = !options.max_tokens || finished.tokens.size() < *options.max_tokens;
    return Error{ErrorKind::invalid_argument,
                 fmt::format("the answer is cut off and does not match {}: {}",
                             option_of(options.grammar->notation), why),
                 is_full ? "raise --ctx-size, or shorten the prompt" : "raise --max-tokens"};
}

std::string call_lines(const std::vector<output::Call>& calls) {
    std::string lines;
    for (const output::Call& call : calls)
        lines += call_json(call) + "\n";
    return lines;
}

std::string json_report(const generate::Model& model, const Reported& answer) {
    const generate::Finished& finished = answer.finished;
    Json report;
    report["model"] = model.file().name;
    if (answer.index)
        report["index"] = *answer.index;
    report["text"] = answer.text;
    if (!finished.output.reasoning.empty())
        report["reasoning"] = finished.output.reasoning;
    for (const output::Call& call : finished.output.calls) {
        report["tool_calls"].push_back({{"id", call.id},
                                        {"type", "function"},
                                        {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
    report["tokens"] = finished.tokens;
    if (answer.tokens != nullptr)
        report["logprobs"] = logprobs_json(*answer.tokens);
    if (answer.prompt != nullptr) {
        report["prompt_token_ids"] = token_ids(*answer.prompt);
        report["prompt_logprobs"] = prompt_logprobs_json(*answer.prompt);
    }
    report["finish_reason"] = generate::to_string(finished.finish_reason);
    report["seed"] = finished.seed;
    report["usage"] = {
        {"prompt_tokens", finished.prompt_tokens},
        {"prompt_tokens_details", {{"cached_tokens", finished.cached_tokens}}},
        {"completion_tokens", finished.tokens.size() + finished.discarded_tokens},
        {"completion_tokens_details",
         {{"accepted_prediction_tokens", finished.accepted_drafts},
          {"rejected_prediction_tokens", finished.rejected_drafts}}},
        {"total_tokens", finished.prompt_tokens + finished.tokens.size() + finished.discarded_tokens}};
    report["timings"] = {
        {"load_ms", model.load_ms()},
        {"prompt_ms", finished.timings.prompt_ms},
        {"generation_ms", finished.timings.generation_ms},
        {"prompt_tokens_per_second", per_second(finished.prompt_tokens, finished.timings.prompt_ms)},
        {"generation_tokens_per_second", tokens_per_second(finished)}};
    return dump_json(report) + "\n";
}

void verbose_report(Diagnostics& diagnostics, const generate::Model& model,
                    const generate::Finished& finished) {
    diagnostics.line(fmt::format("device      {}", model.runtime().device_name));
    diagnostics.line(fmt::format("load        {:.2f} s, context {}", model.load_ms() / ms_per_second,
                                 counted_tokens(model.context_tokens())));
    diagnostics.line(
        fmt::format("prompt      {}", phase(finished.prompt_tokens, finished.timings.prompt_ms,
                                            per_second(finished.prompt_tokens, finished.timings.prompt_ms))));
    diagnostics.line(
        fmt::format("generation  {}", phase(finished.tokens.size(), finished.timings.generation_ms,
                                            tokens_per_second(finished))));
    if (const uint32_t drafts = finished.accepted_drafts + finished.rejected_drafts; drafts > 0) {
        diagnostics.line(fmt::format("drafts      {} of {} accepted", finished.accepted_drafts, drafts));
    }
    diagnostics.line(
        fmt::format("end         {}, seed {}", generate::to_string(finished.finish_reason), finished.seed));
}

} // namespace etna::cli
