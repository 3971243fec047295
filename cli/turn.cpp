#include "cli/turn.hpp"

#include "cli/shell.hpp"
#include "core/base/utf8.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

chat::Message message_of(const chat::output::Output& output) {
    chat::Message message = {
        .role = chat::Role::assistant, .content = output.content, .reasoning = output.reasoning};
    for (const chat::output::Call& call : output.calls)
        message.tool_calls.push_back({call.id, call.name, call.arguments});
    return message;
}

/// What the model is told of a command's end.
std::string told(const Result<ShellOutcome>& outcome) {
    if (!outcome)
        return "error: " + outcome.error().message;
    std::string text = repaired_utf8(outcome->output);
    if (outcome->is_cut)
        text += "\n(more was cut off)";
    if (outcome->is_stopped) {
        text += "\n(the user stopped it)";
    } else if (outcome->exit_code != 0) {
        text += fmt::format("\n(exit code {})", outcome->exit_code);
    }
    return text;
}

class TurnTaker {
public:
    TurnTaker(const generate::Model& model, generate::Request request, const Tools& tools,
              TurnWatcher& watcher, const generate::StopRequested& stop_requested)
        : model_(&model), request_(std::move(request)), tools_(&tools), watcher_(&watcher),
          stop_requested_(&stop_requested) {
        if (request_.transcript == nullptr)
            request_.transcript = &transcript_;
    }
    TurnTaker(const TurnTaker&) = delete;
    TurnTaker& operator=(const TurnTaker&) = delete;
    ~TurnTaker() = default;

    Result<Turn> run() {
        for (int round = 1;; ++round) {
            ETNA_CHECK(generate_once());
            const chat::output::Output& output = turn_.finished.output;
            add(message_of(output));
            if (turn_.finished.finish_reason != generate::FinishReason::tool_calls)
                return std::move(turn_);
            for (const chat::output::Call& call : output.calls) {
                if (tools_->knows(call.name) && tools_->command(call.name).empty())
                    turn_.open.push_back(call);
            }
            if (!turn_.open.empty() || round == tool_rounds_max)
                return std::move(turn_);
            for (const chat::output::Call& call : output.calls)
                answer(call);
        }
    }

private:
    Status generate_once() {
        return generate::generate(
            *model_, request_,
            [this](const generate::Event& event) {
                if (const auto* finished = std::get_if<generate::Finished>(&event))
                    turn_.finished = *finished;
                return watcher_->receive(event);
            },
            *stop_requested_);
    }

    void answer(const chat::output::Call& call) {
        const std::string command(tools_->command(call.name));
        std::string result = "the user did not allow this call";
        if (!tools_->knows(call.name)) {
            result = fmt::format("error: there is no tool `{}`", call.name);
        } else if (watcher_->agrees(call, command)) {
            result = told(run_shell(command, call.arguments, *stop_requested_));
        }
        watcher_->tool_answered(call, result);
        add({.role = chat::Role::tool,
             .content = std::move(result),
             .tool_call_id = call.id,
             .tool_name = call.name});
    }

    void add(chat::Message message) {
        if (auto* conversation = std::get_if<chat::Conversation>(&request_.prompt))
            conversation->messages.push_back(message);
        turn_.messages.push_back(std::move(message));
    }

    const generate::Model* model_; ///< borrowed, as are these
    generate::Request request_;
    const Tools* tools_;
    TurnWatcher* watcher_;
    const generate::StopRequested* stop_requested_;
    generate::Transcript transcript_; ///< of this turn, where the caller keeps none
    Turn turn_;
};

} // namespace

Result<Turn> take_turn(const generate::Model& model, generate::Request request, const Tools& tools,
                       TurnWatcher& watcher, const generate::StopRequested& stop_requested) {
    return TurnTaker(model, std::move(request), tools, watcher, stop_requested).run();
}

} // namespace etna::cli
