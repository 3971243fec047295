#include "cli/turn.hpp"

#include "cli/shell.hpp"

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

class TurnTaker {
public:
    TurnTaker(const generate::Model& model, generate::Request request, const ToolUse& use,
              TurnWatcher& watcher, const generate::StopRequested& stop_requested)
        : model_(&model), request_(std::move(request)), use_(use), watcher_(&watcher),
          stop_requested_(&stop_requested) {
        if (request_.transcript == nullptr)
            request_.transcript = &transcript_;
    }
    TurnTaker(const TurnTaker&) = delete;
    TurnTaker& operator=(const TurnTaker&) = delete;
    ~TurnTaker() = default;

    Result<Turn> run() {
        for (int round = 1;; ++round) {
            ETNA_CHECK(watcher_->prepare(request_));
            ETNA_CHECK(generate_once());
            const chat::output::Output& output = turn_.finished.output;
            const bool is_cancelled = turn_.finished.finish_reason == generate::FinishReason::cancelled;
            if (!is_cancelled || says_something(output))
                add(message_of(output));
            if (output.calls.empty())
                return std::move(turn_);
            std::string obstacle = obstacle_to(output.calls, round);
            for (const chat::output::Call& call : output.calls) {
                if (obstacle.empty())
                    obstacle = answer(call);
                else
                    add_result(call, "not run: " + obstacle);
            }
            if (!obstacle.empty())
                return std::move(turn_);
        }
    }

private:
    static bool says_something(const chat::output::Output& output) {
        return !output.content.empty() || !output.reasoning.empty() || !output.calls.empty();
    }

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

    /// Why none of the calls is run; empty where they are.
    std::string obstacle_to(const std::vector<chat::output::Call>& calls, int round) {
        if (turn_.finished.finish_reason == generate::FinishReason::cancelled)
            return stopped;
        if (turn_.finished.finish_reason != generate::FinishReason::tool_calls)
            return "the answer was cut off";
        for (const chat::output::Call& call : calls) {
            if (use_.tools.knows(call.name) && use_.tools.command(call.name).empty())
                turn_.open.push_back(call);
        }
        if (!turn_.open.empty())
            return fmt::format("there is no command for `{}` here", turn_.open.front().name);
        turn_.has_too_many_rounds = round == tool_rounds_max;
        return turn_.has_too_many_rounds ? fmt::format("tools were called {} times already", round - 1)
                                         : std::string();
    }

    /// Adds the call's result. Returns why no other is run; empty where the turn goes on.
    std::string answer(const chat::output::Call& call) {
        const std::string command(use_.tools.command(call.name));
        if (!use_.tools.knows(call.name)) {
            tell(call, {.told = fmt::format("error: there is no tool `{}`", call.name), .has_failed = true});
            return {};
        }
        const Leave leave = watcher_->ask(call, command, *stop_requested_);
        if (leave == Leave::stopped) {
            add_result(call, "not run: " + std::string(stopped));
            return stop();
        }
        if (leave == Leave::refused) {
            tell(call, {.told = "the user did not allow this call", .has_failed = true});
            return {};
        }
        const auto outcome = run_shell(command, call.arguments, {.time = use_.time_limit}, *stop_requested_);
        tell(call, tool_result(outcome, use_.time_limit));
        return outcome && outcome->end == ShellEnd::stopped ? stop() : std::string();
    }

    std::string stop() {
        turn_.finished.finish_reason = generate::FinishReason::cancelled;
        return stopped;
    }

    void tell(const chat::output::Call& call, ToolResult result) {
        watcher_->tool_answered(call, result);
        add_result(call, std::move(result.told));
    }

    void add_result(const chat::output::Call& call, std::string text) {
        add({.role = chat::Role::tool,
             .content = std::move(text),
             .tool_call_id = call.id,
             .tool_name = call.name});
    }

    void add(chat::Message message) {
        if (auto* conversation = std::get_if<chat::Conversation>(&request_.prompt))
            conversation->messages.push_back(message);
        turn_.messages.push_back(std::move(message));
    }

    static constexpr const char* stopped = "the user stopped this turn";

    const generate::Model* model_; ///< borrowed, as are these
    generate::Request request_;
    ToolUse use_;
    TurnWatcher* watcher_;
    const generate::StopRequested* stop_requested_;
    generate::Transcript transcript_; ///< of this turn, where the caller keeps none
    Turn turn_;
};

} // namespace

Result<Turn> take_turn(const generate::Model& model, generate::Request request, const ToolUse& tools,
                       TurnWatcher& watcher, const generate::StopRequested& stop_requested) {
    return TurnTaker(model, std::move(request), tools, watcher, stop_requested).run();
}

} // namespace etna::cli
