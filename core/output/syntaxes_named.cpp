#include "core/output/syntaxes.hpp"

namespace etna::output {

namespace {

Syntax kimi_k2() {
    return {.name = "kimi_k2",
            .signs = {.all = {"<|tool_calls_section_begin|>"},
                      .none = {},
                      .tokens = {"<|tool_calls_section_begin|>"}},
            .reasoning = common_reasoning(),
            .call_ends_reasoning = true,
            .sections = {{.open = {"<|tool_calls_section_begin|>"},
                          .calls = {{{"<|tool_call_begin|>"},
                                     {"functions.", Slot::none, Presence::optional},
                                     {"", Slot::name},
                                     {":", Slot::index, Presence::optional},
                                     {"<|tool_call_argument_begin|>", Slot::arguments},
                                     {"<|tool_call_end|>"}}},
                          .close = "<|tool_calls_section_end|>"}}};
}

/// DeepSeek V3, R1 and its distilled models.
Syntax deepseek_v3() {
    return {.name = "deepseek_v3",
            .signs = {.all = {"<｜tool▁calls▁begin｜>", "```json"}},
            .reasoning = common_reasoning(),
            .call_ends_reasoning = true,
            .sections = {{.open = {"<｜tool▁calls▁begin｜>"},
                          .calls = {{{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", Slot::name},
                                     {"\n```json\n", Slot::arguments},
                                     {"\n```"},
                                     {"<｜tool▁call▁end｜>"}}},
                          .separator = "\n",
                          .close = "<｜tool▁calls▁end｜>"}}};
}

Syntax deepseek_v3_1() {
    return {.name = "deepseek_v3_1",
            .signs = {.all = {"<｜tool▁calls▁begin｜>"},
                      .none = {"```json"},
                      .tokens = {"<｜tool▁calls▁begin｜>"}},
            .reasoning = common_reasoning(),
            .call_ends_reasoning = true,
            .sections = {{.open = {"<｜tool▁calls▁begin｜>"},
                          .calls = {{{"<｜tool▁call▁begin｜>", Slot::name},
                                     {"<｜tool▁sep｜>", Slot::arguments},
                                     {"<｜tool▁call▁end｜>"}}},
                          .close = "<｜tool▁calls▁end｜>"}}};
}

/// Mistral with tokenizer version 11 and later: Small 3.2, Devstral, Ministral, Magistral.
Syntax mistral_named() {
    return {.name = "mistral_named",
            .signs = {.all = {"[TOOL_CALLS]", "[ARGS]"}, .none = {}, .tokens = {"[ARGS]"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"[TOOL_CALLS]"},
                          .calls = {{{"", Slot::name},
                                     {"[CALL_ID]", Slot::id, Presence::optional},
                                     {"[ARGS]", Slot::arguments}}},
                          .parallel = Parallel::sections}}};
}

Syntax solar() {
    return {.name = "solar",
            .signs = {.all = {"<|tool_call:begin|>"}, .none = {}, .tokens = {"<|tool_call:begin|>"}},
            .reasoning = {{"<|think|>", "<|end|>", true}},
            .sections = {{.open = {"<|tool_calls|>"},
                          .calls = {{{"<|tool_call:begin|>", Slot::id},
                                     {"<|tool_call:name|>", Slot::name},
                                     {"<|tool_call:args|>", Slot::arguments},
                                     {"<|tool_call:end|>"}}},
                          .close = "<|calls|>"}},
            .hidden = {"<|begin|>assistant", "<|content|>", "<|end|>"}};
}

Syntax gemma_4() {
    return {.name = "gemma_4",
            .signs = {.all = {"<|tool_call>call:"}, .none = {}, .tokens = {"<|tool_call>"}},
            .reasoning = {{"<|channel>thought\n", "\n<channel|>", true}},
            .sections = {{.open = {"<|tool_call>"},
                          .calls = {{{"call:", Slot::name}, {"", Slot::dictionary}, {"<tool_call|>"}}},
                          .parallel = Parallel::sections}},
            .string_mark = "<|\"|>"};
}

/// Functionary 3.1, and Llama 3.1 if instructed to call custom functions in this form.
Syntax function_tag() {
    return {.name = "function_tag",
            .signs = {.all = {"<function="}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<function="},
                          .calls = {{{"", Slot::name}, {">", Slot::arguments}, {"</function>"}}},
                          .parallel = Parallel::sections},
                         {.open = {"<|python_tag|>"},
                          .calls = {{{.slot = Slot::code}}},
                          .parallel = Parallel::none}},
            .code = {.names = {"python", "code_interpreter", "ipython"}}};
}

/// MiroThinker: tools of MCP servers.
Syntax mcp_tag() {
    return {.name = "mcp_tag",
            .signs = {.all = {"<use_mcp_tool>"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<use_mcp_tool>\n"},
                          .calls = {{{"<server_name>", Slot::index, Presence::optional},
                                     {"</server_name>\n", Slot::none, Presence::optional},
                                     {"<tool_name>", Slot::name},
                                     {"</tool_name>\n"},
                                     {"<arguments>\n", Slot::arguments},
                                     {"\n</arguments>\n"}}},
                          .close = "</use_mcp_tool>",
                          .parallel = Parallel::calls},
                         {.open = {"<tool_call>\n"},
                          .calls = {json_object},
                          .close = "\n</tool_call>",
                          .parallel = Parallel::sections}}};
}

Syntax lfm2() {
    return {.name = "lfm2",
            .signs = {.all = {"<|tool_call_start|>"}, .none = {}, .tokens = {"<|tool_call_start|>"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<|tool_call_start|>"},
                          .brackets = Brackets::required,
                          .calls = {{{"", Slot::name}, {"(", Slot::keywords}, {")"}}, json_object},
                          .separator = ", ",
                          .close = "<|tool_call_end|>"}}};
}

/// Apertus: an object with the function's name as its only key.
Syntax apertus() {
    return {.name = "apertus",
            .signs = {.all = {"<|tools_prefix|>"}, .none = {}, .tokens = {"<|tools_prefix|>"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<|tools_prefix|>"},
                          .brackets = Brackets::required,
                          .calls = {{{"{"}, {"\"", Slot::name}, {"\""}, {": ", Slot::arguments}, {"}"}}},
                          .separator = ", ",
                          .close = "<|tools_suffix|>"}}};
}

/// Gemma 2 and 3, which define no call marks; Google's guide for Gemma 3 uses these blocks.
Syntax gemma_3() {
    return {.name = "gemma_3",
            .signs = {.all = {"<start_of_turn>"}, .none = {}, .tokens = {"<start_of_turn>"}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"```tool_code\n"},
                          .calls = {{{"print(", Slot::none, Presence::optional},
                                     {"", Slot::name},
                                     {"(", Slot::keywords},
                                     {")"},
                                     {")", Slot::none, Presence::optional}},
                                    json_object},
                          .separator = "\n",
                          .close = "\n```"},
                         {.open = {"```tool_call\n"},
                          .brackets = Brackets::allowed,
                          .calls = {json_object},
                          .separator = ",",
                          .close = "\n```"}}};
}

} // namespace

std::vector<Syntax> named_families() {
    return {kimi_k2(), deepseek_v3(),  deepseek_v3_1(), mistral_named(), solar(),  gemma_4(),
            mcp_tag(), function_tag(), lfm2(),          apertus(),       gemma_3()};
}

} // namespace etna::output
