#pragma once

#include "core/base/cancel.hpp"
#include "core/generate/generation.hpp"
#include "server/api/answer_services.hpp"
#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/api/route.hpp"
#include "server/observe/client_activity.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/request_journal.hpp"
#include "server/storage/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::api {

/// Token usage of a request, over all of its prompts and choices.
class Usage {
public:
    /// For a started request; each prompt is counted once.
    Usage(const generate::Generation& generation, std::size_t prompt_count);

    void add(uint32_t choice, const generate::Finished& finished);

    /// Counts the cached tokens of an admitted prompt. Those of its answers are the same.
    void add(std::size_t prompt, const engine::PromptProgress& progress);

    [[nodiscard]] Metrics::Tokens tokens() const;
    [[nodiscard]] uint32_t reasoning_tokens() const { return reasoning_tokens_; }

private:
    uint32_t prompt_tokens_ = 0;
    uint32_t completion_tokens_ = 0;
    uint32_t reasoning_tokens_ = 0;
    uint32_t accepted_drafts_ = 0;
    uint32_t rejected_drafts_ = 0;
    uint32_t choices_per_prompt_ = 1;
    std::vector<uint32_t> cached_tokens_; ///< per prompt: the maximum over its choices
};

/// Returns the error of cancelled work: 503 if the server is shutting down, else 499, because the client
/// disconnected.
ApiError cancelled_error(const AnswerServices& services);

/// The receiver's reply to an event.
enum class Delivery : uint8_t {
    proceed,
    complete,     ///< this choice is complete for the client, and ends
    disconnected, ///< the client is gone
};

/// Receives the events of a choice on the caller's thread.
using EventSink = std::function<Delivery(uint32_t choice, const generate::Event& event)>;

/// A request that generates, from its arrival to its last byte, independent of the API. Not thread-safe.
class ActiveRequest {
public:
    using Clock = std::chrono::steady_clock;

    /// A new request for the named model. `endpoint` labels it in the metrics.
    ActiveRequest(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed,
                  std::string_view endpoint, std::string model_name, bool is_streamed);

    [[nodiscard]] AnswerServices& services() const { return *services_; }
    [[nodiscard]] const std::string& request_id() const { return request_id_; }
    [[nodiscard]] const std::string& model_name() const { return model_name_; }
    /// Null before acquire().
    [[nodiscard]] const Models::Handle& model() const { return model_; }
    [[nodiscard]] Dialect dialect() const { return dialect_; }
    [[nodiscard]] bool is_strict() const { return is_strict_; }
    [[nodiscard]] const storage::Owner& owner() const { return owner_; }
    [[nodiscard]] uint64_t client() const { return client_; }
    [[nodiscard]] uint64_t cache_salt() const { return cache_salt_; }
    /// The engine's priority for a request whose body names `priority`.
    [[nodiscard]] int32_t priority_of(int32_t priority) const;
    /// Sets the priority that the log shows, the one in the body. begin() does this for its call.
    void show_priority(int32_t priority) { priority_ = priority; }
    /// Null before begin().
    [[nodiscard]] const generate::Generation* generation() const {
        return generation_ ? &*generation_ : nullptr;
    }
    /// Precondition of usage(), count_cached() and prompt_count(): begin() has succeeded.
    [[nodiscard]] const Usage& usage() const { return *usage_; }
    /// Counts the cached tokens of the prompts that are admitted. Returns whether all are.
    bool count_cached();
    [[nodiscard]] std::size_t prompt_count() const { return prompt_count_; }
    /// See GenerationCall.
    [[nodiscard]] bool ends_after_call() const { return ends_after_call_; }
    /// Members without effect. Precondition: begin() has succeeded.
    [[nodiscard]] const IgnoredMembers& ignored() const { return ignored_; }

    /// Waits for the model. Errors: those of Models::acquire().
    Status acquire(const CancelPoll& is_cancelled);

    /// Returns the context of a reader. `defaults`: the API's sampling defaults, which the model's
    /// recommendations override. Precondition: the model is acquired.
    [[nodiscard]] RequestContext context(const sampling::Parameters& defaults) const;

    /// The limits of encoding its prompts. Valid as long as this object and `is_cancelled`.
    [[nodiscard]] generate::PromptBudget prompt_budget(const CancelPoll& is_cancelled);

    /// Queues the generation. A refusal is recorded, see record_error(). Precondition: the model is acquired.
    ApiStatus begin(GenerationCall call, const sampling::Parameters& defaults,
                    const CancelPoll& is_cancelled);

    /// Lets other requests of the client end the reasoning of its answers, if it asks for that. `id`: of the
    /// answer, for the client. Precondition: begin() has succeeded.
    void allow_control(std::string_view id) const;

    /// Returns the tokens of a call's only prompt without generating. Errors as begin().
    ApiResult<std::size_t> count_prompt(GenerationCall call, const CancelPoll& is_cancelled);

