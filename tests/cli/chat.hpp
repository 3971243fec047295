#pragma once

#include "tests/cli/harness.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace etna::test {

// One line per message; the tokenizer adds the begin token.
inline constexpr const char* lines_template =
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}{% for "
    "c in m.tool_calls or [] %}<tool_call>"
    "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor "
    "%}</s>\n"
    "{% endfor %}assistant:";

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

inline std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// `etna chat` on a pipe, with the model `chatty`, which is `stories` with a chat template.
struct Chat : Harness {
    Chat() {
        install_model("chatty", {{"tokenizer.chat_template", lines_template}});
        input_kind = InputKind::pipe;
    }

    Outcome chat(const std::string& typed, std::vector<std::string> more = {}) {
        input = typed;
        more.insert(more.begin(), {"chat", "chatty"});
        return run(more);
    }
};

/// A tool whose command prints its input and then the sides.
inline const std::string dice =
    R"([{"type": "function", "function": {"name": "roll", "description": "Rolls dice",
    "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}},
    "command": "cat; echo \" $arg_sides\""}])";
inline const std::string calls_roll =
    "<tool_call>{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}</tool_call>";

} // namespace etna::test
