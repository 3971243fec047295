#pragma once

#include "cli/tools.hpp"
#include "core/generate/generate.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// Who watches a turn and decides for the user.
class TurnWatcher {
public:
    TurnWatcher() = default;
    TurnWatcher(const TurnWatcher&) = delete;
    TurnWatcher& operator=(const TurnWatcher&) = delete;
    virtual ~TurnWatcher() = default;

    virtual generate::Flow receive(const generate::Event& event) = 0;
    /// Whether `command` may be run for this call.
    virtual bool agrees(const chat::output::Call& call, std::string_view command) = 0;
    /// What a tool gave back, as the model is told.
    virtual void tool_answered(const chat::output::Call& call, const std::string& result) = 0;
};

/// What a turn came to.
struct Turn {
    generate::Finished finished;          ///< of the last generation
    std::vector<chat::Message> messages;  ///< answers, calls and results, to be appended to the conversation
    std::vector<chat::output::Call> open; ///< calls that nobody here can run; they are in `messages` too
};

constexpr int tool_rounds_max = 32; ///< generations of one turn

/// Lets the model answer the request, a conversation mostly; runs the tools that it calls, tells it what they
/// gave, and lets it go on, until it answers in words, calls what has no command, is stopped, or has called
/// tools tool_rounds_max times. Blocking. Errors: those of generate::generate(); run_shell()'s are told to
/// the model.
Result<Turn> take_turn(const generate::Model& model, generate::Request request, const Tools& tools,
                       TurnWatcher& watcher, const generate::StopRequested& stop_requested);

} // namespace etna::cli
