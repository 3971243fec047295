// Detection of the family from template and vocabulary, and of the protocol state at the end of a prompt.

#include "core/output/parser.hpp"
#include "core/output/syntax.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>

using namespace etna::output;

namespace {

bool has_none(std::string_view) {
    return false;
}

struct Chosen {
    const char* file;
    const char* family;
};

// By each template's rendering of past calls and its instructions for calling.
constexpr Chosen by_file[] = {
    {"Apertus-8B-Instruct", "apertus"},
    {"Apriel-1.6-15b-Thinker-fixed", "apriel"},
    {"Bielik-11B-v3.0-Instruct", "hermes"},
    {"ByteDance-Seed-OSS", "seed_oss"},
    {"Cohere2MoE", "cohere"},
    {"CohereForAI-c4ai-command-r-plus-tool_use", "command_r"},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "cohere"},
    {"GLM-4.6", "glm"},
    {"GLM-5.2", "glm"},
    {"GigaChat3-10B-A1.8B", "gigachat"},
    {"HuggingFaceTB-SmolLM3-3B", "generic"}, // its tool lines are in a comment only
    {"Kimi-K2-Instruct", "kimi_k2"},
    {"Kimi-K2-Thinking", "kimi_k2"},
    {"Kimi-K3", "kimi_k3"},
    {"LFM2.5-8B-A1B", "lfm2"},
    {"LFM2.5-Instruct", "generic"}, // the template shows no calls; the vocabulary does
    {"MiMo-VL", "hermes"},
    {"MiniMax-M1", "minimax_m1"},
    {"MiniMax-M2", "minimax_m2"},
    {"MiniMax-M3", "minimax_m3"},
    {"MiroThinker", "mcp_tag"},
    {"Mistral-Small-3.2-24B-Instruct-2506", "mistral_named"},
    {"NVIDIA-Nemotron-Nano-v2", "nemotron"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "hermes"},
    {"Qwen-QwQ-32B", "hermes"},
    {"Qwen3-Coder", "qwen3_coder"},
    {"Reka-Edge", "hermes"},
    {"StepFun3.5-Flash", "qwen3_coder"},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "deepseek_v3"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "deepseek_v3"},
    {"deepseek-ai-DeepSeek-V3.1", "deepseek_v3_1"},
    {"fireworks-ai-llama-3-firefunction-v2", "functools"},
    {"google-gemma-2-2b-it", "gemma_3"},
    {"google-gemma-4-31B-it", "gemma_4"},
    {"hfcfg--command_r_plus-default", "command_r"},
    {"hfcfg--command_r_plus-rag", "command_r"},
    {"hfcfg--command_r_plus-tool_use", "command_r"},
    {"hfcfg--deepseek_v3", "deepseek_v3"},
    {"hfcfg--llama3", "generic"},
    {"hfcfg--mistral_nemo", "mistral"},
    {"idx--nvidia-Llama-3_3-Nemotron-Super-49B-v1_5", "nemotron"},
    {"ik_llama--deepseek-ai-DeepSeek-V4", "deepseek_v4"},
    {"llama-cpp-rwkv-world", "generic"},
    {"meetkai-functionary-medium-v3.1", "function_tag"},
    {"meetkai-functionary-medium-v3.2", "functionary_v3_2"},
    {"meta-llama-Llama-3.2-3B-Instruct", "llama_3"},
    {"microsoft-Phi-3.5-mini-instruct", "generic"},
    {"mistralai-Ministral-3-14B-Reasoning-2512", "mistral_named"},
    {"mistralai-Mistral-Nemo-Instruct-2407", "mistral"},
    {"mistralrs--chatml", "generic"},
    {"mistralrs--default", "generic"},
    {"mistralrs--idefics3", "generic"},
    {"mistralrs--llama2", "generic"},
    {"mistralrs--llama3", "generic"},
    {"mistralrs--mistral", "generic"},
    {"mistralrs--mistral_small_tool_call", "mistral"},
    {"mistralrs--smollm3", "hermes"},
    {"moonshotai-Kimi-K2", "kimi_k2"},
    {"muse-glimmer", "muse"},
    {"ollama--gemma4_31b_chat_template", "gemma_4"},
    {"ollama--laguna_v8_chat_template", "glm"},
    {"ollama--nemotron35_chat_template", "qwen3_coder"},
    {"ollama--nemotron3nano_chat_template", "qwen3_coder"},
    {"ollama--qwen38_chat_template", "qwen3_coder"},
    {"openai-gpt-oss-120b", "harmony"},
    {"openbmb-MiniCPM5-1B", "minicpm"},
    {"ovms-extras--chat_template_devstral", "mistral_named"},
    {"ovms-extras--chat_template_gpt_oss", "harmony"},
    {"ovms-extras--chat_template_lfm2", "lfm2"},
    {"ovms-extras--chat_template_lfm25", "lfm2"},
    {"ovms-extras--chat_template_phi4_mini", "functools"},
    {"ovms-extras--chat_template_qwen3coder_instruct", "qwen3_coder"},
    {"ovms-extras--chat_template_qwen3coder_next", "qwen3_coder"},
    {"ovms-test--chat_template_lfm2", "lfm2"},
    {"ovms-test--chat_template_minicpm5", "minicpm"},
    {"ovms-test--chat_template_mistral7b_v03", "mistral"},
    {"ovms-test--chat_template_onyx", "muse"},
    {"ovms-test--chat_template_qwen3", "hermes"},
    {"ovms-test--chat_template_qwen3vl", "hermes"},
    {"poolside-Laguna-S-2.1", "glm"},
    {"poolside-Laguna-XS.2", "glm"},
    {"unsloth-Apriel-1.5", "apriel"},
    {"unsloth-mistral-Devstral-Small-2507", "mistral_named"},
    {"upstage-Solar-Open-100B", "solar"},
};

