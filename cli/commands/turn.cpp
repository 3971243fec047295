#include "cli/commands/turn.hpp"

#include "cli/tools/shell.hpp"
#include "cli/tools/tool_result.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

chat::Message message_of(const output::Output& output) {
    chat::Message message = {
        .role = chat::Role::assistant, .content = output.content, .reasoning = output.reasoning};
    for (const output::Call& call : output.calls)
        message.tool_calls.push_back({call.id, call.name, call.arguments});
    return message;
}

class TurnRunner {
public:
    TurnRunner(const generate::Model& model, generate::Request request, const ToolUse& use,
               TurnDelegate& delegate, const CancelPoll& is_cancelled)
        : model_(&model), request_(std::move(request)), use_(use), delegate_(&delegate),
          is_cancelled_(&is_cancelled) {
        if (request_.transcript == nullptr)
            request_.transcript = &transcript_;
    }
    TurnRunner(const TurnRunner&) = delete;
    TurnRunner& operator=(const TurnRunner&) = delete;
    ~TurnRunner() = default;

    Result<Turn> run() {
        for (int round = 1;; ++round) {
            ETNA_CHECK(delegate_->prepare(request_));
            ETNA_CHECK(generate_once());
            const output::Output& output = turn_.finished.output;
            const bool is_cancelled = turn_.finished.finish_reason == generate::FinishReason::cancelled;
            if (!is_cancelled || has_text_or_calls(output))
                add(message_of(output));
            if (output.calls.empty())
                return std::move(turn_);
            std::string obstacle = obstacle_to(output.calls, round);
            std::size_t left = output.calls.size();
            for (const output::Call& call : output.calls) {
                if (obstacle.empty()) {
                    ETNA_TRY(obstacle, answer(call, left--));
                } else {
                    add_result(call, "not run: " + obstacle);
                }
            }
            if (!obstacle.empty())
                return std::move(turn_);
        }
    }

private:
    static bool has_text_or_calls(const output::Output& output) {
        return !output.content.empty() || !output.reasoning.empty() || !output.calls.empty();
    }

    Status generate_once() {
        ETNA_TRY(auto generation, generate::Generation::begin(*model_, request_));
        return generation.finish(
            [this](uint32_t /*choice*/, const generate::Event& event) {
                if (const auto* finished = std::get_if<generate::Finished>(&event))
                    turn_.finished = *finished;
                return delegate_->receive(event);
            },
            [this, &generation] {
                delegate_->on_progress(progress_of(generation));
                return (*is_cancelled_)();
            });
    }

    /// Returns why none of the calls is run; empty if they are.
    std::string obstacle_to(const std::vector<output::Call>& calls, int round) {
        if (turn_.finished.finish_reason == generate::FinishReason::cancelled)
            return stopped;
        if (turn_.finished.finish_reason != generate::FinishReason::tool_calls)
            return "the answer was cut off";
        for (const output::Call& call : calls) {
            if (use_.tools.knows(call.name) && use_.tools.command(call.name).empty())
                turn_.open.push_back(call);
        }
        if (!turn_.open.empty())
            return fmt::format("`{}` has no command", turn_.open.front().name);
        turn_.has_too_many_rounds = round == tool_rounds_max;
        return turn_.has_too_many_rounds ? fmt::format("tools were called {} times already", round - 1)
                                         : std::string();
    }

    /// Adds the call's result. `calls_left`: calls of this round without a result, this one included. Returns
    /// why no further call is run; empty if the turn continues.
    Result<std::string> answer(const output::Call& call, std::size_t calls_left) {
        const std::string command(use_.tools.command(call.name));
        if (!use_.tools.knows(call.name)) {
            report(call,
                   {.content = fmt::format("error: there is no tool `{}`", call.name), .has_failed = true});
            return std::string();
        }
        switch (delegate_->ask(call, command, *is_cancelled_)) {
        case Permission::cancelled:
            return stop(call);
        case Permission::no_terminal:
            turn_.lacks_permission = true;
            return not_run(call, "there is no terminal to ask for permission");
        case Permission::denied:
            report(call, {.content = "the user did not allow this call", .has_failed = true});
            return std::string();
        case Permission::granted:
            break;
        }
        const auto outcome = run_shell(command, call.arguments, {.time = use_.time_limit}, *is_cancelled_);
        ToolResult result = tool_result(outcome, use_.time_limit);
        ETNA_CHECK(fit(call, result, calls_left));
        report(call, std::move(result));
        if (outcome && outcome->end == ShellEnd::stopped) {
            turn_.finished.finish_reason = generate::FinishReason::cancelled;
            return std::string(stopped);
        }
        return std::string();
    }

    std::string stop(const output::Call& call) {
        turn_.finished.finish_reason = generate::FinishReason::cancelled;
        return not_run(call, stopped);
    }

    std::string not_run(const output::Call& call, std::string why) {
        add_result(call, "not run: " + why);
        return why;
    }

    /// Truncates the result to the room in the context, with space reserved for an answer.
    Status fit(const output::Call& call, ToolResult& result, std::size_t calls_left) {
        generate::Request request = delegate_->minimal_request(request_);
        std::get<chat::Conversation>(request.prompt).messages.push_back(result_of(call, {}));
        const ResultLimits limits = {.answer_tokens = use_.answer_tokens, .calls = calls_left};
        ETNA_TRY(result.bytes_left_out, fit_result(*model_, std::move(request), limits, result.content));
        return {};
    }

    void report(const output::Call& call, ToolResult result) {
        delegate_->on_tool_result(call, result);
        add_result(call, std::move(result.content));
    }

    static chat::Message result_of(const output::Call& call, std::string text) {
        return {.role = chat::Role::tool,
                .content = std::move(text),
                .tool_call_id = call.id,
                .tool_name = call.name};
    }

    void add_result(const output::Call& call, std::string text) { add(result_of(call, std::move(text))); }

    void add(chat::Message message) {
        if (auto* conversation = std::get_if<chat::Conversation>(&request_.prompt))
            conversation->messages.push_back(message);
        turn_.messages.push_back(std::move(message));
    }

    static constexpr const char* stopped = "the user stopped this turn";

    const generate::Model* model_; ///< borrowed, as are these
    generate::Request request_;
    ToolUse use_;
    TurnDelegate* delegate_;
    const CancelPoll* is_cancelled_;
    generate::Transcript transcript_; ///< of this turn, if the caller has none
    Turn turn_;
};

} // namespace

Result<Turn> run_turn(const generate::Model& model, generate::Request request, const ToolUse& tools,
                      TurnDelegate& delegate, const CancelPoll& is_cancelled) {
    return TurnRunner(model, std::move(request), tools, delegate, is_cancelled).run();
}

bool report_end(Diagnostics& diagnostics, const Turn& turn) {
    for (const std::string& broken : turn.finished.output.broken)
        diagnostics.warning(fmt::format("malformed tool call: {}", broken));
    if (turn.has_too_many_rounds) {
        diagnostics.error(
            {ErrorKind::invalid_argument,
             fmt::format("the model called tools {} times: the turn ends here", tool_rounds_max)});
    }
    if (turn.lacks_permission) {
        diagnostics.error({ErrorKind::invalid_argument,
                           "there is no terminal to ask whether the tool may run: the turn ends here",
                           "use --yes to run the commands of tools files that you name"});
    }
    return !turn.has_too_many_rounds && !turn.lacks_permission;
}

} // namespace etna::cli
