// bench_model FILE [PROMPT_TOKENS GENERATED_TOKENS REPETITIONS]: tokens a second of one sequence on the
// default device, for the prompt (submission to first token) and the generation (first token to last),
// medians, as JSON.
#include "core/engine/engine.hpp"
#include "core/runtime/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace etna;

int fail(const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message);
    return 1;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Speed {
    std::vector<double> prompt;     ///< tokens a second, one for each repetition
    std::vector<double> generation; ///< the same
};

/// Prompts differ, so that no cached page serves the next one.
Status measure(engine::Engine& engine, uint32_t prompt_tokens, uint32_t generated_tokens, uint32_t seed,
               Speed& speed) {
    engine::Request request{.sampling = {.temperature = 0}, .max_tokens = generated_tokens};
    for (uint32_t i = 0; i < prompt_tokens; ++i)
        request.prompt.push_back((seed * 7919 + i * 101) % engine.limits().vocabulary);
    ETNA_TRY(engine::Stream stream, engine.submit(request));
    while (true) {
        const engine::Event event = stream.next();
        const auto* finished = std::get_if<engine::Finished>(&event);
        if (finished == nullptr)
            continue;
        if (finished->error)
            return *finished->error;
        speed.prompt.push_back(1e3 * prompt_tokens / finished->timings.prompt_ms);
        speed.generation.push_back(1e3 * (finished->completion_tokens - 1) / finished->timings.generation_ms);
        return {};
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count != 2 && count != 5) {
        fmt::print(stderr, "usage: bench_model FILE [PROMPT_TOKENS GENERATED_TOKENS REPETITIONS]\n");
        return 2;
    }
    const auto number = [&](int index, uint32_t otherwise) {
        return count == 5 ? static_cast<uint32_t>(std::strtoul(arguments[index], nullptr, 10)) : otherwise;
    };
    const uint32_t prompt_tokens = number(2, 64);
    const uint32_t generated_tokens = number(3, 32);
    const uint32_t repetitions = number(4, 3);
    const auto file = gguf::File::open(arguments[1]);
    if (!file)
        return fail(file.error());
    runtime::ExecutorOptions options;
    options.context_tokens = prompt_tokens + generated_tokens + 64;
    runtime::Runtime runtime;
    auto loaded = runtime.load(*file, options);
    if (!loaded)
        return fail(loaded.error());
    const auto engine = engine::Engine::create(std::move(loaded->executor));
    if (!engine)
        return fail(engine.error());
    Speed speed;
    Speed warm_up; // drivers compile a kernel when it first runs
    Status status = measure(**engine, prompt_tokens, 2, 0, warm_up);
    for (uint32_t i = 1; i <= repetitions && status; ++i)
        status = measure(**engine, prompt_tokens, generated_tokens, i, speed);
    if (!status)
        return fail(status.error());
    fmt::print(
        "{{\"device\": \"{}\", \"prompt_tokens\": {}, \"prompt_tok_s\": {:.2f}, \"generated_tokens\": {}, "
        "\"generation_tok_s\": {:.2f}}}\n",
        loaded->device_name, prompt_tokens, median(speed.prompt), generated_tokens, median(speed.generation));
    return 0;
}
