#pragma once

#include "server/fields.hpp"
#include "server/http/http.hpp"

#include <string>
#include <vector>

namespace etna::server::openai {

/// The requested output in addition to the text, and the request's fields without effect.
struct OutputOptions {
    bool is_streamed = false;
    bool includes_usage = false;             ///< in a stream: a final usage chunk
    bool counts_each_chunk = false;          ///< in a stream: usage so far in every chunk
    bool includes_prompt = false;            ///< the annotation `formatted_prompt`
    bool includes_prompt_tokens = false;     ///< the annotation `token_ids`
    bool includes_timing = false;            ///< the annotation `timing`
    std::vector<std::string> ignored;        ///< unknown fields
    std::vector<std::string> without_effect; ///< known API fields without effect
};

/// Reads `stream`, `stream_options` and `nvext.annotations`, common to all generation endpoints.
void read_output_options(Fields& fields, OutputOptions& options);

/// Marks the OpenAI fields without effect. With `is_stored`, the fields that request storage have an effect.
void accept_without_effect(Fields& fields, bool is_stored);

/// Collects the unknown fields and those without effect, after all have been read.
void collect_ignored(const Fields& fields, OutputOptions& options);

/// Returns whether the client requests that unknown fields are refused: `etna-strict: 1`.
bool is_strict(const HttpRequest& request);

/// Returns the error for a strict client's unknown fields; empty if there is none.
ApiStatus refuse_unknown(bool is_strict, const OutputOptions& options);

/// Lists the unknown fields and those without effect in the response's header `etna-ignored`.
void report_ignored(const OutputOptions& options, HttpReply& reply);

} // namespace etna::server::openai