    /// Runs the generation to its end and counts its tokens. An answer whose time limit expires ends with the
    /// text so far and finish_reason `length`. Errors: those of Generation::finish(), cancelled (the server
    /// shuts down before the answer ends).
    Status run(const EventSink& sink, const CancelPoll& is_cancelled);

    /// Converts a failure to the client's error and records it. A model whose device is lost, or whose engine
    /// has failed, is dropped, so that the next request reloads it.
    ApiError report_failure(const Error& error);

    /// Records the error in the request's metrics and log.
    void record_error(const ApiError& error);

    /// Records the final status: `client_closed_status` also counts a disconnect.
    void end(int status);

    /// The engine embeds the request's texts; then how many tokens they have.
    void begin_embedding() const { activity_->begin_running(); }
    void count_embedded(uint32_t tokens) { embedded_tokens_ = embedded_tokens_.value_or(0) + tokens; }

    /// The journal leaves the request out, because it neither generates nor embeds.
    void leave_journal() { is_in_journal_ = false; }

    /// Records the status of a stream that is never run.
    void expect_stream() { in_flight_->set_status(client_closed_status); }

    /// Returns the log entry for the answer so far.
    [[nodiscard]] AnswerLog log() const;

    /// Returns the generated tokens of a choice so far; counted only if tokens are delivered one by one.
    [[nodiscard]] std::size_t tokens_so_far(uint32_t choice) const { return tokens_so_far_[choice]; }

    /// From the arrival to now; and to the first choice's first token, empty before its end.
    [[nodiscard]] double elapsed_s() const { return in_flight_->elapsed_s(); }
    [[nodiscard]] std::optional<double> first_token_s() const { return first_token_s_; }

    /// From the arrival until the model was in memory; 0 before that.
    [[nodiscard]] double acquired_s() const { return acquired_s_; }

private:
    void adopt(const GenerationCall& call);
    [[nodiscard]] ApiStatus check_prompts() const;
    ApiError refuse(ApiError error);
    void add_adapted(generate::Adapted adapted);
    [[nodiscard]] std::string path_of(const grammar::DroppedKeyword& keyword) const;
    [[nodiscard]] bool is_late() const { return deadline_ && Clock::now() >= *deadline_; }
    [[nodiscard]] bool must_end(const CancelPoll& is_cancelled) const;
    void log_prompts() const;
    void keep_prompt();
    [[nodiscard]] JournalNote journal_note() const;
    void show_answers();
    void update_answers();
    generate::SinkResult take(uint32_t choice, const generate::Event& event, const EventSink& sink);
    [[nodiscard]] std::optional<generate::Event> with_call_id(const generate::Event& event) const;
    void count_tokens(uint32_t choice, const generate::Finished& finished);

    AnswerServices* services_; ///< borrowed; lives as long as the server runs
    std::unique_ptr<InFlight> in_flight_;
    std::unique_ptr<ClientActivity::Request> activity_; ///< null after run()
    std::string client_label_;
    std::string request_id_;
    std::string model_name_;
    Models::Handle model_;
    /// The share of body and prompts; null once they are queued, or if memory is not counted.
    std::shared_ptr<MemoryReservation> memory_;
    Dialect dialect_;
    bool is_strict_;                                 ///< unknown members are refused
    uint64_t cache_salt_ = 0;                        ///< derived from the client's API key
    storage::Owner owner_;                           ///< the owner of stored objects
    uint64_t client_;                                ///< client_of() the request
    std::optional<Clock::time_point> deadline_ = {}; ///< when the request's time limit expires; empty: never

    std::string prompt_member_;
    int32_t priority_ = 0;   ///< that the body names
    int32_t added_priority_; ///< HttpRequest::priority
    std::vector<OfferedTool> tools_;
    std::vector<std::string> constraints_; ///< the members that hold the answer's grammars
    IgnoredMembers ignored_;
    std::string call_id_prefix_; ///< see GenerationCall
    bool ends_after_call_ = false;
    bool asks_for_thinking_ = true; ///< see GenerationCall
    std::optional<generate::Generation> generation_;
    std::optional<Usage> usage_;
    std::size_t prompt_count_ = 0;
    bool was_cancelled_ = false;                  ///< an answer was stopped from outside
    std::vector<bool> is_complete_;               ///< choices that the sink has ended as complete
    std::vector<std::size_t> tokens_so_far_;      ///< tokens of each choice so far
    std::vector<RunningAnswers::Shared> answers_; ///< as other requests see them; empty: they do not
    std::optional<ApiError> error_;               ///< the last one recorded by record_error()
    double acquired_s_ = 0;                       ///< from the arrival until the model was in memory
    std::optional<uint32_t> embedded_tokens_;     ///< of texts; empty: none are embedded
    std::shared_ptr<const std::string> prompt_;   ///< the first one, see ServiceOptions::keeps_prompts
    bool is_in_journal_ = true;
    double queued_s_ = 0;                 ///< from the request's arrival to the engine's queue
    std::optional<double> first_token_s_; ///< from the arrival to the first choice's first token
    std::optional<AnswerTimes> times_;    ///< of the first choice; empty before its end
};

} // namespace etna::server::api
