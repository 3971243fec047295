#pragma once

#include "core/generate/generate.hpp"
#include "server/openai/generation_fields.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::server::openai {

/// What a client wants beside the text.
struct Delivery {
    bool is_streamed = false;
    bool includes_usage = false;      ///< in a stream: a last chunk with the counts
    bool tells_prompt = false;        ///< the annotation `formatted_prompt`
    bool tells_tokens = false;        ///< `token_ids`
    bool tells_timing = false;        ///< `timing`
    std::vector<std::string> ignored; ///< members that have no effect here
};

/// A request for a chat completion.
struct ChatCall {
    generate::Request request;
    Delivery delivery;
    bool has_parallel_calls = true; ///< false: the answer ends after its first call
};

/// What the endpoint knows before it reads the rest.
struct RequestContext {
    Dialect dialect = Dialect::openai;
    RequestLimits limits;
    uint32_t vocabulary = 0;
};

/// The body of POST /v1/chat/completions. Errors: 400, with the member.
std::variant<ChatCall, ApiError> read_chat(const Json& body, const RequestContext& context);

/// `stream`, `stream_options` and `nvext.annotations`, which chat and completions share.
void read_delivery(Fields& fields, Delivery& delivery);

} // namespace etna::server::openai
