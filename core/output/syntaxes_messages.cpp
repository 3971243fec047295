#include "core/output/syntaxes.hpp"

namespace etna::output {

namespace {

/// gpt-oss. github.com/openai/harmony, docs/format.md.
Syntax harmony() {
    return {
        .name = "harmony",
        .signs = {.all = {"<|channel|>", "<|message|>"}, .none = {}, .tokens = {"<|channel|>"}},
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
            .calls = {{{.slot = Slot::arguments}}, {{.slot = Slot::code}}},
            .role = "assistant",
            .model_header = "<|channel|>analysis",
            .user_header = "<|channel|>final",
            .preamble_header = "<|channel|>commentary",
            .function_headers = {{{"<|channel|>commentary to=functions.", Slot::name}},
                                 {{" to=functions.", Slot::name}, {"<|channel|>commentary"}}},
            .json_body = {" <|constrain|>json", "<|constrain|>json", " json"}}};
}

/// Muse, Onyx: messages to the model itself, to a tool, to the user.
Syntax muse() {
    return {
        .name = "muse",
        .signs = {.all = {"atem:function_calls"}},
        .sections = {{.open = {"<atem:function_calls>\n"},
                      .calls = {{{"<atem:invoke name=\"", Slot::name},
                                 {"\">\n", Slot::parameters},
                                 {"</atem:invoke>\n"}}},
                      .close = "</atem:function_calls>",
                      .parallel = Parallel::sections}},
        .parameter = {{"<atem:parameter name=\"", Slot::key}, {"\">", Slot::value}, {"</atem:parameter>\n"}},
        .messages = {
            .open = {"<|start|>"},
            .body = "<|message|>",
            .close = {"<|eot|>", "<|eom|>"},
            .recipient = "to=",
            .routes = {{.recipient = "self", .audience = Audience::model}, {.audience = Audience::user}},
            .role = "assistant",
            .model_header = " to=self",
            .user_header = " to=user",
            .function_headers = {{{" to=", Slot::name}}}}};
}

/// Functionary 3.2: ">>>all\n" before content, ">>>name\n" before arguments.
Syntax functionary_v3_2() {
    return {.name = "functionary_v3_2",
            .signs = {.all = {">>>all"}},
            .code = {.names = {"python"}},
            .messages = {.open = {">>>"},
                         .body = "\n",
                         .routes = {{.recipient = "all", .audience = Audience::user},
                                    {.addressed = true, .audience = Audience::function}},
                         .calls = {{{.slot = Slot::arguments}}, {{.slot = Slot::code}}},
                         .user_header = "all",
                         .function_headers = {{{"", Slot::name}}}}};
}

} // namespace

std::vector<Syntax> message_families() {
    return {harmony(), muse(), functionary_v3_2()};
}

} // namespace etna::output
