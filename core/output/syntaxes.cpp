#include "core/output/syntax.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

// The table of model families. Sources: the models' chat templates, that is, how they render past calls and
// how they instruct the model to call.
namespace etna::output {
namespace {

/// A call that is a JSON object with a name and arguments.
const Pattern json_object = {{.field = Field::object}};
/// A call in Python notation: get_weather(city="Oslo").
const Pattern python_call = {{"", Field::name}, {"(", Field::keywords}, {")"}};
const Pattern named_parameter = {
    {"<parameter name=\"", Field::key}, {"\">", Field::value}, {"</parameter>\n"}};

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

/// Name and JSON arguments between two markers, without a marker between them.
Section name_and_arguments(std::string_view open, std::string_view close) {
    return {.open = {open},
            .calls = {{{"", Field::name}, {"\n", Field::arguments}}},
            .close = close,
            .parallel = Parallel::sections};
}

Section foreign(Section section) {
    section.origin = Origin::foreign;
    return section;
}

/// Adds the forms that models write whatever their template says: JSON objects, lists of JSON objects and
/// lists of calls in Python notation, bare or in a block of code.
Syntax with_bare_calls(Syntax syntax) {
    const Section json = {.brackets = Brackets::allowed, .calls = {json_object}, .separator = ", "};
    const Section python = {.brackets = Brackets::required, .calls = {python_call}, .separator = ", "};
    const auto is_unmarked = [](const Section& section) { return section.open.empty(); };
    if (std::none_of(syntax.sections.begin(), syntax.sections.end(), is_unmarked))
        syntax.sections.push_back(foreign(json));
    syntax.sections.push_back(foreign(python));
    Section block = json;
    block.open = {"```json\n", "```tool_call\n", "```tool_calls\n", "```\n"};
    block.close = "\n```";
    syntax.sections.push_back(foreign(block));
    block = python;
    block.open = {"```python\n", "```tool_code\n", "```tool_call\n", "```tool_calls\n", "```json\n", "```\n"};
    block.close = "\n```";
    syntax.sections.push_back(foreign(block));
    return syntax;
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
                          .parallel = Parallel::sections,
                          .parameter = {{"<atem:parameter name=\"", Field::key},
                                        {"\">", Field::value},
                                        {"</atem:parameter>\n"}}}},
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
    const Pattern parameter = {{"<parameter=", Field::key}, {">\n", Field::value}, {"\n</parameter>\n"}};
    return {.name = "qwen3_coder",
            .detection = {.all = {"<tool_call>", "<function="}},
            .sections = {{.open = {"<tool_call>\n"},
                          .calls = {function, json_object},
                          .close = "</tool_call>",
                          .parallel = Parallel::sections,
                          .parameter = parameter},
                         {.open = {"<function="}, // the opening marker is easily omitted
                          .calls = {without_marker},
                          .parameter = parameter}},
            .hidden = {"</tool_call>"}};
}

Syntax seed_oss() {
    return {
        .name = "seed_oss",
        .detection = {.all = {"<seed:tool_call>"}, .none = {}, .tokens = {"<seed:tool_call>"}},
        .sections = {{.open = {"<seed:tool_call>\n"},
                      .calls = {{{"<function=", Field::name}, {">\n", Field::parameters}, {"</function>\n"}}},
                      .close = "</seed:tool_call>",
                      .parallel = Parallel::sections,
                      .parameter = {{"<parameter=", Field::key}, {">", Field::value}, {"</parameter>\n"}}}}};
}

/// GLM 4.5 and later, Laguna.
Syntax glm() {
    return {.name = "glm",
            .detection = {.all = {"<arg_key>"}, .none = {}, .tokens = {"<arg_key>"}},
            .sections = {{.open = {"<tool_call>"},
                          .calls = {{{"", Field::name}, {"\n", Field::parameters}, {"</tool_call>"}},
                                    {{.field = Field::object}, {"</tool_call>"}}},
                          .parallel = Parallel::sections,
                          .parameter = {{"<arg_key>", Field::key},
                                        {"</arg_key>\n"},
                                        {"<arg_value>", Field::value},
                                        {"</arg_value>\n"}}}}};
}

