#pragma once

#include "core/generate/generation.hpp"
#include "server/json.hpp"
#include "server/openai/custom_tools.hpp"
#include "server/openai/generation_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace etna::server::openai {

/// The requested output in addition to the text.
struct Delivery {
    bool is_streamed = false;
    bool includes_usage = false;      ///< in a stream: a final usage chunk
    bool counts_each_chunk = false;   ///< in a stream: usage so far in every chunk
    bool tells_prompt = false;        ///< the annotation `formatted_prompt`
    bool tells_tokens = false;        ///< `token_ids`
    bool tells_timing = false;        ///< `timing`
    std::vector<std::string> ignored; ///< unknown fields
    std::vector<std::string> noted;   ///< known API fields without effect
};

/// Marks the OpenAI fields without effect. With `is_kept`, the fields that request storage have an effect.
void note_without_effect(Fields& fields, bool is_kept);

/// Collects the fields without effect, after all have been read.
void read_ignored(const Fields& fields, Delivery& delivery);

/// Whether the client wants unknown fields refused: `etna-strict: 1`.
bool is_strict(const HttpRequest& request);

/// The error for a strict client's unknown fields.
std::optional<ApiError> refuse_unknown(bool is_strict, const Delivery& delivery);

/// Lists the fields without effect in the response's headers.
void tell_ignored(const Delivery& delivery, HttpReply& reply);

/// Converts the events of one choice to stream pieces. Each piece is a complete element of a chunk's
/// `choices`. Not thread-safe.
class ChoiceWriter {
public:
    ChoiceWriter() = default;
    ChoiceWriter(const ChoiceWriter&) = delete;
    ChoiceWriter& operator=(const ChoiceWriter&) = delete;
    virtual ~ChoiceWriter() = default;

    /// The piece before any event, if any.
    virtual std::optional<Json> begin() = 0;

    /// The piece for the event, if any.
    virtual std::optional<Json> take(const generate::Event& event) = 0;

    /// Whether the choice is complete for the client, so that generation can stop.
    [[nodiscard]] virtual bool has_enough() const { return false; }
};

/// Aggregates the stream pieces of one choice into its non-streamed form, so that both share one code path.
class WholeChoice {
public:
    WholeChoice() = default;
    WholeChoice(const WholeChoice&) = delete;
    WholeChoice& operator=(const WholeChoice&) = delete;
    virtual ~WholeChoice() = default;

    virtual void add(const Json& piece) = 0;
    [[nodiscard]] virtual Json result() const = 0;
};

/// A chat completion to be stored (`store`).
struct ChatToKeep {
    Json messages; ///< the request's messages
    Json metadata;
    Json asked; ///< request fields that are repeated in the stored object; null if absent
};

/// A parsed API request: what to generate, and its output format.
struct GenerationCall {
    std::vector<generate::Request> requests; ///< one per prompt
    Delivery delivery;
    /// `prompt`: the prompt tokens of this choice.
    std::function<std::unique_ptr<ChoiceWriter>(uint32_t choice, std::span<const TokenId> prompt)> writer;
    std::function<std::unique_ptr<WholeChoice>()> whole;
    std::vector<void (*)(Json& answer)> rearrange = {}; ///< each transforms a complete response, or a chunk
    std::optional<ChatToKeep> kept = {};                ///< empty: not stored
    std::vector<OfferedTool> tools = {};                ///< as offered to the model
};

/// The context for reading a request body.
struct RequestContext {
    Dialect dialect = Dialect::openai;
    RequestLimits limits;
    sampling::Parameters sampling_defaults = {}; ///< used for absent fields
    const text::Tokenizer* tokenizer = nullptr;  ///< borrowed, the model's
    uint32_t context_tokens = 0;                 ///< the model's
    bool can_fill_gaps = false;                  ///< the model supports fill-in-the-middle
    bool can_keep = false;                       ///< the server stores completions on request
};

/// A generation endpoint: how its request bodies are read, and the names in its responses.
struct EndpointSpec {
    std::string_view endpoint;      ///< for metrics: "chat_completions"
    std::string_view id_prefix;     ///< "chatcmpl-"
    std::string_view object;        ///< "chat.completion"
    std::string_view chunk_object;  ///< "chat.completion.chunk"
    std::string_view prompt_member; ///< "messages"
    /// Errors: 400, with the field.
    std::function<std::variant<GenerationCall, ApiError>(const Json& body, const RequestContext& context)>
        read;
    /// Maps field paths in an error back to the endpoint's own request, if it is converted to a chat; may be
    /// empty.
    std::function<ApiError(ApiError error)> in_own_words = {};
};

/// Stop tokens whose text is included if they end an answer: with include_stop_str_in_output; for control
/// tokens, with skip_special_tokens: false, as in vLLM.
std::vector<std::string> told_stops(const generate::Request& request, const text::Tokenizer& tokenizer);

/// The text of the stop token in `told` that ended the answer; empty if none did.
std::string told_stop(const std::vector<std::string>& told, const generate::Finished& finished);

/// Moves a member from the choices to the root of a complete response or a chunk; if several choices have it,
/// the last one's is used.
void lift(Json& answer, const char* member);

/// Reads `stream`, `stream_options` and `nvext.annotations`, common to all generation endpoints.
void read_delivery(Fields& fields, Delivery& delivery);

} // namespace etna::server::openai
