#pragma once

#include "core/generate/request.hpp"
#include "core/text/infill.hpp"
#include "server/api/request_context.hpp"
#include "server/base/fields.hpp"

#include <optional>
#include <vector>

// The prompts of POST /completion and /infill. Source: llama.cpp's tools/server/README.md.
namespace etna::server::llamacpp {

using Prompt = decltype(generate::Request::prompt);

/// The prompts of a request, and whether the client sent a list: the answer then is a list, too.
struct Prompts {
    std::vector<Prompt> prompts;
    bool is_list = false;
};

/// Reads `prompt`: a text, a list of token ids, a mixed list, {"prompt_string"}, or a list of these. Errors
/// are recorded in `fields`.
Prompts read_prompts(Fields& fields, const api::RequestContext& context);

/// Reads `input_prefix`, `input_suffix`, `input_extra` and `prompt`. If the prompt exceeds the context, the
/// start of the extra files is dropped. Errors are recorded in `fields`.
Prompt read_infill_prompt(Fields& fields, const api::RequestContext& context,
                          const std::optional<text::InfillTokens>& tokens);

} // namespace etna::server::llamacpp
