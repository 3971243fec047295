#include "tests/output/feeding.hpp"

#include "core/base/utf8.hpp"
#include "tests/support/values.hpp"

#include <random>

#include <nlohmann/json.hpp>

namespace etna::test {

using namespace output;

Cuts every_byte(std::string_view text) {
    Cuts cuts;
    for (std::size_t i = 1; i < text.size(); ++i)
        cuts.push_back(i);
    return cuts;
}

Cuts every_character(std::string_view text) {
    Cuts cuts;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80)
            cuts.push_back(i);
    }
    return cuts;
}

Cuts random_pieces(std::string_view text, unsigned seed) {
    std::minstd_rand random(seed);
    Cuts cuts;
    for (std::size_t at = 1 + random() % 8; at < text.size(); at += 1 + random() % 8)
        cuts.push_back(at);
    return cuts;
}

namespace {

bool is_delta(EventKind kind) {
    return kind == EventKind::content || kind == EventKind::reasoning || kind == EventKind::call_arguments;
}

} // namespace

Fed feed(const Syntax& syntax, const ParserOptions& options, std::string_view text, const Cuts& cuts,
         Ending ending) {
    auto parser = Parser::create(syntax, options);
    Fed fed;
    Collector collector;
    const auto take = [&](std::span<const Event> events) {
        collector.add(events);
        for (const auto& event : events) {
            const bool joins = !fed.events.empty() && is_delta(event.kind) &&
                               fed.events.back().kind == event.kind && fed.events.back().call == event.call;
            if (joins) {
                fed.events.back().text += event.text;
            } else {
                fed.events.push_back(event);
            }
        }
    };
    std::size_t begin = 0;
    for (const std::size_t end : cuts) {
        take(parser->push(text.substr(begin, end - begin)));
        begin = end;
    }
    take(parser->push(text.substr(begin)));
    take(parser->finish(ending));
    fed.output = collector.output();
    return fed;
}

std::string broken_rule(const std::vector<Event>& events) {
    std::size_t calls = 0;
    bool open = false;
    std::string arguments;
    for (const auto& event : events) {
        if (valid_utf8_prefix(event.text) != event.text.size())
            return "a text that is not UTF-8";
        if (is_delta(event.kind) && event.text.empty())
            return "an empty text";
        const bool is_call_event = event.kind >= EventKind::call_started;
        if (is_call_event && event.call != calls)
            return "a wrong call index";
        if (open && !is_call_event)
            return "another event within a call";
        if (event.kind == EventKind::call_started) {
            if (open || event.name.empty())
                return "a call that starts within a call, or has no name";
            open = true;
            arguments.clear();
        }
        if ((event.kind == EventKind::call_arguments || event.kind == EventKind::call_done) && !open)
            return "a call that was not started";
        if (event.kind == EventKind::call_arguments)
            arguments += event.text;
        if (event.kind == EventKind::call_done &&
            !nlohmann::json::parse(arguments, nullptr, false).is_object())
            return "a finished call without a JSON object: " + arguments;
        if (event.kind == EventKind::call_broken && open && !arguments.empty() &&
            !nlohmann::json::parse(arguments, nullptr, false).is_discarded())
            return "a broken call with complete arguments: " + arguments;
        if (event.kind == EventKind::call_done || event.kind == EventKind::call_broken) {
            open = false;
            ++calls;
        }
    }
    return open ? "a call that does not end" : "";
}

std::string to_string(const std::vector<Event>& events) {
    constexpr const char* names[] = {"content",      "reasoning",      "content_was_reasoning",
                                     "call_started", "call_arguments", "call_done",
                                     "call_broken"};
    std::string text;
    for (const auto& event : events) {
        text += names[static_cast<std::size_t>(event.kind)];
        text += " " + std::to_string(event.call) + " name=" + event.name + " id=" + event.id + " [" +
                event.text + "]\n";
    }
    return text;
}

std::string_view without_last_space(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

namespace {

const std::vector<jinja::Value> property_tools = test::values_of(
    R"([{"name": "f", "parameters": {"properties": {"s": {"type": "string"},
    "a": {"type": "integer"}, "o": {"type": "object"}, "l": {"type": ["array", "null"]}, "b": {"type": "boolean"}}}},
    {"name": "get_weather"}, {"name": "python"}])");

/// Whether a cut-off output is a prefix of the complete one. White space at its end may belong to a marker.
/// Content that later turns into reasoning is not compared.
bool is_prefix_of(const Fed& part, const Fed& complete) {
    for (const auto& event : complete.events) {
        if (event.kind == EventKind::content_was_reasoning)
            return true;
    }
    return complete.output.content.starts_with(without_last_space(part.output.content)) &&
           complete.output.reasoning.starts_with(part.output.reasoning) &&
           part.output.calls.size() <= complete.output.calls.size();
}

} // namespace

std::optional<std::string> broken_property(std::string_view input) {
    if (input.empty())
        return std::nullopt;
    const auto choice = static_cast<unsigned char>(input.front());
    const std::string_view text = input.substr(1);
    const unsigned variant = choice / syntaxes().size();
    Syntax syntax = syntaxes()[choice % syntaxes().size()];
    for (auto& pair : syntax.reasoning)
        pair.expected = pair.expected || (variant & 1U) != 0;
    constexpr Start starts[] = {Start::content, Start::reasoning, Start::header, Start::content};
    const ParserOptions options = {.start = starts[(variant / 2) % 4], .tools = property_tools};

    const auto complete = feed(syntax, options, text, {});
    if (const auto rule = broken_rule(complete.events); !rule.empty())
        return rule + "\n" + to_string(complete.events);
    for (const auto ending : {Ending::complete, Ending::cut_off}) {
        const auto expected = feed(syntax, options, text, {}, ending);
        for (const auto& cuts : {every_byte(text), random_pieces(text, 1), random_pieces(text, 2)}) {
            const auto pieces = feed(syntax, options, text, cuts, ending);
            if (pieces.events != expected.events || pieces.output != expected.output) {
                return "one chunk:\n" + to_string(expected.events) + "several chunks:\n" +
                       to_string(pieces.events);
            }
        }
    }
    const auto half = text.substr(0, text.size() / 2);
    const auto cut = feed(syntax, options, half, {}, Ending::cut_off);
    if (const auto rule = broken_rule(cut.events); !rule.empty())
        return "cut off: " + rule + "\n" + to_string(cut.events);
    if (!is_prefix_of(cut, complete))
        return "cut off:\n" + to_string(cut.events) + "complete:\n" + to_string(complete.events);
    return std::nullopt;
}

} // namespace etna::test
