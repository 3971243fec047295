#pragma once

#include "core/text/infill.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/api_error.hpp"
#include "server/json.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The bodies of POST /completion and /infill. Source: llama.cpp's tools/server/README.md.
namespace etna::server::llamacpp {

/// What an answer has in addition to its text.
struct OutputOptions {
    bool is_streamed = false;
    bool is_list = false;        ///< the answer is a list, because the client sent several prompts
    bool returns_tokens = false; ///< `return_tokens`
    bool returns_progress = false;
    bool has_timings = false;             ///< each piece of a stream has timings
    bool has_probabilities = false;       ///< `n_probs`
    std::vector<std::string> fields = {}; ///< `response_fields`; empty: all
    /// `t_max_predict_ms`: ends an answer that has a line end, this long after its first token.
    std::optional<std::chrono::milliseconds> generation_time_max = {};
};

/// Members that `generation_settings` repeats.
struct EchoedSettings {
    int64_t n_keep = 0;
    int64_t n_discard = 0;
    std::string grammar = {};
    std::vector<std::string_view> samplers = {};
};

/// A parsed request.
struct CompletionRequest {
    api::GenerationCall call = {};
    OutputOptions output = {};
    EchoedSettings echoed = {};
};

/// Parses the body of POST /completion. Members without effect are reported: `id_slot`, because there are no
/// slots, and more of that kind. Errors: 400, with the member.
ApiResult<CompletionRequest> read_completion(const Json& body, const api::RequestContext& context);

/// Parses the body of POST /infill. `tokens`: the model's. Errors: 400, with the member; 501 (the model has
/// no infill tokens).
ApiResult<CompletionRequest> read_infill(const Json& body, const api::RequestContext& context,
                                         const std::optional<text::InfillTokens>& tokens);

} // namespace etna::server::llamacpp
