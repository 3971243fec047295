#include "cli/tools/consent.hpp"

#include "cli/terminal/printable.hpp"

#include <fmt/format.h>

namespace etna::cli {

void ToolConsent::begin_with(const Tools& tools, NamedBy by) {
    always_.clear();
    if (consent_ == Consent::given && by == NamedBy::user)
        by_option_.insert(tools.commands().begin(), tools.commands().end());
}

Leave ToolConsent::ask(const output::Call& call, std::string_view command,
                       const generate::CancelPoll& is_cancelled, Diagnostics& diagnostics) {
    const std::string told = fmt::format("the model calls {}", describe(call));
    const std::pair asked(call.name, std::string(command));
    if (by_option_.contains(asked) || always_.contains(asked)) {
        diagnostics.note(told);
        return Leave::given;
    }
    diagnostics.note(told, Length::whole); // the user must see the whole call
    const std::string question = fmt::format("run `{}`? [y]es, [N]o, [a]lways: ", printable(command));
    const TerminalAnswer answer = environment_->ask_at_terminal
                                      ? environment_->ask_at_terminal(question, is_cancelled)
                                      : TerminalAnswer();
    if (answer.kind == TerminalAnswer::Kind::stopped)
        return Leave::stopped;
    if (answer.kind == TerminalAnswer::Kind::nobody)
        return Leave::nobody;
    const bool is_always = answer.line == "a" || answer.line == "always";
    if (is_always)
        always_.insert(asked);
    return is_always || answer.line == "y" || answer.line == "yes" ? Leave::given : Leave::refused;
}

} // namespace etna::cli
