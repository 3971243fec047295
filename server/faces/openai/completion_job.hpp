#pragma once

#include "core/base/cancel.hpp"
#include "server/api/answer.hpp"
#include "server/api/timings.hpp"
#include "server/base/json.hpp"
#include "server/faces/openai/generation_request.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::openai {

/// Returns the `usage` object.
Json usage_json(const api::Usage& usage);

/// The members common to all objects of one response.
struct ResponseEnvelope {
    std::string id; ///< "chatcmpl-..."
    std::string object;
    int64_t created_unix_s = 0;
    std::string model;
    int64_t seed = 0; ///< the first choice's; each further choice adds one
};

/// Returns {"id", "object", "created", "model", "system_fingerprint", "seed", "choices": []}.
Json to_json(const ResponseEnvelope& envelope);

/// A chat or completion, from its body to its last byte.
class CompletionJob : public api::Answer {
public:
    /// Borrows `spec`.
    CompletionJob(api::ActiveRequest request, const EndpointSpec& spec, Json body)
        : Answer(std::move(request)), spec_(&spec), body_(std::move(body)) {}

    ApiStatus begin(const CancelPoll& is_cancelled) override;
    ApiResult<std::string> complete(const CancelPoll& is_cancelled) override;
    ApiResult<bool> stream(EventStream& stream) override;
    void send_failure(EventStream& stream, const ApiError& error) override;

    /// Precondition of all functions below: begin() has succeeded.
    [[nodiscard]] const GenerationRequest& request() const { return request_; }
    [[nodiscard]] const ResponseEnvelope& envelope() const { return envelope_; }

    /// Returns {"total_ms": ...} and the other known timings.
    [[nodiscard]] Json timing() const;

    /// Returns llama.cpp's timings of a choice so far.
    [[nodiscard]] Json timings_of_choice(uint32_t choice) const;

private:
    Status run_streams(const std::function<bool(const Json& piece)>& deliver, const CancelPoll& is_cancelled);
    [[nodiscard]] Json whole() const;
    [[nodiscard]] Json chunk_of(const Json& piece) const;
    [[nodiscard]] std::size_t prompt_of(uint32_t choice) const;
    [[nodiscard]] Json usage_so_far(uint32_t choice) const;

    const EndpointSpec* spec_; ///< borrowed
    Json body_;                ///< until begin() has read it
    GenerationRequest request_;
    ResponseEnvelope envelope_;
    std::vector<api::TokenClock> clocks_; ///< of each choice
};

/// Formats a Dynamo annotation (`nvext.annotations`) as a stream event.
std::string annotation_frame(std::string_view name, const Json& value);

/// Calls `send` with each requested prompt annotation: the bare value for one prompt, {"index", NAME} per
/// prompt for several.
void for_each_prompt_annotation(const CompletionJob& job,
                                const std::function<void(std::string_view name, Json value)>& send);

/// Returns the requested prompt and timing annotations, as a member of a non-streamed response; null if none
/// is requested.
Json annotations_of(const CompletionJob& job);

/// Stores a chat completion: the client's `object`, with the request fields other than the messages.
/// Precondition: the request has `stored_chat`. Errors: those of the store.
ApiStatus store_chat(const CompletionJob& job, Json object);

} // namespace etna::server::openai
