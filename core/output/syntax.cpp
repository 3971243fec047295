#include "core/output/syntax.hpp"

#include "core/output/marks.hpp"

#include <algorithm>

namespace etna::output {

std::vector<std::string_view> Syntax::markers(Calls calls) const {
    std::vector<std::string_view> all;
    const auto add = [&all](std::string_view text) {
        text = trim(text);
        if (!text.empty() && std::find(all.begin(), all.end(), text) == all.end())
            all.push_back(text);
    };
    const auto add_pattern = [&add](const Pattern& pattern) {
        for (const auto& part : pattern)
            add(part.text);
    };
    for (const auto& marks : reasoning) {
        add(marks.open);
        add(marks.close);
    }
    for (const auto text : {messages.body, messages.channel, messages.recipient})
        add(text);
    std::for_each(messages.open.begin(), messages.open.end(), add);
    std::for_each(messages.close.begin(), messages.close.end(), add);
    std::for_each(hidden.begin(), hidden.end(), add);
    if (calls == Calls::none)
        return all;
    for (const auto& section : sections) {
        std::for_each(section.open.begin(), section.open.end(), add);
        std::for_each(section.calls.begin(), section.calls.end(), add_pattern);
        add(section.close);
    }
    add_pattern(parameter);
    for (const auto text : {verbatim_open, verbatim_close, string_mark})
        add(text);
    return all;
}

bool Syntax::is_marker(std::string_view token, Calls calls) const {
    const auto all = markers(calls);
    return !token.empty() && std::any_of(all.begin(), all.end(), [token](std::string_view marker) {
        return marker.find(token) != std::string_view::npos;
    });
}

const Syntax* find_syntax(std::string_view name) {
    const auto& all = syntaxes();
    const auto found =
        std::find_if(all.begin(), all.end(), [name](const Syntax& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace etna::output
