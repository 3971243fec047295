#include "core/chat/output/opening.hpp"

#include <fmt/format.h>

namespace etna::chat::output {
namespace {

/// What stands in a call's object before the value of its arguments, or before its name.
std::string object_opening(const Members& members, std::string_view name) {
    std::string text = fmt::format("{{\"{}\": \"", members.name.front());
    if (!name.empty()) {
        text +=
            fmt::format("{}\", \"{}\":", name, members.arguments.front()); // a token may begin with the space
    }
    return text;
}

} // namespace

std::string call_opening(const Syntax& syntax, std::string_view name) {
    if (syntax.sections.empty() || syntax.sections.front().open.empty() ||
        syntax.sections.front().calls.empty())
        return {};
    const Section& section = syntax.sections.front();
    std::string text(section.open.front());
    if (section.brackets == Brackets::required)
        text += '[';
    for (const Part& part : section.calls.front()) {
        text += part.text;
        switch (part.slot) {
        case Slot::none:
            continue;
        case Slot::name:
            if (name.empty())
                return text;
            text += name;
            continue;
        case Slot::object:
            return text + object_opening(syntax.members, name);
        default: // ids, numbers and arguments are the model's
            return text;
        }
    }
    return text;
}

} // namespace etna::chat::output
