#include "core/output/syntax.hpp"

#include "core/output/markers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::output {
namespace {

bool is_detected(const Detection& detection, std::string_view text) {
    const auto occurs = [text](std::string_view sign) { return text.find(sign) != std::string_view::npos; };
    return !detection.all.empty() && std::all_of(detection.all.begin(), detection.all.end(), occurs) &&
           std::none_of(detection.none.begin(), detection.none.end(), occurs);
}

const Syntax& detect_family(std::string_view text, const HasToken& has_token) {
    const auto& all = syntaxes();
    const auto by_text = std::find_if(all.begin(), all.end(),
                                      [&](const Syntax& one) { return is_detected(one.detection, text); });
    if (by_text != all.end())
        return *by_text;
    const auto by_token = std::find_if(all.begin(), all.end(), [&](const Syntax& one) {
        return std::any_of(one.detection.tokens.begin(), one.detection.tokens.end(), has_token);
    });
    return by_token == all.end() ? all.back() : *by_token;
}

} // namespace

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
    for (const auto& pair : reasoning) {
        add(pair.open);
        add(pair.close);
    }
    for (const auto text : {messages.body, messages.channel, messages.recipient})
        add(text);
    std::for_each(messages.open.begin(), messages.open.end(), add);
    std::for_each(messages.close.begin(), messages.close.end(), add);
    std::for_each(hidden.begin(), hidden.end(), add);
    for (const auto& pair : answer) {
        add(pair.open);
        add(pair.close);
    }
    if (calls == Calls::none)
        return all;
    for (const auto& section : sections) {
        std::for_each(section.open.begin(), section.open.end(), add);
        std::for_each(section.calls.begin(), section.calls.end(), add_pattern);
        add(section.close);
        add_pattern(section.parameter);
    }
    for (const auto text : {verbatim_open, verbatim_close, string_delimiter})
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

Syntax detect_syntax(std::string_view template_text, const HasToken& has_token) {
    const HasToken known = has_token ? has_token : [](std::string_view) { return false; };
    Syntax syntax = detect_family(template_text, known);
    const auto occurs = [&](std::string_view marker) {
        return template_text.find(trim(marker)) != std::string_view::npos || known(trim(marker));
    };
    for (auto& pair : syntax.reasoning)
        pair.expected = pair.expected || occurs(pair.open) || occurs(pair.close);
    for (auto& pair : syntax.answer)
        pair.expected = pair.expected || (occurs(pair.open) && occurs(pair.close));
    return syntax;
}

std::vector<std::string_view> call_closes(const Section& section, const Pattern& call) {
    std::vector<std::string_view> all;
    for (const std::string_view close : {trim(call.back().text), trim(section.close)}) {
        if (is_tag(close))
            all.push_back(close);
    }
    return all;
}

std::vector<std::string> value_terminators(const Section& section, const Pattern& call,
                                           const std::vector<std::string>& declared) {
    const Pattern& parameter = section.parameter;
    const auto keys = std::count_if(parameter.begin(), parameter.end(),
                                    [](const PatternPart& part) { return part.field == Field::key; });
    std::vector<std::string> all;
    if (keys != 1 || parameter.front().field != Field::key)
        return all; // the name in the closing text tells which parameter it closes
    for (const std::string& name : declared)
        all.push_back(fmt::format("{}{}{}", trim(parameter[0].text), name, trim(parameter[1].text)));
    std::vector<std::string_view> followers = section.open;
    for (const std::string_view text : {section.close, std::string_view(call.front().text)})
        followers.push_back(text);
    constexpr std::string_view spaces[] = {"", "\n", "\n\n"};
    for (const std::string_view close : call_closes(section, call)) {
        for (const std::string_view follower : followers) {
            for (const std::string_view space : spaces) {
                if (!trim(follower).empty() && trim(follower) != close)
                    all.push_back(fmt::format("{}{}{}", close, space, trim(follower)));
            }
        }
    }
    return all;
}

Syntax syntax_for_tools_in_text(Syntax own) {
    const Syntax& hermes = *find_syntax("hermes");
    own.name = hermes.name;
    own.sections = hermes.sections;
    own.members = hermes.members;
    own.messages.function_headers.clear();
    return own;
}

Start start_after(const Syntax& syntax, std::string_view prompt) {
    const auto last = prompt.find_last_not_of(white_space);
    const auto end = prompt.substr(0, last == std::string_view::npos ? 0 : last + 1);
    for (const auto& pair : syntax.reasoning) {
        if (end.ends_with(trim(pair.open)))
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
