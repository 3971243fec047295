#pragma once

#include "cli/terminal/conversation_screen.hpp"
#include "cli/tools/consent.hpp"
#include "cli/tools/tool_result.hpp"
#include "cli/tools/tools.hpp"
#include "core/base/cancel.hpp"
#include "core/generate/generation.hpp"

#include <chrono>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Receives the events of a turn and decides for the user.
class TurnDelegate {
public:
    TurnDelegate() = default;
    TurnDelegate(const TurnDelegate&) = delete;
    TurnDelegate& operator=(const TurnDelegate&) = delete;
    virtual ~TurnDelegate() = default;

    /// Called before each generation; may trim the request's conversation to make room. An error ends the
    /// turn.
    virtual Status prepare(generate::Request& /*request*/) { return {}; }
    /// Returns the request without the messages that prepare() could drop.
    virtual generate::Request minimal_request(const generate::Request& request) { return request; }
    virtual generate::SinkResult receive(const generate::Event& event) = 0;
    /// Called periodically, also between events.
    virtual void on_progress(const AnswerProgress& progress) = 0;
    /// Decides whether `command` may be run for this call. May block until `is_cancelled` returns true.
    virtual Permission ask(const output::Call& call, std::string_view command,
                           const CancelPoll& is_cancelled) = 0;
    /// Receives the result of a call: the tool's output, or the reason why it was not run.
    virtual void on_tool_result(const output::Call& call, const ToolResult& result) = 0;
};

/// The outcome of a turn.
struct Turn {
    generate::Finished finished; ///< of the last generation; also cancelled if a tool was stopped
    /// Answers, calls and results, to be appended to the conversation. Every call has a result; for one that
    /// was not run, the reason.
    std::vector<chat::Message> messages;
    std::vector<output::Call> open;   ///< calls without a command to run
    bool has_too_many_rounds = false; ///< the turn needed more than tool_rounds_max
    bool lacks_permission = false;    ///< consent was needed, but there was no terminal to ask at
};

constexpr int tool_rounds_max = 32; ///< generations per turn

/// Tools that the model may call, and how long each may take.
struct ToolUse {
    const Tools& tools;
    std::chrono::seconds time_limit{0}; ///< per call; 0: no limit
    uint32_t answer_tokens = 0;         ///< context tokens that results leave free
};

/// Runs the request, usually a conversation, in a loop: generates, runs the called tools and appends their
/// results, truncated to the room in the context. Ends when the model answers with text, calls a tool that
/// has no command or cannot get consent, is stopped, or has called tools tool_rounds_max times. Blocking.
/// Errors: those of generate::generate() and of the delegate; run_shell()'s go to the model as results.
Result<Turn> run_turn(const generate::Model& model, generate::Request request, const ToolUse& tools,
                      TurnDelegate& delegate, const CancelPoll& is_cancelled);

/// Reports how the turn ended unless its answer shows it: malformed tool calls, or why there is no answer.
/// Returns false if the turn failed: no answer, and the user did not stop it.
bool report_end(Diagnostics& diagnostics, const Turn& turn);

} // namespace etna::cli
