// top_logprobs FILE CACHE COUNT: for each line of token ids on stdin, one JSON line: the COUNT most likely
// next tokens with their log-probabilities, [[id, logprob], ...], on the default device. CACHE is f16 or f32.
#include "core/engine/engine.hpp"
#include "core/runtime/runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace etna;

int fail(const Error& error) {
    fmt::print(stderr, "error: {}\n", error.message);
    return 1;
}

Result<engine::TokenEvent> first_token(engine::Engine& engine, const engine::Request& request) {
    ETNA_TRY(engine::Stream stream, engine.submit(request));
    const engine::Event event = stream.next();
    if (const auto* token = std::get_if<engine::TokenEvent>(&event))
        return *token;
    const auto& finished = std::get<engine::Finished>(event);
    return finished.error.value_or(Error{.kind = ErrorKind::internal, .message = "no token was generated"});
}

std::vector<TokenId> ids_of(const std::string& line) {
    std::istringstream words(line);
    std::vector<TokenId> ids;
    for (TokenId id = 0; words >> id;)
        ids.push_back(id);
    return ids;
}

std::string json_of(const engine::TokenEvent& event) {
    std::string json;
    for (const sampling::Candidate& candidate : event.top) {
        json += fmt::format("{}[{}, {}]", json.empty() ? "" : ", ", candidate.token,
                            candidate.logit - event.log_sum_exp);
    }
    return "[" + json + "]";
}

/// Prompts do not share pages: each is computed from its first token on.
Status answer(engine::Engine& engine, uint32_t count) {
    engine::Request request{.sampling = {.temperature = 0}, .top_candidates = count, .max_tokens = 1};
    for (std::string line; std::getline(std::cin, line); ++request.cache_salt) {
        request.prompt = ids_of(line);
        ETNA_TRY(const engine::TokenEvent event, first_token(engine, request));
        fmt::print("{}\n", json_of(event));
    }
    return {};
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view cache = count == 4 ? arguments[2] : "";
    if (cache != "f16" && cache != "f32") {
        fmt::print(stderr, "usage: top_logprobs FILE f16|f32 COUNT\n");
        return 2;
    }
    const auto file = gguf::File::open(arguments[1]);
    if (!file)
        return fail(file.error());
    runtime::ExecutorOptions options;
    options.key_type = options.value_type = cache == "f32" ? runtime::KvType::f32 : runtime::KvType::f16;
    runtime::Runtime runtime;
    auto loaded = runtime.load(*file, options);
    if (!loaded)
        return fail(loaded.error());
    const auto engine = engine::Engine::create(std::move(loaded->executor));
    if (!engine)
        return fail(engine.error());
    if (const Status status =
            answer(**engine, static_cast<uint32_t>(std::strtoul(arguments[3], nullptr, 10)));
        !status)
        return fail(status.error());
    return 0;
}