Syntax minimax_m2() {
    return {.name = "minimax_m2",
            .detection = {.all = {"<minimax:tool_call>"}, .none = {}, .tokens = {"<minimax:tool_call>"}},
            .sections = {
                {.open = {"<minimax:tool_call>\n"},
                 .calls = {{{"<invoke name=\"", Field::name}, {"\">\n", Field::parameters}, {"</invoke>\n"}}},
                 .close = "</minimax:tool_call>",
                 .parameter = named_parameter}}};
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
                          .close = "]<]minimax[>[</tool_call>",
                          .parameter = {{"]<]minimax[>[<", Field::key},
                                        {">", Field::value},
                                        {"]<]minimax[>[</", Field::key},
                                        {">"}}}}};
}

Syntax minicpm() {
    return {
        .name = "minicpm",
        .detection = {.all = {"<function name=\""}},
        .sections = {{.open = {"<function name=\""},
                      .calls = {{{"", Field::name}, {"\">", Field::parameters}, {"</function>"}}},
                      .parallel = Parallel::sections,
                      .parameter = {{"<param name=\"", Field::key}, {"\">", Field::value}, {"</param>"}}}},
        .verbatim_open = "<![CDATA[",
        .verbatim_close = "]]>"};
}

/// DeepSeek V3.2 and V4, which differ in the name of the section.
Syntax dsml(std::string_view name, Detection detection, std::string_view open, std::string_view close) {
    return {.name = name,
            .detection = std::move(detection),
            .sections = {{.open = {open},
                          .calls = {{{"<｜DSML｜invoke name=\"", Field::name},
                                     {"\">\n", Field::parameters},
                                     {"</｜DSML｜invoke>\n"}}},
                          .close = close,
                          .parameter = {{"<｜DSML｜parameter name=\"", Field::key},
                                        {"\" string=\"", Field::kind},
                                        {"\">", Field::value},
                                        {"</｜DSML｜parameter>\n"}}}},
            .text_kinds = {"true"},
            .other_kinds = {"false"}};
}

Syntax deepseek_v3_2() {
    return dsml("deepseek_v3_2", {.all = {"｜DSML｜", "function_calls"}, .none = {"｜DSML｜tool_calls"}},
                "\n\n<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>");
}

Syntax deepseek_v4() {
    return dsml("deepseek_v4", {.all = {"｜DSML｜"}}, "\n\n<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>");
}

Syntax kimi_k3() {
    return {.name = "kimi_k3",
            .detection = {.all = {"<|open|>", "<|sep|>"}},
            .reasoning = {{"<|open|>think<|sep|>", "<|close|>think<|sep|>", true}},
            .sections = {{.open = {"<|open|>tools<|sep|>"},
                          .calls = {{{"<|open|>call tool=\"", Field::name},
                                     {"\" index=\"", Field::index},
                                     {"\"<|sep|>", Field::parameters},
                                     {"<|close|>call<|sep|>"}}},
                          .close = "<|close|>tools<|sep|>",
                          .parameter = {{"<|open|>argument key=\"", Field::key},
                                        {"\" type=\"", Field::kind},
                                        {"\"<|sep|>", Field::value},
                                        {"<|close|>argument<|sep|>"}}}},
            .text_kinds = {"string"},
            .other_kinds = {"number", "boolean", "object", "array", "null"},
            .hidden = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
                       "<|end_of_msg|>"}};
}

// The name precedes the arguments.

Syntax kimi_k2() {
    const PatternPart prefix = {"functions.", Field::none, Presence::optional};
    const PatternPart index = {":", Field::index, Presence::expected};
    const PatternPart arguments = {"<|tool_call_argument_begin|>", Field::arguments};
    const PatternPart end = {"<|tool_call_end|>"};
    return {
        .name = "kimi_k2",
        .detection = {.all = {"<|tool_calls_section_begin|>"},
                      .none = {},
                      .tokens = {"<|tool_calls_section_begin|>"}},
        .sections = {{.open = {"<|tool_calls_section_begin|>"},
                      .calls = {{{"<|tool_call_begin|>"}, prefix, {"", Field::name}, index, arguments, end}},
                      .close = "<|tool_calls_section_end|>"},
                     {.open = {"<|tool_call_begin|>"}, // the section's marker is easily omitted
                      .calls = {{prefix, {"", Field::name}, index, arguments, end}},
                      .parallel = Parallel::sections}},
        .hidden = {"<|tool_calls_section_end|>"}};
}

/// DeepSeek V3, R1 and its distilled models.
Syntax deepseek_v3() {
    return {.name = "deepseek_v3",
            .detection = {.all = {"<｜tool▁calls▁begin｜>", "```json"}},
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
                                     {"[ARGS]", Field::none, Presence::optional},
                                     {"", Field::arguments}}},
                          .parallel = Parallel::sections},
                         foreign(list("[TOOL_CALLS]", ""))}};
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

