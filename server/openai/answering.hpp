#pragma once

#include "server/memory/store.hpp"
#include "server/openai/answer_head.hpp"
#include "server/openai/generation_call.hpp"
#include "server/router.hpp"
#include "server/service.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::openai {

/// What work ended with that was cancelled: 503 where the server ends, else 499, since the client has left.
ApiError ended_early(const Service& service);

/// A request that generates, between its arrival and its last byte. Not thread-safe.
struct Answering {
    using Clock = std::chrono::steady_clock;

    Service* service = nullptr; ///< borrowed, as long as the server runs
    const AnswerKind* kind = nullptr;
    std::unique_ptr<InFlight> in_flight;
    std::string request_id;
    std::string model_name;
    Models::Handle model;
    Json body; ///< until it has been read
    std::shared_ptr<MemoryShare>
        memory; ///< that body and prompts hold; null once they are queued, or nobody counts
    Dialect dialect = Dialect::openai;
    bool is_strict = false;  ///< unknown members are refused
    uint64_t cache_salt = 0; ///< of the client's key
    memory::Owner owner;     ///< of what is kept
    uint64_t client = 0;     ///< client_of() the request
    GenerationCall call;
    AnswerHead head;
    std::optional<generate::Generation> generation;
    std::optional<Usage> usage;
    std::size_t prompts = 0;                        ///< of a generation that has begun
    bool was_cut = false;                           ///< an answer was ended from outside
    std::optional<Clock::time_point> deadline = {}; ///< when the request's time is over; empty: never

    /// Waits for the model. `is_unwanted` is asked meanwhile, here and below: whether nobody waits for the
    /// answer any more. Errors: those of Models::acquire().
    Status acquire(const std::function<bool()>& is_unwanted);

    /// Reads the body and queues the generation. Precondition: `model`. What it refuses is left in the
    /// request's figures.
    std::optional<ApiError> begin(const std::function<bool()>& is_unwanted);

    /// Finishes the generation, and counts its tokens. An answer whose time is over ends as one that is long
    /// enough: with what there is of it, and the finish_reason `length`. `deliver` gets every piece, and
    /// returns false when nobody wants more. Errors: those of Generation::finish(), cancelled (the server
    /// ends before the answer).
    Status run(const std::function<bool(const Json& piece)>& deliver,
               const std::function<bool()>& is_unwanted);

    /// What a client is told of a failure, which is left in the request's figures. A model whose device is
    /// lost, or whose engine has failed, is dropped, so that the next request gets a new one.
    ApiError failed(const Error& error);

    /// Leaves the error in the request's figures and log.
    void note(const ApiError& error);

    /// What is known of the answer by now, for the log.
    [[nodiscard]] AnswerLog log() const;

    /// The counts of one choice, and of its prompt, at this point of the answer; of a request whose tokens
    /// come one by one.
    [[nodiscard]] Json usage_so_far(uint32_t choice) const;

    /// {"total_ms": ...}, and whatever else is known of its time.
    [[nodiscard]] Json timing() const;

private:
    std::optional<ApiError> read();
    std::optional<ApiError> check_prompts() const;
    [[nodiscard]] std::string place_of(const grammar::DroppedKeyword& keyword) const;
    [[nodiscard]] bool is_late() const { return deadline && Clock::now() >= *deadline; }
    void log_prompts() const;
    generate::Flow take(ChoiceWriter& writer, uint32_t choice, const generate::Event& event,
                        const std::function<bool(const Json&)>& deliver);
    void count(uint32_t choice, const generate::Finished& finished);

    std::vector<std::size_t> tokens_so_far_; ///< of each choice
    std::optional<ApiError> error_;          ///< the last one that was noted
    double queued_s_ = 0;                    ///< from the request's arrival to the engine's queue
    std::optional<double> first_token_s_;    ///< from the arrival to the first choice's first token
};

/// A request that has arrived, and is to be answered by the model of that name. `kind` is borrowed.
std::shared_ptr<Answering> make_answering(Service& service, const HttpRequest& request, const Call& call,
                                          const AnswerKind& kind, std::string model_name, Json body);

} // namespace etna::server::openai
