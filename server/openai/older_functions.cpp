#include "server/openai/older_functions.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

bool is_named(const Json& json) {
    return json.is_object() && json.value("name", Json()).is_string();
}

Json as_function(Json function) {
    return {{"type", "function"}, {"function", std::move(function)}};
}

Json read_choice(Fields& fields) {
    const Json* const given = fields.any("function_call");
    if (given == nullptr || *given == "auto")
        return "auto";
    if (*given == "none")
        return *given;
    if (is_named(*given))
        return as_function({{"name", (*given)["name"]}});
    fields.refuse("function_call", R"(must be "none", "auto" or {"name": ...})");
    return nullptr;
}

} // namespace

std::optional<OlderFunctions> read_older_functions(Fields& fields) {
    OlderFunctions older = {.choice = read_choice(fields)};
    const Json* const given = fields.list("functions");
    if (given == nullptr && older.choice.is_string())
        return std::nullopt;
    if (given == nullptr) {
        fields.refuse("function_call", "needs `functions`");
        return std::nullopt;
    }
    for (const std::string_view newer : {"tools", "tool_choice"}) {
        if (fields.any(newer) != nullptr)
            fields.refuse(std::string(newer), "comes beside the older `functions`; say one of them");
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < given->size() && !fields.problem(); ++i) {
        const std::string place = fmt::format("functions[{}]", i);
        if (!is_named((*given)[i])) {
            fields.refuse(place, R"(must be {"name": ..., "parameters": ...})");
        } else if (!names.insert((*given)[i]["name"]).second) {
            fields.refuse(place + ".name", "is that of another function already; give each its own");
        }
        older.tools.push_back(as_function((*given)[i]));
    }
    return older;
}

void tell_older_call(Json& answer) {
    for (Json& choice : answer["choices"]) {
        if (choice.value("finish_reason", Json()) == "tool_calls")
            choice["finish_reason"] = "function_call";
        for (const char* const member : {"message", "delta"}) {
            if (!choice.contains(member) || !choice[member].contains("tool_calls"))
                continue;
            Json& told = choice[member];
            told["function_call"] = told["tool_calls"][0]["function"];
            told.erase("tool_calls");
        }
    }
}

} // namespace etna::server::openai