/// FunctionGemma.
Syntax function_gemma() {
    return {
        .name = "function_gemma",
        .detection = {.all = {"<start_function_call>"}, .none = {}, .tokens = {"<start_function_call>"}},
        .sections = {{.open = {"<start_function_call>"},
                      .calls = {{{"call:", Field::name}, {"", Field::dictionary}, {"<end_function_call>"}}},
                      .parallel = Parallel::sections}},
        .string_delimiter = "<escape>",
        .hidden = {"<start_function_response>"}};
}

/// Olmo 3.
Syntax olmo_3() {
    return with_bare_calls(
        {.name = "olmo_3",
         .detection = {.all = {"<function_calls>"}, .none = {"<invoke"}, .tokens = {"<function_calls>"}},
         .sections = {{.open = {"<function_calls>\n"},
                       .calls = {python_call},
                       .separator = "\n",
                       .close = "\n</function_calls>"}}});
}

/// Step 3.
Syntax step_3() {
    return {.name = "step_3",
            .detection = {.all = {"<steptml:"}, .none = {}, .tokens = {"<｜tool_calls_begin｜>"}},
            .sections = {{.open = {"<｜tool_calls_begin｜>\n"},
                          .calls = {{{"<｜tool_call_begin｜>function<｜tool_sep｜>"},
                                     {"<steptml:invoke name=\"", Field::name},
                                     {"\">", Field::parameters},
                                     {"</steptml:invoke>"},
                                     {"<｜tool_call_end｜>"}}},
                          .separator = "\n",
                          .close = "\n<｜tool_calls_end｜>",
                          .parameter = {{"<steptml:parameter name=\"", Field::key},
                                        {"\">", Field::value},
                                        {"</steptml:parameter>"}}}}};
}

/// GLM-4: the name on a line of its own, then the arguments.
Syntax glm_4() {
    return {
        .name = "glm_4",
        .detection = {.all = {"[gMASK]"}, .none = {"<tool_call>"}, .tokens = {"<|observation|>"}},
        .sections = {{.calls = {{{"", Field::name}, {"\n", Field::arguments}}}, .parallel = Parallel::none}}};
}

/// LongCat-Flash-Thinking.
Syntax longcat_thinking() {
    return {.name = "longcat_thinking",
            .detection = {.all = {"<longcat_arg_key>"}, .none = {}, .tokens = {"<longcat_arg_key>"}},
            .reasoning = {{"<longcat_think>", "</longcat_think>", true}},
            .sections = {{.open = {"<longcat_tool_call>"},
                          .calls = {{{"", Field::name}, {"\n", Field::parameters}, {"</longcat_tool_call>"}},
                                    {{.field = Field::object}, {"</longcat_tool_call>"}}},
                          .parallel = Parallel::sections,
                          .parameter = {{"<longcat_arg_key>", Field::key},
                                        {"</longcat_arg_key>\n"},
                                        {"<longcat_arg_value>", Field::value},
                                        {"</longcat_arg_value>\n"}}}}};
}

