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
    [[nodiscard]] std::string_view object() const { return spec_->object; }

    /// Returns {"total_ms": ...} and the other known timings.
    [[nodiscard]] Json timing() const;

    /// Returns llama.cpp's timings of a choice so far.
    [[nodiscard]] Json timings_of_choice(uint32_t choice) const;

private:
    /// Receives the pieces of an answer; returns false to stop.
    using PieceSink = std::function<bool(const Json& piece)>;

    Status run(const PieceSink& deliver, const CancelPoll& is_cancelled);
    [[nodiscard]] Json chunk_of(const Json& piece) const;
    [[nodiscard]] Json usage_so_far(uint32_t choice) const;

    const EndpointSpec* spec_; ///< borrowed
    Json body_;                ///< until begin() has read it
    GenerationRequest request_;
    ResponseEnvelope envelope_;
    std::vector<api::TokenClock> clocks_; ///< of each choice
};

/// Aggregates the pieces of an answer into the response object of a non-streamed request. Not thread-safe.
class AnswerAggregator {
public:
    /// Borrows `job`. Precondition: its generation has started.
    explicit AnswerAggregator(const CompletionJob& job);

    void add(const Json& piece);
    [[nodiscard]] Json json() const;

private:
    const CompletionJob* job_;
    std::vector<std::unique_ptr<ChoiceAggregator>> choices_;
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
