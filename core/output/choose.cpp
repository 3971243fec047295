#include "core/output/choose.hpp"

#include "core/output/marks.hpp"
#include "core/output/parser.hpp"

#include <algorithm>

namespace etna::output {

namespace {

bool fits(const Signs& signs, std::string_view text) {
    const auto stands = [text](std::string_view sign) { return text.find(sign) != std::string_view::npos; };
    return !signs.all.empty() && std::all_of(signs.all.begin(), signs.all.end(), stands) &&
           std::none_of(signs.none.begin(), signs.none.end(), stands);
}

const Syntax& family(std::string_view text, const HasToken& has_token) {
    const auto& all = syntaxes();
    const auto by_text =
        std::find_if(all.begin(), all.end(), [&](const Syntax& one) { return fits(one.signs, text); });
    if (by_text != all.end())
        return *by_text;
    const auto by_token = std::find_if(all.begin(), all.end(), [&](const Syntax& one) {
        return std::any_of(one.signs.tokens.begin(), one.signs.tokens.end(), has_token);
    });
    return by_token == all.end() ? all.back() : *by_token;
}

} // namespace

Syntax choose_syntax(std::string_view template_text, const HasToken& has_token) {
    const HasToken known = has_token ? has_token : [](std::string_view) { return false; };
    Syntax syntax = family(template_text, known);
    for (auto& marks : syntax.reasoning) {
        for (const auto mark : {trim(marks.open), trim(marks.close)}) {
            marks.expected =
                marks.expected || template_text.find(mark) != std::string_view::npos || known(mark);
        }
    }
    return syntax;
}

Syntax syntax_of_told_tools(Syntax own) {
    const Syntax& hermes = *find_syntax("hermes");
    own.name = hermes.name;
    own.sections = hermes.sections;
    own.members = hermes.members;
    own.call_ends_reasoning = hermes.call_ends_reasoning;
    own.messages.function_headers.clear();
    return own;
}

Start start_after(const Syntax& syntax, std::string_view prompt) {
    const auto last = prompt.find_last_not_of(white_space);
    const auto end = prompt.substr(0, last == std::string_view::npos ? 0 : last + 1);
    for (const auto& marks : syntax.reasoning) {
        if (end.ends_with(trim(marks.open)))
            return Start::reasoning;
    }
    std::size_t header = std::string_view::npos;
    for (const auto open : syntax.messages.open) {
        if (const auto at = prompt.rfind(open); at != std::string_view::npos)
            header = header == std::string_view::npos ? at + open.size() : std::max(header, at + open.size());
    }
    if (header == std::string_view::npos)
        return Start::content;
    const auto body = prompt.find(syntax.messages.body, header);
    if (body == std::string_view::npos)
        return Start::header;
    const auto channel = prompt.substr(header, body - header);
    const bool for_model =
        std::any_of(syntax.messages.routes.begin(), syntax.messages.routes.end(), [&](const Route& route) {
            const auto name = route.channel.empty() ? route.recipient : route.channel;
            return route.audience == Audience::model && channel.find(name) != std::string_view::npos;
        });
    return for_model ? Start::reasoning : Start::content;
}

} // namespace etna::output