Syntax lfm2() {
    return {.name = "lfm2",
            .detection = {.all = {"<|tool_call_start|>"}, .none = {}, .tokens = {"<|tool_call_start|>"}},
            .sections = {{.open = {"<|tool_call_start|>"},
                          .brackets = Brackets::required,
                          .calls = {python_call, json_object},
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
    return with_bare_calls(
        {.name = "gemma_3",
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
                       .close = "\n```"}}});
}

// A call is a JSON object with a name and arguments.

/// Command R7B, Command A.
Syntax cohere() {
    return {.name = "cohere",
            .detection = {.all = {"<|START_ACTION|>"}, .none = {}, .tokens = {"<|START_ACTION|>"}},
            .reasoning = {{"<|START_THINKING|>", "<|END_THINKING|>", true}},
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
    return with_bare_calls({.name = "mistral",
                            .detection = {.all = {"[TOOL_CALLS]"}, .none = {}, .tokens = {"[TOOL_CALLS]"}},
                            .sections = {list("[TOOL_CALLS] ", "")},
                            .members = {.written_id = CallId::random}});
}

Syntax apriel() {
    return {.name = "apriel",
            .detection = {.all = {"<tool_calls>", "[BEGIN FINAL RESPONSE]"}},
            .reasoning = {{"Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n", true},
                          {"<think>", "</think>"}},
            .sections = {list("<tool_calls>", "</tool_calls>")},
            .members = {.written_id = CallId::random},
            .hidden = {"[END FINAL RESPONSE]", "<|end|>"}};
}

/// Hunyuan A13B.
Syntax hunyuan() {
    return {.name = "hunyuan",
            .detection = {.all = {"<tool_calls>", "<answer>"}},
            .answer = {{"<answer>", "</answer>"}},
            .sections = {list("<tool_calls>", "</tool_calls>")}};
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

/// InternLM 2.5 and 3.
Syntax internlm() {
    return {.name = "internlm",
            .detection = {.all = {"<|action_start|>"}, .none = {}, .tokens = {"<|action_start|>"}},
            .sections = {single("<|action_start|><|plugin|>\n", "<|action_end|>"),
                         {.open = {"<|action_start|><|interpreter|>\n"},
                          .calls = {{{.field = Field::code}}},
                          .close = "<|action_end|>",
                          .parallel = Parallel::none}},
            .members = {.arguments = {"parameters", "arguments"}},
            .code = {.names = {"ipython", "python", "code_interpreter"}}};
}

/// LongCat-Flash-Chat.
Syntax longcat() {
    return {.name = "longcat",
            .detection = {.all = {"<longcat_tool_call>"}, .none = {}, .tokens = {"<longcat_tool_call>"}},
            .reasoning = {{"<longcat_think>", "</longcat_think>"}, {"<think>", "</think>"}},
            .sections = {single("<longcat_tool_call>\n", "\n</longcat_tool_call>")}};
}

/// granite-20b-functioncalling.
Syntax granite_20b() {
    Section call = single("<function_call> ", "");
    return {.name = "granite_20b",
            .detection = {.all = {"<function_call>"}, .none = {"<tool_call>"}, .tokens = {"<function_call>"}},
            .sections = {call}};
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
    return with_bare_calls(
        {.name = "phi_4_mini",
         .detection = {.all = {"<|/tool|>"}, .none = {}, .tokens = {"<|/tool_call|>"}},
         .sections = {list("<|tool_call|>", "<|/tool_call|>"),
                      {.open = {"functools["}, .calls = {json_object}, .separator = ", ", .close = "]"}}});
}

/// Granite 3; Granite 4 uses Hermes syntax.
Syntax granite_3() {
    return with_bare_calls(
        {.name = "granite_3",
         .detection = {.all = {"<|start_of_role|>"},
                       .none = {"<tool_call>"},
                       .tokens = {"<|start_of_role|>"}},
         .reasoning = {{"Here is my thought process:", "Here is my response:"}, {"<think>", "</think>"}},
         .answer = {{"<response>", "</response>"}},
         .sections = {list("<|tool_call|>", ""), single("<tool_call>", "</tool_call>")}});
}

Syntax gigachat() {
    return {
        .name = "gigachat",
        .detection = {.all = {"<|role_sep|>", "function call"}},
        .sections = {{.open = {"<|message_sep|>\n\nfunction call<|role_sep|>\n", "function call<|role_sep|>"},
                      .calls = {json_object},
                      .parallel = Parallel::none}}};
}

/// Llama 3.1 to 3.3.
Syntax llama_3() {
    return with_bare_calls(
        {.name = "llama_3",
         .detection = {.all = {"<|start_header_id|>", "ipython"}, .none = {}, .tokens = {"<|python_tag|>"}},
         .sections = {{.brackets = Brackets::allowed, .calls = {json_object}, .separator = "; "},
                      {.open = {"<|python_tag|>"},
                       .calls = {json_object,
                                 {{"", Field::name}, {".call(", Field::keywords}, {")"}},
                                 {{.field = Field::code}}},
                       .separator = "; "},
                      {.open = {"<function="},
                       .calls = {{{"", Field::name}, {">", Field::arguments}, {"</function>"}}},
                       .parallel = Parallel::sections}},
         .members = {.arguments = {"parameters", "arguments"}},
         .code = {.names = {"code_interpreter", "python", "ipython"}}});
}

Syntax llama_4() {
    return with_bare_calls(
        {.name = "llama_4",
         .detection = {.all = {"<|header_start|>"}, .none = {}, .tokens = {"<|python_start|>"}},
         .sections = {{.brackets = Brackets::allowed, .calls = {json_object}, .separator = "; "},
                      {.open = {"<|python_start|>"},
                       .brackets = Brackets::required,
                       .calls = {python_call, json_object},
                       .separator = ", ",
                       .close = "<|python_end|>"}},
         .members = {.arguments = {"parameters", "arguments"}}});
}

/// Ernie 4.5 Thinking.
Syntax ernie() {
    return with_bare_calls({.name = "ernie",
                            .detection = {.all = {"<tool_call>", "<response>"}},
                            .answer = {{"<response>", "</response>"}},
                            .sections = {single("<tool_call>\n", "\n</tool_call>"),
                                         foreign(name_and_arguments("<tool_call>\n", "\n</tool_call>"))}});
}

/// Hermes 2 and 3, Qwen 2.5, Qwen 3, QwQ, Granite 4, SmolLM 3 and many others.
Syntax hermes() {
    return with_bare_calls({.name = "hermes",
                            .detection = {.all = {"<tool_call>"}, .none = {}, .tokens = {"<tool_call>"}},
                            .sections = {single("<tool_call>\n", "\n</tool_call>"),
                                         foreign(name_and_arguments("<tool_call>\n", "\n</tool_call>"))}});
}

/// The sections with markers of families that share nothing else with each other.
std::vector<Section> marked_sections() {
    std::vector<Section> all = {
        foreign({.open = {"<function_calls>\n"}, // as Claude's prompts have it
                 .calls = {{{"<invoke name=\"", Field::name}, {"\">\n", Field::parameters}, {"</invoke>\n"}}},
                 .close = "</function_calls>",
                 .parameter = named_parameter}),
        foreign(name_and_arguments("<tool_call>\n", "\n</tool_call>"))};
    for (const Syntax& syntax :
         {qwen3_coder(), glm(), olmo_3(), step_3(), longcat_thinking(), longcat(), internlm(), hunyuan(),
          granite_20b(), mistral_named(), mistral(), nemotron(), minimax_m2(), minimax_m1()}) {
        for (const Section& section : syntax.sections) {
            const bool has_program =
                std::any_of(section.calls.begin(), section.calls.end(),
                            [](const auto& call) { return call.front().field == Field::code; });
            if (!section.open.empty() && !has_program)
                all.push_back(foreign(section));
        }
    }
    return all;
}

Syntax generic() {
    Syntax syntax = with_bare_calls(
        {.name = "generic",
         .answer = {{"<response>", "</response>"}, {"<answer>", "</answer>"}},
         .sections = {{.brackets = Brackets::allowed, .calls = {json_object}, .separator = ", "},
                      single("<tool_call>\n", "\n</tool_call>")},
         .hidden = {"<|begin_of_solution|>", "<|end_of_solution|>"}});
    for (Section& section : marked_sections())
        syntax.sections.push_back(std::move(section));
    return syntax;
}

} // namespace

const std::vector<Syntax>& syntaxes() {
    static const std::vector<Syntax> all = with_common_reasoning({harmony(),
                                                                  muse(),
                                                                  functionary_v3_2(),
                                                                  deepseek_v3_2(),
                                                                  deepseek_v4(),
                                                                  kimi_k3(),
                                                                  glm(),
                                                                  minimax_m3(),
                                                                  minimax_m2(),
                                                                  seed_oss(),
                                                                  minicpm(),
                                                                  qwen3_coder(),
                                                                  kimi_k2(),
                                                                  deepseek_v3(),
                                                                  deepseek_v3_1(),
                                                                  mistral_named(),
                                                                  solar(),
                                                                  gemma_4(),
                                                                  function_gemma(),
                                                                  mcp_tag(),
                                                                  function_tag(),
                                                                  step_3(),
                                                                  longcat_thinking(),
                                                                  longcat(),
                                                                  internlm(),
                                                                  lfm2(),
                                                                  apertus(),
                                                                  gemma_3(),
                                                                  cohere(),
                                                                  mistral(),
                                                                  apriel(),
                                                                  hunyuan(),
                                                                  minimax_m1(),
                                                                  nemotron(),
                                                                  functools(),
                                                                  phi_4_mini(),
                                                                  granite_3(),
                                                                  gigachat(),
                                                                  llama_3(),
                                                                  llama_4(),
                                                                  command_r(),
                                                                  olmo_3(),
                                                                  ernie(),
                                                                  granite_20b(),
                                                                  hermes(),
                                                                  glm_4(),
                                                                  generic()});
    return all;
}

} // namespace etna::output
