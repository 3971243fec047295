#pragma once

#include "server/openai/answer_head.hpp"
#include "server/openai/generation_call.hpp"
#include "server/router.hpp"
#include "server/service.hpp"
#include "server/storage/store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// The error of cancelled work: 503 if the server is shutting down, else 499, because the client
/// disconnected.
ApiError ended_early(const Service& service);

/// An active generation request, from its arrival to its last byte. Not thread-safe.
struct Answering {
    using Clock = std::chrono::steady_clock;

    Service* service = nullptr; ///< borrowed; lives as long as the server runs
    const EndpointSpec* kind = nullptr;
    std::unique_ptr<InFlight> in_flight;
    std::string request_id;
    std::string model_name;
    Models::Handle model;
    Json body; ///< until begin() has read it
    std::shared_ptr<MemoryReservation>
        memory; ///< the share of body and prompts; null once they are queued, or if memory is not counted
    Dialect dialect = Dialect::openai;
    bool is_strict = false;  ///< unknown fields are refused
    uint64_t cache_salt = 0; ///< derived from the client's API key
    storage::Owner owner;    ///< the owner of stored objects
    uint64_t client = 0;     ///< client_of() the request
    GenerationCall call;
    AnswerHead head;
    std::optional<generate::Generation> generation;
    std::optional<Usage> usage;
    std::size_t prompts = 0;                        ///< number of prompts of the started generation
    bool was_cut = false;                           ///< an answer was stopped externally
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
    ApiError failed(const Error& error);

    /// Records the error in the request's metrics and log.
    void note(const ApiError& error);

    /// The log entry for the answer so far.
    [[nodiscard]] AnswerLog log() const;

    /// The usage of one choice and its prompt so far; for a request whose tokens are delivered one by one.
    [[nodiscard]] Json usage_so_far(uint32_t choice) const;

    /// {"total_ms": ...} and the other known timings.
    [[nodiscard]] Json timing() const;

private:
    std::optional<ApiError> read();
    std::optional<ApiError> check_prompts() const;
    [[nodiscard]] std::string place_of(const grammar::DroppedKeyword& keyword) const;
    [[nodiscard]] bool is_late() const { return deadline && Clock::now() >= *deadline; }
    void log_prompts() const;
    generate::SinkResult take(ChoiceWriter& writer, uint32_t choice, const generate::Event& event,
                              const std::function<bool(const Json&)>& deliver);
    void count(uint32_t choice, const generate::Finished& finished);

    std::vector<std::size_t> tokens_so_far_; ///< tokens of each choice so far
    std::optional<ApiError> error_;          ///< the last one recorded by note()
    double queued_s_ = 0;                    ///< from the request's arrival to the engine's queue
    std::optional<double> first_token_s_;    ///< from the arrival to the first choice's first token
};

/// Creates the Answering of a new request for the named model. `kind` is borrowed.
std::shared_ptr<Answering> make_answering(Service& service, const HttpRequest& request, const Call& call,
                                          const EndpointSpec& kind, std::string model_name, Json body);

} // namespace etna::server::openai
