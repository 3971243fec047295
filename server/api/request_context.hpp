#pragma once

#include "core/generate/request.hpp"
#include "core/sampling/parameters.hpp"
#include "core/text/tokenizer.hpp"
#include "server/api/file_texts.hpp"
#include "server/api/reasoning_effort.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace etna::server::api {

/// The rules of a path where servers of the same API differ.
enum class Dialect : uint8_t {
    openai,
    ovms, ///< OpenVINO Model Server: the paths below /v3
};

/// The operator's limits and settings for all requests.
struct RequestLimits {
    uint32_t choices_max = 128;                    ///< per prompt, including choices that are not returned
    uint32_t answers_max = 128;                    ///< per request: prompts times choices
    std::optional<uint32_t> max_tokens_limit;      ///< OVMS: default and ceiling of max_tokens
    std::optional<uint32_t> ignore_eos_max_tokens; ///< ceiling of max_tokens for requests with ignore_eos
    std::optional<uint32_t> prompt_tokens_max;     ///< per prompt, after templating
    bool has_strict_tools = false;                 ///< see generate::Request, like the next two
    generate::StopScope stop_scope = generate::StopScope::content;
    grammar::JsonSpacing json_spacing = grammar::JsonSpacing::single;
    std::optional<uint32_t> reasoning_budget =
        {};                                    ///< tokens of reasoning, unless a request has another limit
    std::string reasoning_budget_message = {}; ///< see generate::ReasoningLimit::message
    EffortBudgets effort_budgets = {};
};

/// Facts about the server and the model for the reader of a request body.
struct RequestContext {
    Dialect dialect = Dialect::openai;
    RequestLimits limits;
    sampling::Parameters sampling_defaults = {}; ///< used for absent fields
    const text::Tokenizer* tokenizer = nullptr;  ///< borrowed, the model's
    uint32_t context_tokens = 0;                 ///< the model's
    bool shifts_context = false;                 ///< see ServiceOptions
    bool supports_infill = false;                ///< the model supports fill-in-the-middle
    bool has_template = true;                    ///< the model or the operator provides a chat template
    bool can_think = true;                       ///< answers of the model may have reasoning before them
    bool can_store = false;                      ///< the server stores completions on request
    /// Charges the request for memory that a reader takes beyond its body; false: there is none. Empty:
    /// memory is not counted.
    std::function<bool(std::size_t bytes)> reserve_memory = {};
    FileTexts files = {};
};

} // namespace etna::server::api
