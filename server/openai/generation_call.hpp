#pragma once

#include "core/generate/generate.hpp"
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

/// What a client wants beside the text.
struct Delivery {
    bool is_streamed = false;
    bool includes_usage = false;      ///< in a stream: a last chunk with the counts
    bool counts_each_chunk = false;   ///< and in each chunk those so far
    bool tells_prompt = false;        ///< the annotation `formatted_prompt`
    bool tells_tokens = false;        ///< `token_ids`
    bool tells_timing = false;        ///< `timing`
    std::vector<std::string> ignored; ///< members that nobody knows here
    std::vector<std::string> noted;   ///< members of the API that have no effect here
};

/// Notes what of OpenAI's API changes nothing here. `is_kept`: what asks for the answer to be kept does.
void note_without_effect(Fields& fields, bool is_kept);

/// The members without effect, after all have been read.
void read_ignored(const Fields& fields, Delivery& delivery);

/// Whether the client wants unknown members refused: `etna-strict: 1`.
bool is_strict(const HttpRequest& request);

/// What a strict client is told of unknown members.
std::optional<ApiError> refuse_unknown(bool is_strict, const Delivery& delivery);

/// Puts the members without effect into the answer's headers.
void tell_ignored(const Delivery& delivery, HttpReply& reply);

/// Turns the events of one choice into the pieces of a stream. Each piece is a whole choice, as it stands in
/// a chunk's `choices`. Not thread-safe.
class ChoiceWriter {
public:
    ChoiceWriter() = default;
    ChoiceWriter(const ChoiceWriter&) = delete;
    ChoiceWriter& operator=(const ChoiceWriter&) = delete;
    virtual ~ChoiceWriter() = default;

    /// The piece before any event, if there is one.
    virtual std::optional<Json> begin() = 0;

    /// What the event adds, if anything.
    virtual std::optional<Json> take(const generate::Event& event) = 0;

    /// Whether the client wants nothing after what it has got.
    [[nodiscard]] virtual bool has_enough() const { return false; }
};

/// Adds the pieces of one choice up to what a client gets that asked for no stream: one way for both.
class WholeChoice {
public:
    WholeChoice() = default;
    WholeChoice(const WholeChoice&) = delete;
    WholeChoice& operator=(const WholeChoice&) = delete;
    virtual ~WholeChoice() = default;

    virtual void add(const Json& piece) = 0;
    [[nodiscard]] virtual Json result() const = 0;
};

/// A chat that is to be found again (`store`).
struct ChatToKeep {
    Json messages; ///< of the request
    Json metadata;
    Json asked; ///< members of the request that are told with the answer; null where they are absent
};

/// A request of the API, read: what is to be generated, and how it is told.
struct GenerationCall {
    std::vector<generate::Request> requests; ///< one for each prompt
    Delivery delivery;
    /// `prompt`: the tokens that the model was given for this choice.
    std::function<std::unique_ptr<ChoiceWriter>(uint32_t choice, std::span<const TokenId> prompt)> writer;
    std::function<std::unique_ptr<WholeChoice>()> whole;
    std::vector<void (*)(Json& answer)> rearrange = {}; ///< each changes a finished answer, or a chunk
    std::optional<ChatToKeep> kept = {};                ///< empty: nothing is kept of it
    std::vector<OfferedTool> tools = {};                ///< as the model has them
};

/// What an endpoint knows before it reads a body.
struct RequestContext {
    Dialect dialect = Dialect::openai;
    RequestLimits limits;
    sampling::Parameters sampling_defaults = {}; ///< where the request says nothing
    const text::Tokenizer* tokenizer = nullptr;  ///< borrowed, the model's
    uint32_t context_tokens = 0;                 ///< the model's
    bool can_fill_gaps = false;                  ///< the model can
    bool can_keep = false;                       ///< the server keeps what it is asked to
};

/// An endpoint that generates: how its bodies are read, and what its answers are called.
struct AnswerKind {
    std::string_view endpoint;      ///< for figures: "chat_completions"
    std::string_view id_prefix;     ///< "chatcmpl-"
    std::string_view object;        ///< "chat.completion"
    std::string_view chunk_object;  ///< "chat.completion.chunk"
    std::string_view prompt_member; ///< "messages"
    /// Errors: 400, with the member.
    std::function<std::variant<GenerationCall, ApiError>(const Json& body, const RequestContext& context)>
        read;
    /// Names places by the members of the endpoint's own requests, if those are made into chats; may be
    /// empty.
    std::function<ApiError(ApiError error)> in_own_words = {};
};

/// Stop tokens whose text is told where they end an answer: with include_stop_str_in_output, and of control
/// tokens with skip_special_tokens: false, as vLLM does.
std::vector<std::string> told_stops(const generate::Request& request, const text::Tokenizer& tokenizer);

/// The text of the one of `told` that has ended an answer; empty where none has.
std::string told_stop(const std::vector<std::string>& told, const generate::Finished& finished);

/// Moves a member of the choices to the root of a finished answer, or of a chunk; where several have it, that
/// of the last stays.
void lift(Json& answer, const char* member);

/// `stream`, `stream_options` and `nvext.annotations`, which all endpoints that generate share.
void read_delivery(Fields& fields, Delivery& delivery);

} // namespace etna::server::openai
