#include "core/output/syntax.hpp"

#include <vector>

// The table of model families. Sources: the models' chat templates, that is, how they render past calls and
// how they instruct the model to call.
namespace etna::output {
namespace {

/// A call that is the JSON object of its arguments.
const Pattern json_object = {{.field = Field::object}};

std::vector<ReasoningMarkers> common_reasoning() {
    return {{"<think>", "</think>"},
            {"<thinking>", "</thinking>"},
            {"<seed:think>", "</seed:think>"},
            {"<mm:think>", "</mm:think>"},
            {"[THINK]", "[/THINK]"},
            {"<|START_THINKING|>", "<|END_THINKING|>"},
            {"<|begin_of_thought|>", "<|end_of_thought|>"},
            {"<|inner_prefix|>", "<|inner_suffix|>"}};
}

/// Completes the syntaxes that name no markers of reasoning, except those whose messages to the model itself
/// are reasoning.
std::vector<Syntax> with_common_reasoning(std::vector<Syntax> all) {
    for (Syntax& syntax : all) {
        if (syntax.reasoning.empty() && syntax.messages.open.empty())
            syntax.reasoning = common_reasoning();
    }
    return all;
}

// Output is a sequence of messages.

/// gpt-oss. github.com/openai/harmony, docs/format.md.
Syntax harmony() {
    return {
        .name = "harmony",
        .detection = {.all = {"<|channel|>", "<|message|>"}, .none = {}, .tokens = {"<|channel|>"}},
        .code = {.names = {"python"}},
        .messages = {
            .open = {"<|start|>", "<|channel|>"},
            .body = "<|message|>",
            .close = {"<|end|>", "<|call|>", "<|return|>"},
            .channel = "<|channel|>",
            .recipient = "to=",
            .routes = {{.recipient = "assistant", .audience = Audience::developer}, // a tool result
                       {.channel = "commentary", .recipient = "functions.", .audience = Audience::function},
                       {.recipient = "functions.", .audience = Audience::function},
                       {.addressed = true, .audience = Audience::function},
                       {.channel = "analysis", .audience = Audience::model},
                       {.channel = "final", .audience = Audience::user},
                       {.audience = Audience::user}},
            .calls = {{{.field = Field::arguments}}, {{.field = Field::code}}},
            .role = "assistant",
            .model_header = "<|channel|>analysis",
            .user_header = "<|channel|>final",
            .preamble_header = "<|channel|>commentary",
            .function_headers = {{{"<|channel|>commentary to=functions.", Field::name}},
                                 {{" to=functions.", Field::name}, {"<|channel|>commentary"}}},
            .json_body = {" <|constrain|>json", "<|constrain|>json", " json"}}};
}

/// Muse, Onyx: messages to the model itself, to a tool, to the user.
Syntax muse() {
    return {.name = "muse",
            .detection = {.all = {"atem:function_calls"}},
            .sections = {{.open = {"<atem:function_calls>\n"},
                          .calls = {{{"<atem:invoke name=\"", Field::name},
                                     {"\">\n", Field::parameters},
                                     {"</atem:invoke>\n"}}},
                          .close = "</atem:function_calls>",
                          .parallel = Parallel::sections}},
            .parameter = {{"<atem:parameter name=\"", Field::key},
                          {"\">", Field::value},
                          {"</atem:parameter>\n"}},
            .messages = {
                .open = {"<|start|>"},
                .body = "<|message|>",
                .close = {"<|eot|>", "<|eom|>"},
                .recipient = "to=",
                .routes = {{.recipient = "self", .audience = Audience::model}, {.audience = Audience::user}},
                .role = "assistant",
                .model_header = " to=self",
                .user_header = " to=user",
                .function_headers = {{{" to=", Field::name}}}}};
}

/// Functionary 3.2: ">>>all\n" before content, ">>>name\n" before arguments.
Syntax functionary_v3_2() {
    return {.name = "functionary_v3_2",
            .detection = {.all = {">>>all"}},
            .code = {.names = {"python"}},
            .messages = {.open = {">>>"},
                         .body = "\n",
                         .routes = {{.recipient = "all", .audience = Audience::user},
                                    {.addressed = true, .audience = Audience::function}},
                         .calls = {{{.field = Field::arguments}}, {{.field = Field::code}}},
                         .user_header = "all",
                         .function_headers = {{{"", Field::name}}}}};
}

// Each argument is enclosed in markers.

/// Qwen3-Coder, Qwen3-Next, StepFun, Nemotron 3.
Syntax qwen3_coder() {
    const Pattern function = {{"<function=", Field::name}, {">\n", Field::parameters}, {"</function>\n"}};
    const Pattern without_marker = {{"", Field::name}, {">\n", Field::parameters}, {"</function>\n"}};
    return {.name = "qwen3_coder",
            .detection = {.all = {"<tool_call>", "<function="}},
            .sections = {{.open = {"<tool_call>\n"},
                          .calls = {function, json_object},
                          .close = "</tool_call>",
                          .parallel = Parallel::sections},
                         {.open = {"<function="},
                          .calls = {without_marker}}}, // the opening marker is easily omitted
            .parameter = {{"<parameter=", Field::key}, {">\n", Field::value}, {"\n</parameter>\n"}},
            .hidden = {"</tool_call>"}};
}

Syntax seed_oss() {
    return {
        .name = "seed_oss",
        .detection = {.all = {"<seed:tool_call>"}, .none = {}, .tokens = {"<seed:tool_call>"}},
        .sections = {{.open = {"<seed:tool_call>\n"},
                      .calls = {{{"<function=", Field::name}, {">\n", Field::parameters}, {"</function>\n"}}},
                      .close = "</seed:tool_call>",
                      .parallel = Parallel::sections}},
        .parameter = {{"<parameter=", Field::key}, {">", Field::value}, {"</parameter>\n"}}};
}

/// GLM 4.5 and later, Laguna.
Syntax glm() {
    return {
        .name = "glm",
        .detection = {.all = {"<arg_key>"}, .none = {}, .tokens = {"<arg_key>"}},
        .sections = {{.open = {"<tool_call>"},
                      .calls = {{{"", Field::name}, {"\n", Field::parameters}, {"</tool_call>"}},
                                {{.field = Field::object}, {"</tool_call>"}}},
                      .parallel = Parallel::sections}},
        .parameter = {
            {"<arg_key>", Field::key}, {"</arg_key>\n"}, {"<arg_value>", Field::value}, {"</arg_value>\n"}}};
}

Syntax minimax_m2() {
    return {.name = "minimax_m2",
            .detection = {.all = {"<minimax:tool_call>"}, .none = {}, .tokens = {"<minimax:tool_call>"}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<minimax:tool_call>\n"},
                          .calls = {{{"<invoke name=\"", Field::name},
                                     {"\">\n", Field::parameters},
                                     {"</invoke>\n"}}},
                          .close = "</minimax:tool_call>"}},
            .parameter = {{"<parameter name=\"", Field::key}, {"\">", Field::value}, {"</parameter>\n"}}};
}

/// MiniMax M3, except for arguments that are objects or arrays: it writes those as nested elements, and such
/// a call is broken here.
Syntax minimax_m3() {
    return {.name = "minimax_m3",
            .detection = {.all = {"]<]minimax[>["}},
            .sections = {{.open = {"]<]minimax[>[<tool_call>\n"},
                          .calls = {{{"]<]minimax[>[<invoke name=\"", Field::name},
                                     {"\">", Field::parameters},
                                     {"]<]minimax[>[</invoke>\n"}}},
                          .close = "]<]minimax[>[</tool_call>"}},
            .parameter = {
                {"]<]minimax[>[<", Field::key}, {">", Field::value}, {"]<]minimax[>[</", Field::key}, {">"}}};
}

Syntax minicpm() {
    return {.name = "minicpm",
            .detection = {.all = {"<function name=\""}},
            .sections = {{.open = {"<function name=\""},
                          .calls = {{{"", Field::name}, {"\">", Field::parameters}, {"</function>"}}},
                          .parallel = Parallel::sections}},
            .parameter = {{"<param name=\"", Field::key}, {"\">", Field::value}, {"</param>"}},
            .verbatim_open = "<![CDATA[",
            .verbatim_close = "]]>"};
}

/// DeepSeek V4.
Syntax deepseek_v4() {
    return {.name = "deepseek_v4",
            .detection = {.all = {"｜DSML｜"}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"\n\n<｜DSML｜tool_calls>\n"},
                          .calls = {{{"<｜DSML｜invoke name=\"", Field::name},
                                     {"\">\n", Field::parameters},
                                     {"</｜DSML｜invoke>\n"}}},
                          .close = "</｜DSML｜tool_calls>"}},
            .parameter = {{"<｜DSML｜parameter name=\"", Field::key},
                          {"\" string=\"", Field::kind},
                          {"\">", Field::value},
                          {"</｜DSML｜parameter>\n"}},
            .text_kinds = {"true"},
            .other_kinds = {"false"}};
}

