#pragma once

#include "cli/consent.hpp"
#include "cli/tool_result.hpp"
#include "cli/tools.hpp"
#include "core/generate/generate.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Who watches a turn and decides for the user.
class TurnWatcher {
public:
    TurnWatcher() = default;
    TurnWatcher(const TurnWatcher&) = delete;
    TurnWatcher& operator=(const TurnWatcher&) = delete;
    virtual ~TurnWatcher() = default;

    /// Before each generation: the place to make room in the request's conversation. An error ends the turn.
    virtual Status prepare(generate::Request& /*request*/) { return {}; }
    /// The request without what prepare() could forget.
    virtual generate::Request essence(const generate::Request& request) { return request; }
    virtual generate::Flow receive(const generate::Event& event) = 0;
    /// Whether `command` may be run for this call. May block until `stop_requested` says so.
    virtual Leave ask(const chat::output::Call& call, std::string_view command,
                      const generate::StopRequested& stop_requested) = 0;
    /// What came of a call: what its tool gave, or why there is nothing.
    virtual void tool_answered(const chat::output::Call& call, const ToolResult& result) = 0;
};

/// What a turn came to.
struct Turn {
    generate::Finished finished; ///< of the last generation; cancelled also where a tool was stopped
    /// Answers, calls and results, to be appended to the conversation. Every call has a result, if only that
    /// and why it was not run.
    std::vector<chat::Message> messages;
    std::vector<chat::output::Call> open; ///< calls that nobody here can run
    bool has_too_many_rounds = false;     ///< tool_rounds_max were not enough
    bool lacks_leave = false;             ///< nobody could say whether a tool may be run
};

constexpr int tool_rounds_max = 32; ///< generations of one turn

/// Tools that the model may call, and how long each may take.
struct ToolUse {
    const Tools& tools;
    std::chrono::seconds time_limit{0}; ///< of one call; 0: none
    uint32_t answer_tokens = 0;         ///< of the context that results leave free
};

/// Lets the model answer the request, a conversation mostly; runs the tools that it calls, tells it what they
/// gave, as much as the context has room for, and lets it go on, until it answers in words, calls what has no
/// command or what nobody can agree to, is stopped, or has called tools tool_rounds_max times. Blocking.
/// Errors: those of generate::generate() and of the watcher; run_shell()'s are told to the model.
Result<Turn> take_turn(const generate::Model& model, generate::Request request, const ToolUse& tools,
                       TurnWatcher& watcher, const generate::StopRequested& stop_requested);

/// Tells how the turn ended where that is not plain from its answer: calls that are none, and why there is no
/// answer. False where there is none and nothing was stopped: the turn has failed.
bool tell_end(Diagnostics& diagnostics, const Turn& turn);

} // namespace etna::cli
