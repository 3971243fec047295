#include "core/output/syntaxes.hpp"

namespace etna::output {

namespace {

/// Qwen3-Coder, Qwen3-Next, StepFun, Nemotron 3.
Syntax qwen3_coder() {
    const Pattern function = {{"<function=", Slot::name}, {">\n", Slot::parameters}, {"</function>\n"}};
    const Pattern without_mark = {{"", Slot::name}, {">\n", Slot::parameters}, {"</function>\n"}};
    return {
        .name = "qwen3_coder",
        .signs = {.all = {"<tool_call>", "<function="}},
        .reasoning = common_reasoning(),
        .sections = {{.open = {"<tool_call>\n"},
                      .calls = {function, json_object},
                      .close = "</tool_call>",
                      .parallel = Parallel::sections},
                     {.open = {"<function="}, .calls = {without_mark}}}, // the opening mark is easily omitted
        .parameter = {{"<parameter=", Slot::key}, {">\n", Slot::value}, {"\n</parameter>\n"}},
        .hidden = {"</tool_call>"}};
}

Syntax seed_oss() {
    return {
        .name = "seed_oss",
        .signs = {.all = {"<seed:tool_call>"}, .none = {}, .tokens = {"<seed:tool_call>"}},
        .reasoning = common_reasoning(),
        .sections = {{.open = {"<seed:tool_call>\n"},
                      .calls = {{{"<function=", Slot::name}, {">\n", Slot::parameters}, {"</function>\n"}}},
                      .close = "</seed:tool_call>",
                      .parallel = Parallel::sections}},
        .parameter = {{"<parameter=", Slot::key}, {">", Slot::value}, {"</parameter>\n"}}};
}

/// GLM 4.5 and later, Laguna.
Syntax glm() {
    return {
        .name = "glm",
        .signs = {.all = {"<arg_key>"}, .none = {}, .tokens = {"<arg_key>"}},
        .reasoning = common_reasoning(),
        .sections = {{.open = {"<tool_call>"},
                      .calls = {{{"", Slot::name}, {"\n", Slot::parameters}, {"</tool_call>"}},
                                {{.slot = Slot::object}, {"</tool_call>"}}},
                      .parallel = Parallel::sections}},
        .parameter = {
            {"<arg_key>", Slot::key}, {"</arg_key>\n"}, {"<arg_value>", Slot::value}, {"</arg_value>\n"}}};
}

Syntax minimax_m2() {
    return {.name = "minimax_m2",
            .signs = {.all = {"<minimax:tool_call>"}, .none = {}, .tokens = {"<minimax:tool_call>"}},
            .reasoning = common_reasoning(),
            .call_ends_reasoning = true,
            .sections =
                {{.open = {"<minimax:tool_call>\n"},
                  .calls = {{{"<invoke name=\"", Slot::name}, {"\">\n", Slot::parameters}, {"</invoke>\n"}}},
                  .close = "</minimax:tool_call>"}},
            .parameter = {{"<parameter name=\"", Slot::key}, {"\">", Slot::value}, {"</parameter>\n"}}};
}

/// MiniMax M3, except for arguments that are objects or arrays: it writes those as nested elements, and such
/// a call is broken here.
Syntax minimax_m3() {
    return {.name = "minimax_m3",
            .signs = {.all = {"]<]minimax[>["}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"]<]minimax[>[<tool_call>\n"},
                          .calls = {{{"]<]minimax[>[<invoke name=\"", Slot::name},
                                     {"\">", Slot::parameters},
                                     {"]<]minimax[>[</invoke>\n"}}},
                          .close = "]<]minimax[>[</tool_call>"}},
            .parameter = {
                {"]<]minimax[>[<", Slot::key}, {">", Slot::value}, {"]<]minimax[>[</", Slot::key}, {">"}}};
}

Syntax minicpm() {
    return {.name = "minicpm",
            .signs = {.all = {"<function name=\""}},
            .reasoning = common_reasoning(),
            .sections = {{.open = {"<function name=\""},
                          .calls = {{{"", Slot::name}, {"\">", Slot::parameters}, {"</function>"}}},
                          .parallel = Parallel::sections}},
            .parameter = {{"<param name=\"", Slot::key}, {"\">", Slot::value}, {"</param>"}},
            .verbatim_open = "<![CDATA[",
            .verbatim_close = "]]>"};
}

/// DeepSeek V4.
Syntax deepseek_v4() {
    return {.name = "deepseek_v4",
            .signs = {.all = {"｜DSML｜"}},
            .reasoning = common_reasoning(),
            .call_ends_reasoning = true,
            .sections = {{.open = {"\n\n<｜DSML｜tool_calls>\n"},
                          .calls = {{{"<｜DSML｜invoke name=\"", Slot::name},
                                     {"\">\n", Slot::parameters},
                                     {"</｜DSML｜invoke>\n"}}},
                          .close = "</｜DSML｜tool_calls>"}},
            .parameter = {{"<｜DSML｜parameter name=\"", Slot::key},
                          {"\" string=\"", Slot::kind},
                          {"\">", Slot::value},
                          {"</｜DSML｜parameter>\n"}},
            .text_kinds = {"true"},
            .other_kinds = {"false"}};
}

Syntax kimi_k3() {
    return {.name = "kimi_k3",
            .signs = {.all = {"<|open|>", "<|sep|>"}},
            .reasoning = {{"<|open|>think<|sep|>", "<|close|>think<|sep|>", true}},
            .call_ends_reasoning = true,
            .sections = {{.open = {"<|open|>tools<|sep|>"},
                          .calls = {{{"<|open|>call tool=\"", Slot::name},
                                     {"\" index=\"", Slot::index},
                                     {"\"<|sep|>", Slot::parameters},
                                     {"<|close|>call<|sep|>"}}},
                          .close = "<|close|>tools<|sep|>"}},
            .parameter = {{"<|open|>argument key=\"", Slot::key},
                          {"\" type=\"", Slot::kind},
                          {"\"<|sep|>", Slot::value},
                          {"<|close|>argument<|sep|>"}},
            .text_kinds = {"string"},
            .other_kinds = {"number", "boolean", "object", "array", "null"},
            .hidden = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
                       "<|end_of_msg|>"}};
}

} // namespace

std::vector<Syntax> tagged_families() {
    return {deepseek_v4(), kimi_k3(),  glm(),     minimax_m3(),
            minimax_m2(),  seed_oss(), minicpm(), qwen3_coder()};
}

} // namespace etna::output
