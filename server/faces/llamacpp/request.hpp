#pragma once

#include "core/text/infill.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The bodies of POST /completion and /infill. Source: llama.cpp's tools/server/README.md.
namespace etna::server::llamacpp {

/// Options of an answer in addition to its text.
struct OutputOptions {
    bool is_streamed = false;
    bool is_list = false;        ///< the answer is a list, because the client sent a list of prompts
    bool returns_tokens = false; ///< `return_tokens`
    bool returns_progress = false;
    bool has_timings = false;             ///< each piece of a stream has timings
    bool has_probabilities = false;       ///< `n_probs`
    std::vector<std::string> fields = {}; ///< `response_fields`; empty: all
    /// `t_max_predict_ms`: time after the first token at which an answer with a line end is ended.
    std::optional<std::chrono::milliseconds> generation_time_max = {};
};

/// Members that `generation_settings` reports back.
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

/// Parses the body of POST /completion. Members without effect, such as `id_slot` (etna has no slots), are
/// reported. Errors: 400, with the member.
ApiResult<CompletionRequest> read_completion(const Json& body, const api::RequestContext& context);

/// Parses the body of POST /infill. `tokens`: the model's infill tokens. Errors: 400, with the member; 501
/// (the model has no infill tokens).
ApiResult<CompletionRequest> read_infill(const Json& body, const api::RequestContext& context,
                                         const std::optional<text::InfillTokens>& tokens);

} // namespace etna::server::llamacpp
