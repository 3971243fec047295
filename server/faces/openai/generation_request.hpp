#pragma once

#include "core/generate/collected_answer.hpp"
#include "core/generate/events.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/json.hpp"
#include "server/faces/openai/output_options.hpp"
#include "server/faces/openai/tool_fields.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace etna::server::openai {

/// Converts the events of one choice to stream pieces. Each piece is a complete element of a chunk's
/// `choices`. Not thread-safe.
class ChoiceStream {
public:
    ChoiceStream() = default;
    ChoiceStream(const ChoiceStream&) = delete;
    ChoiceStream& operator=(const ChoiceStream&) = delete;
    virtual ~ChoiceStream() = default;

    /// Returns the piece before any event, if any.
    virtual std::optional<Json> begin() = 0;

    /// Returns the piece for the event, if any.
    virtual std::optional<Json> take(const generate::Event& event) = 0;
};

/// A chat completion to be stored (`store`).
struct ChatToStore {
    Json messages; ///< the request's messages
    Json metadata;
    Json request_fields; ///< fields that the stored object repeats from the request; null if absent
};

/// A parsed request: what to generate, and the format of its output.
struct GenerationRequest {
    api::GenerationCall call;
    OutputOptions output_options;
    /// `prompt`: the prompt tokens of this choice.
    std::function<std::unique_ptr<ChoiceStream>(uint32_t choice, std::span<const TokenId> prompt)>
        make_stream;
    /// Returns the whole choice: an element of a response's `choices`. Precondition: the answer is finished.
    std::function<Json(uint32_t choice, std::span<const TokenId> prompt,
                       const generate::CollectedAnswer& answer)>
        write_choice;
    generate::CollectedAnswer::Options collected = {};   ///< what write_choice needs
    std::vector<void (*)(Json& answer)> transforms = {}; ///< each changes a complete response, or a chunk
    std::optional<ChatToStore> stored_chat = {};         ///< empty: not stored
};

/// Parses the body of POST /v1/chat/completions. Errors: 400, with the field.
ApiResult<GenerationRequest> read_chat(const Json& body, const api::RequestContext& context);

/// Parses the body of POST /v1/completions. Errors: 400, with the field.
ApiResult<GenerationRequest> read_completion(const Json& body, const api::RequestContext& context);

/// A generation endpoint: how its request bodies are read, and the names in its responses.
struct EndpointSpec {
    std::string_view endpoint;     ///< for metrics: "chat_completions"
    std::string_view id_prefix;    ///< "chatcmpl-"
    std::string_view object;       ///< "chat.completion"
    std::string_view chunk_object; ///< "chat.completion.chunk"
    /// Errors: 400, with the field.
    ApiResult<GenerationRequest> (*read)(const Json& body, const api::RequestContext& context);
};

} // namespace etna::server::openai