Syntax kimi_k3() {
    return {.name = "kimi_k3",
            .detection = {.all = {"<|open|>", "<|sep|>"}},
            .reasoning = {{"<|open|>think<|sep|>", "<|close|>think<|sep|>", true}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<|open|>tools<|sep|>"},
                          .calls = {{{"<|open|>call tool=\"", Field::name},
                                     {"\" index=\"", Field::index},
                                     {"\"<|sep|>", Field::parameters},
                                     {"<|close|>call<|sep|>"}}},
                          .close = "<|close|>tools<|sep|>"}},
            .parameter = {{"<|open|>argument key=\"", Field::key},
                          {"\" type=\"", Field::kind},
                          {"\"<|sep|>", Field::value},
                          {"<|close|>argument<|sep|>"}},
            .text_kinds = {"string"},
            .other_kinds = {"number", "boolean", "object", "array", "null"},
            .hidden = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
                       "<|end_of_msg|>"}};
}

// The name precedes the arguments.

Syntax kimi_k2() {
    return {.name = "kimi_k2",
            .detection = {.all = {"<|tool_calls_section_begin|>"},
                          .none = {},
                          .tokens = {"<|tool_calls_section_begin|>"}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<|tool_calls_section_begin|>"},
                          .calls = {{{"<|tool_call_begin|>"},
                                     {"functions.", Field::none, Presence::optional},
                                     {"", Field::name},
                                     {":", Field::index, Presence::optional},
                                     {"<|tool_call_argument_begin|>", Field::arguments},
                                     {"<|tool_call_end|>"}}},
                          .close = "<|tool_calls_section_end|>"}}};
}

