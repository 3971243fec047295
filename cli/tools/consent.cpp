#include "cli/tools/consent.hpp"

#include "cli/terminal/printable.hpp"

#include <fmt/format.h>

namespace etna::cli {

void ToolConsent::reset(const Tools& tools, NamedBy by) {
    always_.clear();
    if (consent_ == Consent::given && by == NamedBy::user)
        agreed_by_option_.insert(tools.commands().begin(), tools.commands().end());
}

Permission ToolConsent::ask(const output::Call& call, std::string_view command,
                            const CancelPoll& is_cancelled, Diagnostics& diagnostics) {
    const std::string call_text = fmt::format("the model calls {}", describe(call));
    const std::pair asked(call.name, std::string(command));
    if (agreed_by_option_.contains(asked) || always_.contains(asked)) {
        diagnostics.note(call_text);
        return Permission::granted;
    }
    diagnostics.note(call_text, Length::full); // the user must see the complete call
    const std::string question = fmt::format("run `{}`? [y]es, [N]o, [a]lways: ", printable(command));
    const TerminalAnswer answer = environment_->ask_at_terminal
                                      ? environment_->ask_at_terminal(question, is_cancelled)
                                      : TerminalAnswer();
    if (answer.kind == TerminalAnswer::Kind::stopped)
        return Permission::cancelled;
    if (answer.kind == TerminalAnswer::Kind::no_terminal)
        return Permission::no_terminal;
    const bool is_always = answer.line == "a" || answer.line == "always";
    if (is_always)
        always_.insert(asked);
    return is_always || answer.is_yes() ? Permission::granted : Permission::denied;
}

} // namespace etna::cli