struct Snippet {
    const char* text;
    const char* family;
};

// Typical lines of the families' templates.
constexpr Snippet by_text[] = {
    {R"({{ '<|start|>assistant to=functions.' + name + '<|channel|>commentary json<|message|>' }})",
     "harmony"},
    {R"({{ '<tool_call>\n{"name": "' + call.name + '", "arguments": ' }})", "hermes"},
    {R"({{ '<tool_call>\n<function=' + call.name + '>\n' }})", "qwen3_coder"},
    {R"({{ '<tool_call>' + call.name }}<arg_key>{{ key }}</arg_key>)", "glm"},
    {R"({{ '<|start_header_id|>ipython<|end_header_id|>' }})", "llama_3"},
    {R"({{ '<function=' + call.name + '>' + arguments + '</function>' }})", "function_tag"},
    {R"({{ '>>>all\n' + message['content'] }})", "functionary_v3_2"},
    {R"({{ '[TOOL_CALLS] [' }})", "mistral"},
    {R"({{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }})", "mistral_named"},
    {R"({{ '<start_of_turn>model\n' }})", "gemma_3"},
    {R"({{ '<|tool_call>call:' + name }})", "gemma_4"},
    {R"({{ '<|tool|>' + message['tools'] + '<|/tool|>' }})", "phi_4_mini"},
    {R"({{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + type + '<｜tool▁sep｜>' + name + '\n```json\n' }})",
     "deepseek_v3"},
    {R"({{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + name + '<｜tool▁sep｜>' + arguments }})",
     "deepseek_v3_1"},
    {R"({{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}Action: ```json)", "command_r"},
    {R"(<|CHATBOT_TOKEN|><|START_ACTION|>[)", "cohere"},
    {R"({{ '<|start_of_role|>assistant<|end_of_role|>' }})", "granite_3"},
    {R"({{ '<|start_of_role|>assistant<|end_of_role|>' }}<tool_call>)", "hermes"},
    {R"({{ '\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="' + name }})", "deepseek_v3_2"},
    {R"({%- set dsml = '｜DSML｜' %}{{ '<' + dsml + 'function_calls>' }}{{ message.tool_calls }})",
     "deepseek_v3_2"},
    {R"({{ '\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="' + name }})", "deepseek_v4"},
    {R"({{ '<start_of_turn>model\n<start_function_call>call:' + name }})", "function_gemma"},
    {R"({{ '<｜tool_calls_begin｜>' }}<steptml:invoke name="{{ name }}">)", "step_3"},
    {R"({{ '<longcat_tool_call>' + name }}<longcat_arg_key>{{ key }})", "longcat_thinking"},
    {R"({{ '<longcat_tool_call>\n{"name": "' + name }})", "longcat"},
    {R"({{ '<|im_start|>assistant\n' }}<|action_start|><|plugin|>)", "internlm"},
    {R"(<answer>{{ content }}</answer><tool_calls>[)", "hunyuan"},
    {R"({{ '<|header_start|>ipython<|header_end|>\n\n' }})", "llama_4"},
    {R"({{ '<function_calls>\n' + call.function.name + '(' }})", "olmo_3"},
    {R"({{ '<tool_call>\n{"name": ' }}<response>{{ content }}</response>)", "ernie"},
    {R"({{ '<function_call> {"name": "' + call.name }})", "granite_20b"},
    {R"({{ '[gMASK]<sop>' }}<|user|>{{ content }}<|observation|>)", "glm_4"},
    {R"({{ '<|im_start|>assistant\n' }})", "generic"},
    {"", "generic"},
};

Syntax with_think_expected() {
    return detect_syntax("<think> </think> <tool_call>", has_none);
}

} // namespace

TEST_CASE("the family is detected from the template text", "[output]") {
    for (const auto& one : by_text) {
        INFO(one.text);
        CHECK(detect_syntax(one.text, has_none).name == one.family);
    }
}

TEST_CASE("the vocabulary decides if the template shows no family", "[output]") {
    const std::map<std::string, std::string, std::less<>> families = {
        {"<|tool_call_start|>", "lfm2"},  {"<|python_tag|>", "llama_3"}, {"<tool_call>", "hermes"},
        {"<|/tool_call|>", "phi_4_mini"}, {"[TOOL_CALLS]", "mistral"},   {"<|channel|>", "harmony"}};
    for (const auto& [token, family] : families) {
        const auto has = [&known = token](std::string_view text) { return text == known; };
        CHECK(detect_syntax("{{ messages }}", has).name == family);
        CHECK(detect_syntax("<｜tool▁calls▁begin｜>", has).name == "deepseek_v3_1");
    }
    CHECK(detect_syntax("{{ messages }}", HasToken()).name == "generic");
}

TEST_CASE("reasoning is expected if its markers occur in the template or the vocabulary", "[output]") {
    const auto expected = [](const Syntax& syntax) {
        return std::count_if(syntax.reasoning.begin(), syntax.reasoning.end(),
                             [](const auto& pair) { return pair.expected; });
    };
    CHECK(expected(detect_syntax("<tool_call>", has_none)) == 0);
    CHECK(expected(with_think_expected()) == 1);
    CHECK(expected(detect_syntax("", [](std::string_view text) { return text == "[THINK]"; })) == 1);
}

TEST_CASE("every published template gets its family", "[output]") {
    const char* folder = std::getenv("ETNA_REFERENCE_DATA");
    if (folder == nullptr) {
        std::cout << "not run: " << std::size(by_file) << " templates, ETNA_REFERENCE_DATA is not set\n";
        return;
    }
    for (const auto& one : by_file) {
        std::ifstream file(std::string(folder) + "/templates/" + one.file + ".jinja", std::ios::binary);
        INFO(one.file);
        REQUIRE(file.good());
        CHECK(detect_syntax(std::string{std::istreambuf_iterator<char>(file), {}}, has_none).name ==
              one.family);
    }
}

TEST_CASE("start_after() returns the protocol state at the end of a prompt", "[output]") {
    const Syntax think = with_think_expected();
    CHECK(start_after(think, "<|im_start|>assistant\n<think>\n") == Start::reasoning);
    CHECK(start_after(think, "<|im_start|>assistant\n<think>") == Start::reasoning);
    CHECK(start_after(think, "<|im_start|>assistant\n") == Start::content);
    CHECK(start_after(think, "<think>\n\n</think>\n\n") == Start::content);
    CHECK(start_after(think, "What is <think>?<|im_end|>\n<|im_start|>assistant\n") == Start::content);
    CHECK(start_after(think, "") == Start::content);
    CHECK(start_after(*find_syntax("apriel"), "<|begin_assistant|>\nHere are my reasoning steps:\n") ==
          Start::reasoning);
    CHECK(start_after(*find_syntax("cohere"), "<|CHATBOT_TOKEN|><|START_THINKING|>") == Start::reasoning);
    CHECK(start_after(*find_syntax("cohere"), "<|START_THINKING|><|END_THINKING|>") == Start::content);
    CHECK(start_after(*find_syntax("gemma_4"), "<|turn>model\n<|channel>thought\n<channel|>") ==
          Start::content);
    CHECK(start_after(*find_syntax("kimi_k3"), "<|open|>think<|sep|>") == Start::reasoning);
    const Syntax& harmony = *find_syntax("harmony");
    CHECK(start_after(harmony, "<|start|>user<|message|>Hi<|end|><|start|>assistant") == Start::header);
    CHECK(start_after(harmony, "<|start|>assistant<|channel|>final<|message|>Yes, ") == Start::content);
    CHECK(start_after(harmony, "<|start|>assistant<|channel|>analysis<|message|>Hm") == Start::reasoning);
    CHECK(start_after(*find_syntax("muse"), "<|start|>assistant to=self<|message|>") == Start::reasoning);
    CHECK(start_after(*find_syntax("functionary_v3_2"), "<|end_header_id|>\n\n>>>") == Start::header);
    CHECK(start_after(*find_syntax("functionary_v3_2"), ">>>all\nHello. ") == Start::content);
}

TEST_CASE("the table of families is consistent", "[output]") {
    std::set<std::string_view> names;
    for (const auto& syntax : syntaxes()) {
        INFO(syntax.name);
        CHECK(names.insert(syntax.name).second);
        CHECK(find_syntax(syntax.name) == &syntax);
        CHECK((!syntax.sections.empty() || !syntax.messages.calls.empty()));
        const auto markers = syntax.markers(Calls::expected);
        CHECK(std::none_of(markers.begin(), markers.end(), [](auto text) { return text.empty(); }));
        for (const auto& pair : syntax.reasoning)
            CHECK((!pair.open.empty() && !pair.close.empty()));
        for (const auto& section : syntax.sections) {
            for (const auto& call : section.calls) {
                CHECK(std::any_of(call.begin(), call.end(), [](const PatternPart& part) {
                    return part.field == Field::name || part.field == Field::object ||
                           part.field == Field::code;
                }));
            }
        }
    }
    CHECK(syntaxes().back().name == "generic");
    CHECK(find_syntax("no such family") == nullptr);
    const Syntax& deepseek = *find_syntax("deepseek_v3");
    CHECK(deepseek.is_marker("<｜tool▁sep｜>", Calls::expected)); // a part of a longer text
    CHECK_FALSE(deepseek.is_marker("<｜tool▁sep｜>", Calls::none));
    for (const Calls calls : {Calls::none, Calls::expected}) {
        CHECK(deepseek.is_marker("</think>", calls));
        CHECK_FALSE(deepseek.is_marker("<｜User｜>", calls));
        CHECK_FALSE(deepseek.is_marker("", calls));
    }
}
