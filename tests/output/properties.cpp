#include "tests/output/properties.hpp"

#include "tests/output/feeding.hpp"

namespace etna::test {

using namespace output;

namespace {

constexpr std::string_view tools = R"([{"name": "f", "parameters": {"properties": {"s": {"type": "string"},
    "a": {"type": "integer"}, "o": {"type": "object"}, "l": {"type": ["array", "null"]}, "b": {"type": "boolean"}}}},
    {"name": "get_weather"}, {"name": "python"}])";

/// A cut off output says nothing that the whole one does not, but for white space at its end, which may be a
/// mark's. What may be reasoning in the end is left out.
bool begins(const Fed& part, const Fed& whole) {
    for (const auto& event : whole.events) {
        if (event.kind == EventKind::content_was_reasoning)
            return true;
    }
    return whole.output.content.starts_with(without_last_space(part.output.content)) &&
           whole.output.reasoning.starts_with(part.output.reasoning) &&
           part.output.calls.size() <= whole.output.calls.size();
}

} // namespace

std::optional<std::string> broken_property(std::string_view input) {
    if (input.empty())
        return std::nullopt;
    const auto choice = static_cast<unsigned char>(input.front());
    const std::string_view text = input.substr(1);
    const unsigned variant = choice / syntaxes().size();
    Syntax syntax = syntaxes()[choice % syntaxes().size()];
    for (auto& marks : syntax.reasoning)
        marks.expected = marks.expected || (variant & 1U) != 0;
    constexpr Start starts[] = {Start::content, Start::reasoning, Start::header, Start::content};
    const ParserOptions options = {.start = starts[(variant / 2) % 4], .tools = tools};

    const auto whole = feed(syntax, options, text, {});
    if (const auto rule = broken_rule(whole.events); !rule.empty())
        return rule + "\n" + to_string(whole.events);
    for (const auto ending : {Ending::complete, Ending::cut_off}) {
        const auto expected = feed(syntax, options, text, {}, ending);
        for (const auto& cuts : {every_byte(text), random_pieces(text, 1), random_pieces(text, 2)}) {
            const auto pieces = feed(syntax, options, text, cuts, ending);
            if (pieces.events != expected.events || pieces.output != expected.output)
                return "whole:\n" + to_string(expected.events) + "in pieces:\n" + to_string(pieces.events);
        }
    }
    const auto half = text.substr(0, text.size() / 2);
    const auto cut = feed(syntax, options, half, {}, Ending::cut_off);
    if (const auto rule = broken_rule(cut.events); !rule.empty())
        return "cut off: " + rule + "\n" + to_string(cut.events);
    if (!begins(cut, whole))
        return "cut off:\n" + to_string(cut.events) + "whole:\n" + to_string(whole.events);
    return std::nullopt;
}

} // namespace etna::test
