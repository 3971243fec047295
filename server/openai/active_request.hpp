#pragma once

#include "core/generate/generation.hpp"
#include "server/json.hpp"
#include "server/metrics.hpp"
#include "server/openai/generation_call.hpp"
#include "server/router.hpp"
#include "server/service.hpp"
#include "server/storage/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// Token usage of a request, over all of its prompts and choices.
class Usage {
public:
    /// For a started request; each prompt is counted once.
    Usage(const generate::Generation& generation, std::size_t prompt_count);

    void add(uint32_t choice, const generate::Finished& finished);

    [[nodiscard]] Metrics::Tokens tokens() const;
    [[nodiscard]] Json json() const;

private:
    uint32_t prompt_tokens_ = 0;
    uint32_t completion_tokens_ = 0;
    uint32_t reasoning_tokens_ = 0;
    uint32_t accepted_drafts_ = 0;
    uint32_t rejected_drafts_ = 0;
    uint32_t choices_per_prompt_ = 1;
    std::vector<uint32_t> cached_tokens_; ///< per prompt: the maximum over its choices
};

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

/// Returns the error of cancelled work: 503 if the server is shutting down, else 499, because the client
/// disconnected.
ApiError cancelled_error(const Service& service);

/// An active generation request, from its arrival to its last byte. Not thread-safe.
struct ActiveRequest {
    using Clock = std::chrono::steady_clock;

    Service* service = nullptr;         ///< borrowed; lives as long as the server runs
    const EndpointSpec* spec = nullptr; ///< borrowed
    std::unique_ptr<InFlight> in_flight;
    std::string request_id;
    std::string model_name;
    Models::Handle model;
    Json body; ///< until begin() has read it
    /// The share of body and prompts; null once they are queued, or if memory is not counted.
    std::shared_ptr<MemoryReservation> memory;
    Dialect dialect = Dialect::openai;
    bool is_strict = false;  ///< unknown fields are refused
    uint64_t cache_salt = 0; ///< derived from the client's API key
    storage::Owner owner;    ///< the owner of stored objects
    uint64_t client = 0;     ///< client_of() the request
    GenerationCall call;
    ResponseEnvelope envelope;
    std::optional<generate::Generation> generation;
    std::optional<Usage> usage;
    std::size_t prompt_count = 0;                   ///< of the started generation
    bool was_cancelled = false;                     ///< an answer was stopped from outside
    std::optional<Clock::time_point> deadline = {}; ///< when the request's time limit expires; empty: never

    /// Waits for the model. Here and below, `is_cancelled` is polled while waiting: it returns whether the
    /// client has gone. Errors: those of Models::acquire().
    Status acquire(const std::function<bool()>& is_cancelled);

    /// Reads the body and queues the generation. Precondition: `model` is set. A refusal is recorded in the
    /// request's metrics.
    std::optional<ApiError> begin(const std::function<bool()>& is_cancelled);

    /// Runs the generation to its end and counts its tokens. An answer whose time limit expires ends with the
    /// text so far and finish_reason `length`. `deliver` receives every piece, and returns false to stop.
    /// Errors: those of Generation::finish(), cancelled (the server shuts down before the answer ends).
    Status run(const std::function<bool(const Json& piece)>& deliver,
               const std::function<bool()>& is_cancelled);

    /// Converts a failure to the client's error and records it in the request's metrics. A model whose device
    /// is lost, or whose engine has failed, is dropped, so that the next request reloads it.
    ApiError report_failure(const Error& error);

    /// Records the error in the request's metrics and log.
    void record_error(const ApiError& error);

    /// Returns the log entry for the answer so far.
    [[nodiscard]] AnswerLog log() const;

    /// Returns the usage of one choice and its prompt so far; for a request whose tokens are delivered one by
    /// one.
    [[nodiscard]] Json usage_so_far(uint32_t choice) const;

    /// Returns {"total_ms": ...} and the other known timings.
    [[nodiscard]] Json timing() const;

private:
    std::optional<ApiError> read();
    std::optional<ApiError> check_prompts() const;
    [[nodiscard]] std::string path_of(const grammar::DroppedKeyword& keyword) const;
    [[nodiscard]] bool is_late() const { return deadline && Clock::now() >= *deadline; }
    void log_prompts() const;
    generate::SinkResult take(ChoiceStream& stream, uint32_t choice, const generate::Event& event,
                              const std::function<bool(const Json&)>& deliver);
    void count_tokens(uint32_t choice, const generate::Finished& finished);

    std::vector<std::size_t> tokens_so_far_; ///< tokens of each choice so far
    std::optional<ApiError> error_;          ///< the last one recorded by record_error()
    double queued_s_ = 0;                    ///< from the request's arrival to the engine's queue
    std::optional<double> first_token_s_;    ///< from the arrival to the first choice's first token
};

/// Creates the ActiveRequest of a new request for the named model. Borrows `spec`.
std::shared_ptr<ActiveRequest> make_active_request(Service& service, const HttpRequest& request,
                                                   const Call& call, const EndpointSpec& spec,
                                                   std::string model_name, Json body);

/// Aggregates the pieces of an answer into the response object of a non-streamed request. Not thread-safe.
class AnswerAggregator {
public:
    /// Borrows `active`. Precondition: its generation has started.
    explicit AnswerAggregator(const ActiveRequest& active);

    void add(const Json& piece);
    [[nodiscard]] Json json() const;

private:
    const ActiveRequest* active_;
    std::vector<std::unique_ptr<ChoiceAggregator>> choices_;
};

/// Formats a Dynamo annotation (`nvext.annotations`) as a stream event.
std::string annotation_frame(std::string_view name, const Json& value);

/// Calls `send` with each requested prompt annotation: the bare value for one prompt, {"index", NAME} per
/// prompt for several.
void for_each_prompt_annotation(const ActiveRequest& active,
                                const std::function<void(std::string_view name, Json value)>& send);

/// Returns the requested prompt and timing annotations, as a member of a non-streamed response; null if none
/// is requested.
Json annotations_of(const ActiveRequest& active);

/// Stores a chat completion: the client's `object`, with the request fields other than the messages.
/// Precondition: ActiveRequest::call has `stored_chat`. Errors: those of the store.
std::optional<ApiError> store_chat(const ActiveRequest& active, Json object);

} // namespace etna::server::openai
