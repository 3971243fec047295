#include "tests/output/feeding.hpp"

#include "core/base/utf8.hpp"

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
            return "a piece that is not UTF-8";
        if (is_delta(event.kind) && event.text.empty())
            return "an empty piece";
        const bool of_call = event.kind >= EventKind::call_begun;
        if (of_call && event.call != calls)
            return "a wrong call number";
        if (open && !of_call)
            return "something else within a call";
        if (event.kind == EventKind::call_begun) {
            if (open || event.name.empty())
                return "a call that begins within a call, or has no name";
            open = true;
            arguments.clear();
        }
        if ((event.kind == EventKind::call_arguments || event.kind == EventKind::call_done) && !open)
            return "a call that never began";
        if (event.kind == EventKind::call_arguments)
            arguments += event.text;
        if (event.kind == EventKind::call_done &&
            !nlohmann::json::parse(arguments, nullptr, false).is_object())
            return "a finished call without a JSON object: " + arguments;
        if (event.kind == EventKind::call_done || event.kind == EventKind::call_broken) {
            open = false;
            ++calls;
        }
    }
    return open ? "a call that never ends" : "";
}

std::string to_string(const std::vector<Event>& events) {
    constexpr const char* names[] = {"content",    "reasoning",      "content_was_reasoning",
                                     "call_begun", "call_arguments", "call_done",
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

} // namespace etna::test