/// DeepSeek V3, R1 and its distilled models.
Syntax deepseek_v3() {
    return {.name = "deepseek_v3",
            .detection = {.all = {"<｜tool▁calls▁begin｜>", "```json"}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<｜tool▁calls▁begin｜>"},
                          .calls = {{{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", Field::name},
                                     {"\n```json\n", Field::arguments},
                                     {"\n```"},
                                     {"<｜tool▁call▁end｜>"}}},
                          .separator = "\n",
                          .close = "<｜tool▁calls▁end｜>"}}};
}

Syntax deepseek_v3_1() {
    return {.name = "deepseek_v3_1",
            .detection = {.all = {"<｜tool▁calls▁begin｜>"},
                          .none = {"```json"},
                          .tokens = {"<｜tool▁calls▁begin｜>"}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<｜tool▁calls▁begin｜>"},
                          .calls = {{{"<｜tool▁call▁begin｜>", Field::name},
                                     {"<｜tool▁sep｜>", Field::arguments},
                                     {"<｜tool▁call▁end｜>"}}},
                          .close = "<｜tool▁calls▁end｜>"}}};
}

/// Mistral with tokenizer version 11 and later: Small 3.2, Devstral, Ministral, Magistral.
Syntax mistral_named() {
    return {.name = "mistral_named",
            .detection = {.all = {"[TOOL_CALLS]", "[ARGS]"}, .none = {}, .tokens = {"[ARGS]"}},
            .sections = {{.open = {"[TOOL_CALLS]"},
                          .calls = {{{"", Field::name},
                                     {"[CALL_ID]", Field::id, Presence::optional},
                                     {"[ARGS]", Field::arguments}}},
                          .parallel = Parallel::sections}}};
}

Syntax solar() {
    return {.name = "solar",
            .detection = {.all = {"<|tool_call:begin|>"}, .none = {}, .tokens = {"<|tool_call:begin|>"}},
            .reasoning = {{"<|think|>", "<|end|>", true}},
            .sections = {{.open = {"<|tool_calls|>"},
                          .calls = {{{"<|tool_call:begin|>", Field::id},
                                     {"<|tool_call:name|>", Field::name},
                                     {"<|tool_call:args|>", Field::arguments},
                                     {"<|tool_call:end|>"}}},
                          .close = "<|calls|>"}},
            .hidden = {"<|begin|>assistant", "<|content|>", "<|end|>"}};
}

Syntax gemma_4() {
    return {.name = "gemma_4",
            .detection = {.all = {"<|tool_call>call:"}, .none = {}, .tokens = {"<|tool_call>"}},
            .reasoning = {{"<|channel>thought\n", "\n<channel|>", true}},
            .sections = {{.open = {"<|tool_call>"},
                          .calls = {{{"call:", Field::name}, {"", Field::dictionary}, {"<tool_call|>"}}},
                          .parallel = Parallel::sections}},
            .string_delimiter = "<|\"|>"};
}

