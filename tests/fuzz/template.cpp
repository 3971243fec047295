// Fuzzes the template interpreter: any text, rendered with a small conversation, ends with text or an error,
// within its bounds.
#include "core/jinja/template.hpp"

#include "core/jinja/json.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using namespace etna::jinja;

namespace {

constexpr Limits limits = {
    .template_bytes = 16 << 10, .live_bytes = std::size_t{8} << 20, .work = 20'000'000};

Input conversation() {
    const auto value = [](const char* json) { return from_json(json).value(); };
    return {.variables = {{"messages", value(R"([{"role": "system", "content": "Be brief."},
                               {"role": "user", "content": [{"type": "text", "text": "Größe?"}]},
                               {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
                                "function": {"name": "f", "arguments": {"x": 1, "y": [2.5, true]}}}]}])")},
                          {"tools", value(R"([{"type": "function", "function": {"name": "f"}}])")},
                          {"bos_token", Value("<s>")},
                          {"add_generation_prompt", Value(true)}},
            .now_unix_s = 1768480496};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    static const Input input = conversation();
    const auto chat = Template::create({reinterpret_cast<const char*>(data), size}, limits);
    if (!chat)
        return 0;
    const auto text = chat->render(input);
    if (text && text->size() > limits.live_bytes) {
        (void)std::fprintf(stderr, "%zu bytes of output\n", text->size());
        std::abort();
    }
    return 0;
}
