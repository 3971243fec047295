#pragma once

#include "server/base/fields.hpp"

namespace etna::server::openai {

/// The requested output in addition to the text.
struct OutputOptions {
    bool is_streamed = false;
    bool includes_usage = false;    ///< in a stream: a final usage chunk
    bool counts_each_chunk = false; ///< in a stream: usage so far in every chunk
    bool has_timings = false;       ///< llama.cpp's timings: in the response, and in each chunk after a token
    bool includes_prompt = false;   ///< the annotation `formatted_prompt`
    bool includes_prompt_tokens = false; ///< the annotation `token_ids`
    bool includes_timing = false;        ///< the annotation `timing`
};

/// Reads `stream`, `stream_options`, `timings_per_token` and `nvext.annotations`, common to all generation
/// endpoints.
void read_output_options(Fields& fields, OutputOptions& options);

/// Marks the OpenAI fields without effect. With `is_stored`, the fields that request storage have an effect.
void accept_without_effect(Fields& fields, bool is_stored);

} // namespace etna::server::openai
