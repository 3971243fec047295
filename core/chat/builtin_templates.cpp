#include "core/chat/builtin_templates.hpp"

#include <algorithm>
#include <array>

namespace etna::chat {
namespace {

// The formats as their vendors publish them; ChatML uses Hermes syntax for tools.

constexpr std::string_view chatml = R"({%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages and messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- 'You can call functions. These are their signatures:\n<tools>\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\n' }}
    {%- endfor %}
    {{- '</tools>\nTo call one, answer with its name and its arguments in JSON:\n<tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and loop.first and tools %}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
        {%- for call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}
                {{- '\n' }}
            {%- endif %}
            {{- '<tool_call>\n{"name": ' + call.function.name | tojson + ', "arguments": ' + call.function.arguments | tojson + '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)";

constexpr std::string_view llama3 = R"({{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

constexpr std::string_view llama2 = R"({%- if messages and messages[0].role == 'system' %}
    {%- set system = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant have to take turns') }}
    {%- endif %}
    {%- if message.role == 'user' %}
        {{- bos_token + '[INST] ' + (system if loop.first else '') + message.content | trim + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message.content | trim + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}
)";

constexpr std::string_view mistral = R"({{- bos_token }}
{%- if messages and messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant have to take turns') }}
    {%- endif %}
    {%- if message.role == 'user' %}
        {{- '[INST] ' + (system if loop.last else '') + message.content + '[/INST]' }}
    {%- else %}
        {{- ' ' + message.content | trim + eos_token }}
    {%- endif %}
{%- endfor %}
)";

constexpr std::string_view gemma = R"({{- bos_token }}
{%- if messages and messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant have to take turns') }}
    {%- endif %}
    {%- set role = 'model' if message.role == 'assistant' else message.role %}
    {{- '<start_of_turn>' + role + '\n' + (system if loop.first else '') + message.content | trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %}
)";

constexpr std::string_view phi3 = R"({%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}
)";

constexpr std::string_view zephyr = R"({%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}
)";

constexpr std::string_view vicuna = R"({%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- message.content + '\n\n' }}
    {%- elif message.role == 'user' %}
        {{- 'USER: ' + message.content + '\n' }}
    {%- else %}
        {{- 'ASSISTANT: ' + message.content + eos_token + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- 'ASSISTANT:' }}
{%- endif %}
)";

/// In guessing order.
constexpr std::array templates = {
    BuiltinTemplate{"chatml", "<|im_start|>", chatml},
    BuiltinTemplate{"llama3", "<|start_header_id|>", llama3},
    BuiltinTemplate{"gemma", "<start_of_turn>", gemma},
    BuiltinTemplate{"mistral", "[INST]", mistral},
    BuiltinTemplate{"phi3", "<|assistant|>", phi3},
    BuiltinTemplate{"llama2", "", llama2},
    BuiltinTemplate{"zephyr", "", zephyr},
    BuiltinTemplate{"vicuna", "", vicuna},
};

} // namespace

std::span<const BuiltinTemplate> builtin_templates() {
    return templates;
}

const BuiltinTemplate* find_builtin_template(std::string_view name) {
    const auto* const found = std::find_if(templates.begin(), templates.end(),
                                           [&](const BuiltinTemplate& each) { return each.name == name; });
    return found == templates.end() ? nullptr : found;
}

const BuiltinTemplate& guess_builtin_template(const std::function<bool(std::string_view)>& has_token) {
    const auto* const found =
        std::find_if(templates.begin(), templates.end(), [&](const BuiltinTemplate& each) {
            return !each.marker.empty() && has_token(each.marker);
        });
    if (found != templates.end())
        return *found;
    return *std::ranges::find(templates, "chatml", &BuiltinTemplate::name);
}

} // namespace etna::chat
