#include "tests/server/answer_loss.hpp"

#include "core/generate/collected_answer.hpp"
#include "core/output/parser.hpp"
#include "server/base/json.hpp"
#include "server/faces/anthropic/message_blocks.hpp"
#include "server/faces/ollama/answer_pieces.hpp"
#include "server/faces/openai/chat_response.hpp"
#include "server/faces/responses/output.hpp"
#include "tests/support/values.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::test {
namespace {

using server::Json;

/// The parts of an answer that a client can read.
struct Answer {
    std::string content = {};
    std::string reasoning = {};
    std::vector<std::string> calls = {}; ///< complete ones: name and arguments, as JSON

    bool operator==(const Answer&) const = default;
};

std::string to_string(const Answer& answer) {
    return fmt::format("content [{}] reasoning [{}] calls [{}]", answer.content, answer.reasoning,
                       fmt::join(answer.calls, ", "));
}

std::string call_text(const std::string& name, const Json& arguments) {
    return name + dump_json(arguments);
}

const std::vector<jinja::Value>& tools() {
    static const std::vector<jinja::Value> all = values_of(
        R"([{"name": "f", "parameters": {"properties": {"s": {"type": "string"}}}}, {"name": "get_weather"}])");
    return all;
}

std::vector<output::Event> events_of(std::string_view input, output::Ending ending) {
    const auto choice = static_cast<unsigned char>(input.front());
    const auto& syntaxes = output::syntaxes();
    constexpr output::Start starts[] = {output::Start::content, output::Start::reasoning,
                                        output::Start::header};
    auto parser = output::Parser::create(syntaxes[choice % syntaxes.size()],
                                         {.start = starts[choice / syntaxes.size() % 3], .tools = tools()});
    std::vector<output::Event> events;
    const auto add = [&](std::span<const output::Event> part) {
        events.insert(events.end(), part.begin(), part.end());
    };
    add(parser->push(input.substr(1)));
    add(parser->finish(ending));
    return events;
}

/// The answer that the events describe: a broken call is content.
Answer expected(const std::vector<output::Event>& events) {
    using Kind = output::EventKind;
    Answer answer;
    std::string name;
    std::string arguments;
    for (const output::Event& event : events) {
        if (event.kind == Kind::content || event.kind == Kind::call_broken)
            answer.content += event.text;
        if (event.kind == Kind::reasoning)
            answer.reasoning += event.text;
        if (event.kind == Kind::call_started) {
            name = event.name;
            arguments.clear();
        }
        if (event.kind == Kind::call_arguments)
            arguments += event.text;
        if (event.kind == Kind::call_done)
            answer.calls.push_back(call_text(name, parse_json(arguments)));
    }
    return answer;
}

/// The events as core/generate delivers them.
std::vector<generate::Event> delivered(const std::vector<output::Event>& events) {
    std::vector<generate::Event> all;
    bool has_calls = false;
    for (const output::Event& event : events) {
        has_calls = has_calls || event.kind == output::EventKind::call_done;
        if (event.kind == output::EventKind::content) {
            all.emplace_back(generate::TextDelta{event.text});
        } else {
            all.emplace_back(event);
        }
    }
    generate::Finished finished;
    finished.finish_reason = has_calls ? generate::FinishReason::tool_calls : generate::FinishReason::stop;
    all.emplace_back(std::move(finished));
    return all;
}

generate::CollectedAnswer collected(const std::vector<generate::Event>& events) {
    generate::CollectedAnswer answer;
    for (const generate::Event& event : events)
        answer.take(event);
    return answer;
}

struct Written {
    std::string_view api;
    Answer complete = {};
    Answer streamed = {}; ///< without calls: a started call may be incomplete
};

Written chat(const std::vector<generate::Event>& events) {
    server::openai::ChatChoiceStream stream(0, {}, {});
    Written written{.api = "chat"};
    for (const generate::Event& event : events) {
        const auto piece = stream.take(event);
        if (!piece)
            continue;
        written.streamed.content += (*piece)["delta"].value("content", "");
        written.streamed.reasoning += (*piece)["delta"].value("reasoning_content", "");
    }
    const Json message = server::openai::chat_choice_json(0, {}, collected(events))["message"];
    written.complete.content = message["content"].is_null() ? "" : message["content"].get<std::string>();
    written.complete.reasoning = message.value("reasoning_content", "");
    for (const Json& call : message.value("tool_calls", Json::array()))
        written.complete.calls.push_back(call_text(
            call["function"]["name"], parse_json(call["function"]["arguments"].get<std::string>())));
    return written;
}

Written response(const std::vector<generate::Event>& events) {
    const auto output = std::make_shared<server::responses::Output>();
    server::responses::ItemStream stream({}, output);
    Written written{.api = "responses"};
    for (const generate::Event& event : events) {
        for (const Json& sent : stream.take(event)) {
            if (sent["type"] == "response.output_text.delta")
                written.streamed.content += sent["delta"].get<std::string>();
            if (sent["type"] == "response.reasoning_text.delta")
                written.streamed.reasoning += sent["delta"].get<std::string>();
        }
    }
    for (const Json& item : output->items) {
        for (const Json& part : item.value("content", Json::array())) {
            (item["type"] == "message" ? written.complete.content : written.complete.reasoning) +=
                part["text"].get<std::string>();
        }
        if (item["type"] == "function_call" && item["status"] == "completed")
            written.complete.calls.push_back(
                call_text(item["name"], parse_json(item["arguments"].get<std::string>())));
    }
    return written;
}

Written message(const std::vector<generate::Event>& events) {
    static const server::Seal seal = server::Seal::temporary().value();
    server::anthropic::MessageBlocks blocks({}, {seal, {}});
    Written written{.api = "messages"};
    for (const generate::Event& event : events) {
        for (const Json& sent : blocks.take(event)) {
            const Json delta = sent.value("delta", Json::object());
            written.streamed.content += delta.value("text", "");
            written.streamed.reasoning += delta.value("thinking", "");
        }
    }
    for (const Json& block : server::anthropic::content_json({}, {seal, {}}, collected(events))) {
        written.complete.content += block.value("text", "");
        written.complete.reasoning += block.value("thinking", "");
        if (block["type"] == "tool_use")
            written.complete.calls.push_back(call_text(block["name"], block["input"]));
    }
    return written;
}

Written ollama_chat(const std::vector<generate::Event>& events) {
    server::ollama::AnswerPieces pieces(server::ollama::Form::chat, std::nullopt);
    generate::CollectedAnswer answer;
    Written written{.api = "ollama"};
    for (const generate::Event& event : events) {
        answer.take(event);
        const Json line = pieces.take(event, answer);
        const Json message = line.is_null() ? Json::object() : line.value("message", Json::object());
        written.streamed.content += message.value("content", "");
        written.streamed.reasoning += message.value("thinking", "");
    }
    const Json message = server::ollama::answer_members(server::ollama::Form::chat, answer)["message"];
    written.complete.content = message.value("content", "");
    written.complete.reasoning = message.value("thinking", "");
    for (const Json& call : message.value("tool_calls", Json::array()))
        written.complete.calls.push_back(call_text(call["function"]["name"], call["function"]["arguments"]));
    return written;
}

} // namespace

std::optional<std::string> lost_answer(std::string_view input) {
    if (input.empty())
        return std::nullopt;
    for (const output::Ending ending : {output::Ending::complete, output::Ending::cut_off}) {
        const auto parsed = events_of(input, ending);
        const Answer whole = expected(parsed);
        const Answer text{.content = whole.content, .reasoning = whole.reasoning, .calls = {}};
        const auto events = delivered(parsed);
        for (const Written& written :
             {chat(events), response(events), message(events), ollama_chat(events)}) {
            if (written.complete != whole) {
                return fmt::format("{}: {}\nexpected {}", written.api, to_string(written.complete),
                                   to_string(whole));
            }
            if (written.streamed != text) {
                return fmt::format("{}, streamed: {}\nexpected {}", written.api, to_string(written.streamed),
                                   to_string(text));
            }
        }
    }
    return std::nullopt;
}

} // namespace etna::test
