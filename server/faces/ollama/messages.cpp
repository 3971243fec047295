#include "server/faces/ollama/messages.hpp"

#include "server/base/json.hpp"
#include "server/http/http.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

/// A call of an earlier turn without a result.
struct OpenCall {
    std::string id;
    std::string name;
};

/// Builds the messages of one conversation, in order.
class MessageReader {
public:
    chat::Message read(Fields& fields) {
        fields.require("role");
        const std::string role = to_lower(fields.text("role").value_or(""));
        chat::Message message = chat::message_of_role(role);
        if (role.empty())
            fields.refuse("role", "is empty");
        message.content = fields.text("content").value_or("");
        message.reasoning = fields.text("thinking").value_or("");
        refuse_images(fields);
        read_calls(fields, message);
        const auto name = fields.text("tool_name");
        const auto older_name = fields.text("name"); // used by OpenAI's API and by older clients
        const auto id = fields.text("tool_call_id");
        if (message.role == chat::Role::tool)
            answer_call(message, id.value_or(""), name.value_or(older_name.value_or("")));
        return message;
    }

private:
    void read_calls(Fields& fields, chat::Message& message) {
        const Json* const given = fields.list("tool_calls");
        if (given == nullptr || given->empty())
            return;
        if (message.role != chat::Role::assistant)
            fields.refuse("tool_calls", "is for messages of the assistant only");
        calls_.clear();
        for (std::size_t i = 0; i < given->size() && !fields.problem(); ++i) {
            const std::string path = fmt::format("tool_calls[{}]", i);
            if (!(*given)[i].is_object())
                return fields.refuse(path, "must be an object", "invalid_type");
            Fields call((*given)[i], fields.path_of(path));
            message.tool_calls.push_back(read_call(call));
            fields.adopt(call);
        }
    }

    chat::ToolCall read_call(Fields& fields) {
        fields.accept({"type"});
        chat::ToolCall call = {
            .id = fields.text("id").value_or(fmt::format("call_{}", ids_++)), .name = {}, .arguments = {}};
        fields.require("function");
        const Json* const given = fields.object("function");
        if (given == nullptr)
            return call;
        Fields function(*given, fields.path_of("function"));
        function.require("name");
        call.name = function.text("name").value_or("");
        call.arguments = api::history_arguments(function.any("arguments"));
        function.accept({"index", "description"});
        fields.adopt(function);
        calls_.push_back({.id = call.id, .name = call.name});
        return call;
    }

    /// Sets the id and name of a result from the call that it answers.
    void answer_call(chat::Message& message, const std::string& id, const std::string& name) {
        const auto is_answered = [&](const OpenCall& call) {
            return id.empty() ? name.empty() || call.name == name : call.id == id;
        };
        const auto call = std::ranges::find_if(calls_, is_answered);
        message.tool_call_id = id;
        message.tool_name = name;
        if (call == calls_.end())
            return;
        message.tool_call_id = call->id;
        message.tool_name = call->name;
        calls_.erase(call);
    }

    std::vector<OpenCall> calls_; ///< open calls of the last message with calls
    std::size_t ids_ = 0;
};

/// Reads the members of a function.
api::Tool read_function(Fields& function) {
    function.require("name");
    const std::string name = function.text("name").value_or("");
    const auto description = function.text("description");
    const Json* const parameters = function.object("parameters");
    const bool is_strict = function.flag("strict").value_or(false);
    return {.function = api::function_definition(name, description,
                                                 parameters == nullptr ? Json() : *parameters, is_strict),
            .offered = {.path = function.path_of("parameters")}};
}

std::optional<api::Tool> read_tool(Fields& fields, const std::string& path) {
    fields.choice("type", {"function"});
    const Json* const given = fields.object("function");
    if (given == nullptr && fields.any("name") != nullptr) // as in OpenAI's Responses API
        return read_function(fields);
    fields.require("function");
    if (given == nullptr)
        return std::nullopt;
    Fields function(*given, path + ".function");
    api::Tool tool = read_function(function);
    fields.adopt(function);
    return tool;
}

} // namespace

void refuse_images(Fields& fields) {
    const Json* const images = fields.any("images");
    if (images == nullptr || images->empty())
        return;
    fields.adopt(
        {.message = fmt::format("{}: image input is not supported by this model", fields.path_of("images")),
         .param = fields.path_of("images"),
         .code = "invalid_value"});
}

std::vector<chat::Message> read_messages(Fields& fields) {
    std::vector<chat::Message> messages;
    const Json* const given = fields.list("messages");
    MessageReader reader;
    for (std::size_t i = 0; given != nullptr && i < given->size() && !fields.problem(); ++i) {
        const std::string path = fmt::format("messages[{}]", i);
        if (!(*given)[i].is_object()) {
            fields.refuse(path, "must be an object", "invalid_type");
            break;
        }
        Fields message((*given)[i], path);
        messages.push_back(reader.read(message));
        fields.adopt(message);
    }
    return messages;
}

std::vector<api::Tool> read_tools(Fields& fields) {
    return api::read_tool_list(fields, "function.name", read_tool);
}

} // namespace etna::server::ollama
