#include "core/output/syntaxes.hpp"

namespace etna::output {

namespace {

/// JSON objects in a list between two marks.
Section list(std::string_view open, std::string_view close) {
    return {.open = {open},
            .brackets = Brackets::required,
            .calls = {json_object},
            .separator = ", ",
            .close = close};
}

/// One JSON object between two marks.
Section single(std::string_view open, std::string_view close) {
    return {.open = {open},
            .brackets = Brackets::allowed,
            .calls = {json_object},
            .separator = ",",
            .close = close,
            .parallel = Parallel::sections};
}

/// Command R7B, Command A.
Syntax cohere() {
    return {.name = "cohere",
            .signs = {.all = {"<|START_ACTION|>"}, .none = {}, .tokens = {"<|START_ACTION|>"}},
            .reasoning = {{"<|START_THINKING|>", "<|END_THINKING|>", true}},
            .call_ends_reasoning = true,
            .sections = {list("<|START_ACTION|>", "<|END_ACTION|>")},
            .members = {.name = {"tool_name", "name"},
                        .arguments = {"parameters", "arguments"},
                        .id = {"tool_call_id", "id"},
                        .written_id = CallId::index},
            .hidden = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}};
}

/// Command R and R+.
Syntax command_r() {
    Section action = list("Action: ```json\n", "\n```");
    action.open.push_back("Action:```json");
    action.open.push_back("Action:\n```json");
    return {.name = "command_r",
            .signs = {.all = {"<|CHATBOT_TOKEN|>"}, .none = {}, .tokens = {"<|CHATBOT_TOKEN|>"}},
            .reasoning = common_reasoning(),
            .sections = {action},
            .members = {.name = {"tool_name", "name"}, .arguments = {"parameters", "arguments"}}};
}

/// Mistral up to tokenizer version 7: 7B v0.3, Nemo, Large, Small 3.
Syntax mistral() {
    return {.name = "mistral",
            .signs = {.all = {"[TOOL_CALLS]"}, .none = {}, .tokens = {"[TOOL_CALLS]"}},
            .reasoning = common_reasoning(),
            .sections = {list("[TOOL_CALLS] ", "")},
            .members = {.written_id = CallId::random}};
}

Syntax apriel() {
    return {.name = "apriel",
            .signs = {.all = {"<tool_calls>", "[BEGIN FINAL RESPONSE]"}},
            .reasoning = {{"Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n", true},
                          {"<think>", "</think>"}},
            .call_ends_reasoning = true,
            .sections = {list("<tool_calls>", "</tool_calls>")},
            .members = {.written_id = CallId::random},
            .hidden = {"[END FINAL RESPONSE]", "<|end|>"}};
}

Syntax minimax_m1() {
    return {.name = "minimax_m1",
            .signs = {.all = {"<tool_calls>"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<tool_calls>\n"},
                          .brackets = Brackets::allowed,
                          .calls = {json_object},
                          .separator = "\n",
                          .close = "\n</tool_calls>"}}};
}

/// NVIDIA's models before Nemotron 3.
Syntax nemotron() {
    return {.name = "nemotron",
            .signs = {.all = {"<TOOLCALL>"}},
            .reasoning = common_reasoning(),
            .sections = {list("<TOOLCALL>", "</TOOLCALL>")}};
}

/// FireFunction; Phi-4-mini with the template of other inference engines.
Syntax functools() {
    return {.name = "functools",
            .signs = {.all = {"functools["}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"functools["}, .calls = {json_object}, .separator = ", ", .close = "]"},
                         list("<|tool_call|>", "<|/tool_call|>")}};
}

Syntax phi_4_mini() {
    return {.name = "phi_4_mini",
            .signs = {.all = {"<|/tool|>"}, .none = {}, .tokens = {"<|/tool_call|>"}},
            .reasoning = common_reasoning(),
            .sections = {list("<|tool_call|>", "<|/tool_call|>"),
                         {.open = {"functools["}, .calls = {json_object}, .separator = ", ", .close = "]"}}};
}

/// Granite 3; Granite 4 uses Hermes syntax.
Syntax granite_3() {
    return {.name = "granite_3",
            .signs = {.all = {"<|start_of_role|>"}, .none = {"<tool_call>"}, .tokens = {"<|start_of_role|>"}},
            .reasoning = {{"Here is my thought process:", "Here is my response:"}, {"<think>", "</think>"}},
            .sections = {list("<|tool_call|>", ""), single("<tool_call>", "</tool_call>")}};
}

Syntax gigachat() {
    return {
        .name = "gigachat",
        .signs = {.all = {"<|role_sep|>", "function call"}},
        .reasoning = common_reasoning(),
        .sections = {{.open = {"<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>"},
                      .calls = {json_object},
                      .parallel = Parallel::none}}};
}

/// Llama 3.1 to 3.3, 4.
Syntax llama_3() {
    return {.name = "llama_3",
            .signs = {.all = {"<|start_header_id|>", "ipython"}, .none = {}, .tokens = {"<|python_tag|>"}},
            .reasoning = common_reasoning(),
            .sections = {{.calls = {json_object}, .separator = "; "},
                         {.open = {"<|python_tag|>"},
                          .calls = {json_object,
                                    {{"", Slot::name}, {".call(", Slot::keywords}, {")"}},
                                    {{.slot = Slot::code}}},
                          .separator = "; "},
                         {.open = {"<function="},
                          .calls = {{{"", Slot::name}, {">", Slot::arguments}, {"</function>"}}},
                          .parallel = Parallel::sections}},
            .members = {.arguments = {"parameters", "arguments"}},
            .code = {.names = {"code_interpreter", "python", "ipython"}}};
}

/// Hermes 2 and 3, Qwen 2.5, Qwen 3, QwQ, Granite 4, SmolLM 3 and many others.
Syntax hermes() {
    return {.name = "hermes",
            .signs = {.all = {"<tool_call>"}, .none = {}, .tokens = {"<tool_call>"}},
            .reasoning = common_reasoning(),
            .sections = {single("<tool_call>\n", "\n</tool_call>")}};
}

Syntax generic() {
    return {.name = "generic",
            .reasoning = common_reasoning(),
            .sections = {{.brackets = Brackets::allowed, .calls = {json_object}, .separator = ", "},
                         single("<tool_call>\n", "\n</tool_call>")},
            .hidden = {"<|begin_of_solution|>", "<|end_of_solution|>"}};
}

} // namespace

std::vector<Syntax> object_families() {
    return {cohere(),    mistral(),  apriel(),  minimax_m1(), nemotron(), functools(), phi_4_mini(),
            granite_3(), gigachat(), llama_3(), command_r(),  hermes(),   generic()};
}

} // namespace etna::output