/// Functionary 3.1, and Llama 3.1 if instructed to call custom functions in this form.
Syntax function_tag() {
    return {.name = "function_tag",
            .detection = {.all = {"<function="}},
            .sections = {{.open = {"<function="},
                          .calls = {{{"", Field::name}, {">", Field::arguments}, {"</function>"}}},
                          .parallel = Parallel::sections},
                         {.open = {"<|python_tag|>"},
                          .calls = {{{.field = Field::code}}},
                          .parallel = Parallel::none}},
            .code = {.names = {"python", "code_interpreter", "ipython"}}};
}

/// MiroThinker: tools of MCP servers.
Syntax mcp_tag() {
    return {.name = "mcp_tag",
            .detection = {.all = {"<use_mcp_tool>"}},
            .sections = {{.open = {"<use_mcp_tool>\n"},
                          .calls = {{{"<server_name>", Field::index, Presence::optional},
                                     {"</server_name>\n", Field::none, Presence::optional},
                                     {"<tool_name>", Field::name},
                                     {"</tool_name>\n"},
                                     {"<arguments>\n", Field::arguments},
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
            .detection = {.all = {"<|tool_call_start|>"}, .none = {}, .tokens = {"<|tool_call_start|>"}},
            .sections = {{.open = {"<|tool_call_start|>"},
                          .brackets = Brackets::required,
                          .calls = {{{"", Field::name}, {"(", Field::keywords}, {")"}}, json_object},
                          .separator = ", ",
                          .close = "<|tool_call_end|>"}}};
}

/// Apertus: an object with the function's name as its only key.
Syntax apertus() {
    return {.name = "apertus",
            .detection = {.all = {"<|tools_prefix|>"}, .none = {}, .tokens = {"<|tools_prefix|>"}},
            .sections = {{.open = {"<|tools_prefix|>"},
                          .brackets = Brackets::required,
                          .calls = {{{"{"}, {"\"", Field::name}, {"\""}, {": ", Field::arguments}, {"}"}}},
                          .separator = ", ",
                          .close = "<|tools_suffix|>"}}};
}

/// Gemma 2 and 3, which define no call markers; Google's guide for Gemma 3 uses these blocks.
Syntax gemma_3() {
    return {.name = "gemma_3",
            .detection = {.all = {"<start_of_turn>"}, .none = {}, .tokens = {"<start_of_turn>"}},
            .sections = {{.open = {"```tool_code\n"},
                          .calls = {{{"print(", Field::none, Presence::optional},
                                     {"", Field::name},
                                     {"(", Field::keywords},
                                     {")"},
                                     {")", Field::none, Presence::optional}},
                                    json_object},
                          .separator = "\n",
                          .close = "\n```"},
                         {.open = {"```tool_call\n"},
                          .brackets = Brackets::allowed,
                          .calls = {json_object},
                          .separator = ",",
                          .close = "\n```"}}};
}

// A call is a JSON object with a name and arguments.

/// JSON objects in a list between two markers.
Section list(std::string_view open, std::string_view close) {
    return {.open = {open},
            .brackets = Brackets::required,
            .calls = {json_object},
            .separator = ", ",
            .close = close};
}

/// One JSON object between two markers.
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
            .detection = {.all = {"<|START_ACTION|>"}, .none = {}, .tokens = {"<|START_ACTION|>"}},
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
            .detection = {.all = {"<|CHATBOT_TOKEN|>"}, .none = {}, .tokens = {"<|CHATBOT_TOKEN|>"}},
            .sections = {action},
            .members = {.name = {"tool_name", "name"}, .arguments = {"parameters", "arguments"}}};
}

/// Mistral up to tokenizer version 7: 7B v0.3, Nemo, Large, Small 3.
Syntax mistral() {
    return {.name = "mistral",
            .detection = {.all = {"[TOOL_CALLS]"}, .none = {}, .tokens = {"[TOOL_CALLS]"}},
            .sections = {list("[TOOL_CALLS] ", "")},
            .members = {.written_id = CallId::random}};
}

Syntax apriel() {
    return {.name = "apriel",
            .detection = {.all = {"<tool_calls>", "[BEGIN FINAL RESPONSE]"}},
            .reasoning = {{"Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n", true},
                          {"<think>", "</think>"}},
            .call_ends_reasoning = true,
            .sections = {list("<tool_calls>", "</tool_calls>")},
            .members = {.written_id = CallId::random},
            .hidden = {"[END FINAL RESPONSE]", "<|end|>"}};
}

Syntax minimax_m1() {
    return {.name = "minimax_m1",
            .detection = {.all = {"<tool_calls>"}},
            .sections = {{.open = {"<tool_calls>\n"},
                          .brackets = Brackets::allowed,
                          .calls = {json_object},
                          .separator = "\n",
                          .close = "\n</tool_calls>"}}};
}

/// NVIDIA's models before Nemotron 3.
Syntax nemotron() {
    return {.name = "nemotron",
            .detection = {.all = {"<TOOLCALL>"}},
            .sections = {list("<TOOLCALL>", "</TOOLCALL>")}};
}

/// FireFunction; Phi-4-mini with the template of other inference engines.
Syntax functools() {
    return {.name = "functools",
            .detection = {.all = {"functools["}},
            .sections = {{.open = {"functools["}, .calls = {json_object}, .separator = ", ", .close = "]"},
                         list("<|tool_call|>", "<|/tool_call|>")}};
}

Syntax phi_4_mini() {
    return {.name = "phi_4_mini",
            .detection = {.all = {"<|/tool|>"}, .none = {}, .tokens = {"<|/tool_call|>"}},
            .sections = {list("<|tool_call|>", "<|/tool_call|>"),
                         {.open = {"functools["}, .calls = {json_object}, .separator = ", ", .close = "]"}}};
}

/// Granite 3; Granite 4 uses Hermes syntax.
Syntax granite_3() {
    return {
        .name = "granite_3",
        .detection = {.all = {"<|start_of_role|>"}, .none = {"<tool_call>"}, .tokens = {"<|start_of_role|>"}},
        .reasoning = {{"Here is my thought process:", "Here is my response:"}, {"<think>", "</think>"}},
        .sections = {list("<|tool_call|>", ""), single("<tool_call>", "</tool_call>")}};
}

Syntax gigachat() {
    return {
        .name = "gigachat",
        .detection = {.all = {"<|role_sep|>", "function call"}},
        .sections = {{.open = {"<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>"},
                      .calls = {json_object},
                      .parallel = Parallel::none}}};
}

/// Llama 3.1 to 3.3, 4.
Syntax llama_3() {
    return {
        .name = "llama_3",
        .detection = {.all = {"<|start_header_id|>", "ipython"}, .none = {}, .tokens = {"<|python_tag|>"}},
        .sections = {{.calls = {json_object}, .separator = "; "},
                     {.open = {"<|python_tag|>"},
                      .calls = {json_object,
                                {{"", Field::name}, {".call(", Field::keywords}, {")"}},
                                {{.field = Field::code}}},
                      .separator = "; "},
                     {.open = {"<function="},
                      .calls = {{{"", Field::name}, {">", Field::arguments}, {"</function>"}}},
                      .parallel = Parallel::sections}},
        .members = {.arguments = {"parameters", "arguments"}},
        .code = {.names = {"code_interpreter", "python", "ipython"}}};
}

/// Hermes 2 and 3, Qwen 2.5, Qwen 3, QwQ, Granite 4, SmolLM 3 and many others.
Syntax hermes() {
    return {.name = "hermes",
            .detection = {.all = {"<tool_call>"}, .none = {}, .tokens = {"<tool_call>"}},
            .sections = {single("<tool_call>\n", "\n</tool_call>")}};
}

Syntax generic() {
    return {.name = "generic",
            .sections = {{.brackets = Brackets::allowed, .calls = {json_object}, .separator = ", "},
                         single("<tool_call>\n", "\n</tool_call>")},
            .hidden = {"<|begin_of_solution|>", "<|end_of_solution|>"}};
}

} // namespace

const std::vector<Syntax>& syntaxes() {
    static const std::vector<Syntax> all = with_common_reasoning(
        {harmony(),      muse(),          functionary_v3_2(), deepseek_v4(), kimi_k3(),     glm(),
         minimax_m3(),   minimax_m2(),    seed_oss(),         minicpm(),     qwen3_coder(), kimi_k2(),
         deepseek_v3(),  deepseek_v3_1(), mistral_named(),    solar(),       gemma_4(),     mcp_tag(),
         function_tag(), lfm2(),          apertus(),          gemma_3(),     cohere(),      mistral(),
         apriel(),       minimax_m1(),    nemotron(),         functools(),   phi_4_mini(),  granite_3(),
         gigachat(),     llama_3(),       command_r(),        hermes(),      generic()});
    return all;
}

} // namespace etna::output
