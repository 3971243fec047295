#include "server/faces/responses/items.hpp"

#include "server/api/content_parts.hpp"
#include "server/api/tools.hpp"
#include "server/base/ids.hpp"

#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

struct ItemKind {
    std::string_view type;
    std::string_view id_prefix;
    void (*check)(Fields& item); ///< checks the required fields
};

void require_text(Fields& item, std::string_view name) {
    item.require(name);
    item.text(name);
}

/// Builds text parts from a string, which becomes one part of `type`, or from a list of parts of text or
/// files.
Json text_parts(Fields& fields, std::string_view name, std::string_view type, const api::FileTexts& files) {
    const Json* const given = fields.any(name);
    Json parts = Json::array();
    if (given != nullptr && given->is_string())
        parts.push_back({{"type", type}, {"text", *given}});
    if (given == nullptr || given->is_string())
        return parts;
    if (!given->is_array()) {
        fields.refuse(name, "must be a string or a list of parts", "invalid_type");
        return parts;
    }
    for (std::size_t i = 0; i < given->size(); ++i) {
        const Json& part = (*given)[i];
        const std::string path = fmt::format("{}[{}]", name, i);
        if (part.is_object() && !part.contains("type")) {
            fields.refuse(path + ".type", "is required", "missing_required_parameter");
            return parts;
        }
        if (api::is_file_part(part)) {
            const auto text = files.read(fields, path, part);
            if (!text)
                return parts;
            parts.push_back({{"type", "input_text"}, {"text", *text}});
            continue;
        }
        const Json kind = part.is_object() ? part["type"] : Json();
        const bool is_refusal = kind == "refusal";
        if (kind != "input_text" && kind != "output_text" && kind != "text" && !is_refusal) {
            api::refuse_part(fields, path, part);
            return parts;
        }
        const char* const member = is_refusal ? "refusal" : "text";
        if (!part.contains(member) || !part[member].is_string()) {
            fields.refuse(path, fmt::format("must have a string `{}`", member), "invalid_type");
            return parts;
        }
        Json normalized = part;
        normalized["type"] = kind == "text" ? Json(type) : kind;
        if (normalized["type"] == "output_text") { // both are required in output text
            normalized.emplace("annotations", Json::array());
            normalized.emplace("logprobs", Json::array());
        }
        parts.push_back(std::move(normalized));
    }
    return parts;
}

void check_message(Fields& item) {
    item.require("role");
    item.choice("role", {"user", "system", "developer", "assistant"});
    item.choice("phase", {"commentary", "final_answer"});
    item.require("content");
}

/// Of a call in a history, the id may be missing, and the arguments may be any text of the model.
void check_call(Fields& item) {
    require_text(item, "name");
    item.text("call_id");
    item.text("namespace");
}

void check_custom_call(Fields& item) {
    for (const std::string_view name : {"name", "input"})
        require_text(item, name);
    item.text("call_id");
    item.text("namespace");
}

void check_output(Fields& item) {
    item.text("call_id");
    item.require("output");
}

/// Checks that every part has a text, and the given type if it has one.
void check_texts(Fields& item, std::string_view name, std::string_view type) {
    const Json* const parts = item.list(name);
    for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i) {
        const Json& part = (*parts)[i];
        const Json part_type = part.is_object() ? part.value("type", Json(type)) : Json();
        if ((part_type != type && part_type != "text") || !part.contains("text") ||
            !part["text"].is_string()) {
            return item.refuse(fmt::format("{}[{}]", name, i),
                               fmt::format("must be a `{}` with a string `text`", type), "invalid_type");
        }
    }
}

void check_reasoning(Fields& item) {
    check_texts(item, "summary", "summary_text");
    check_texts(item, "content", "reasoning_text");
    item.text("encrypted_content");
}

void check_reference(Fields& item) {
    require_text(item, "id");
}

void check_compaction(Fields& item) {
    require_text(item, "encrypted_content");
}

constexpr std::array<ItemKind, 8> item_kinds = {{{"message", "msg_", check_message},
                                                 {"function_call", "fc_", check_call},
                                                 {"function_call_output", "fco_", check_output},
                                                 {"custom_tool_call", "ctc_", check_custom_call},
                                                 {"custom_tool_call_output", "ctco_", check_output},
                                                 {"reasoning", "rs_", check_reasoning},
                                                 {"item_reference", "", check_reference},
                                                 {"compaction", "cmp_", check_compaction}}};

const ItemKind* kind_named(std::string_view type) {
    for (const ItemKind& kind : item_kinds) {
        if (kind.type == type)
            return &kind;
    }
    return nullptr;
}

/// The type is optional for messages and references.
std::string type_of(const Json& item) {
    const Json type = item.value("type", Json());
    if (type.is_string())
        return type.get<std::string>();
    if (!type.is_null())
        return {};
    return item.contains("role") ? "message" : "item_reference";
}

/// Fills in the item's optional fields.
Json with_defaults(Fields& fields, const Json& given, const ItemKind& kind, const api::FileTexts& files) {
    Json item = {{"type", kind.type}};
    const Json id = given.value("id", Json());
    item["id"] =
        id.is_string() && !id.get_ref<const std::string&>().empty() ? id : Json(new_id(kind.id_prefix));
    for (const auto& [name, value] : given.items()) {
        if (name != "type" && name != "id" && !value.is_null())
            item[name] = value;
    }
    if (kind.type == "item_reference" || kind.type == "compaction")
        return item;
    if (item.value("status", Json()).is_null())
        item["status"] = "completed";
    if (kind.type == "function_call")
        item["arguments"] = api::history_arguments(item.contains("arguments") ? &item["arguments"] : nullptr);
    if (kind.type == "message") {
        const bool is_answer = item["role"] == "assistant";
        item["content"] = text_parts(fields, "content", is_answer ? "output_text" : "input_text", files);
    } else if (kind.type.ends_with("_output")) {
        Json parts = text_parts(fields, "output", "input_text", files);
        if (item.value("output", Json()).is_array())
            item["output"] = std::move(parts);
    } else if (kind.type == "reasoning") {
        if (item.value("summary", Json()).is_null())
            item["summary"] = Json::array();
    }
    return item;
}

/// Gives an id to each call without one, and to a result without one that of the first call that has no
/// result.
void complete_call_ids(Fields& fields, std::string_view name, Json& items) {
    std::set<std::string> answered; // ids that results name
    for (const Json& item : items) {
        if (item["type"].get_ref<const std::string&>().ends_with("_output"))
            answered.insert(item.value("call_id", ""));
    }
    std::deque<std::string> open;
    for (std::size_t i = 0; i < items.size(); ++i) {
        Json& item = items[i];
        const std::string& type = item["type"].get_ref<const std::string&>();
        const bool has_id = !item.value("call_id", "").empty();
        if (type.ends_with("_call")) {
            if (!has_id)
                item["call_id"] = new_id("call_");
            if (!has_id || !answered.contains(item["call_id"].get<std::string>()))
                open.push_back(item["call_id"]);
        } else if (type.ends_with("_output") && !has_id) {
            if (open.empty()) {
                return fields.refuse(fmt::format("{}[{}].call_id", name, i), "is required",
                                     "missing_required_parameter");
            }
            item["call_id"] = open.front();
            open.pop_front();
        }
    }
}

std::string joined_text(const Json& content) {
    if (content.is_string())
        return content.get<std::string>();
    std::string text;
    for (const Json& part : content.is_array() ? content : Json::array()) {
        const bool is_refusal = part.value("type", Json()) == "refusal";
        text += part.at(is_refusal ? "refusal" : "text").get_ref<const std::string&>();
    }
    return text;
}

/// Builds messages from items, in order.
class Messages {
public:
    /// Borrows the names.
    explicit Messages(const ToolNames& names) : names_(&names) {}

    void add(const Json& item) {
        const std::string type = item.value("type", "message");
        if (type == "message")
            return add_message(item);
        if (type == "reasoning") {
            reasoning_ += joined_text(item.value("content", Json()));
        } else if (type == "function_call") {
            add_call(item, item["arguments"].get<std::string>());
        } else if (type == "custom_tool_call") {
            add_call(item, api::custom_arguments(item["input"].get<std::string>()));
        } else if (type.ends_with("_output")) {
            reasoning_.clear();
            messages_.push_back({.role = chat::Role::tool,
                                 .content = joined_text(item["output"]),
                                 .tool_call_id = item["call_id"]});
        }
    }

    std::vector<chat::Message> take() && { return std::move(messages_); }

private:
    void add_message(const Json& item) {
        chat::Message message = chat::message_of_role(item["role"].get<std::string>());
        message.content = joined_text(item["content"]);
        if (message.role == chat::Role::assistant)
            message.reasoning = std::exchange(reasoning_, {});
        reasoning_.clear();
        messages_.push_back(std::move(message));
    }

    void add_call(const Json& item, std::string arguments) {
        const bool joins_last =
            !messages_.empty() && messages_.back().role == chat::Role::assistant && reasoning_.empty();
        if (!joins_last) {
            messages_.push_back(
                {.role = chat::Role::assistant, .content = {}, .reasoning = std::exchange(reasoning_, {})});
        }
        messages_.back().tool_calls.push_back(
            {.id = item["call_id"],
             .name = names_->model_name(item.value("namespace", ""), item["name"]),
             .arguments = std::move(arguments)});
    }

    const ToolNames* names_;
    std::vector<chat::Message> messages_;
    std::string reasoning_; ///< pending until the message it led to
};

} // namespace

Json read_items(Fields& fields, std::string_view name, const api::FileTexts& files) {
    Json items = Json::array();
    const Json* const given = fields.any(name);
    if (given == nullptr)
        return items;
    if (given->is_string()) {
        Json content = Json::array();
        content.push_back({{"type", "input_text"}, {"text", *given}});
        items.push_back({{"type", "message"},
                         {"id", new_id("msg_")},
                         {"role", "user"},
                         {"status", "completed"},
                         {"content", std::move(content)}});
        return items;
    }
    if (!given->is_array()) {
        fields.refuse(name, "must be a string or a list of items", "invalid_type");
        return items;
    }
    for (std::size_t i = 0; i < given->size(); ++i) {
        const std::string path = fmt::format("{}[{}]", fields.path_of(name), i);
        const Json& entry = (*given)[i];
        if (!entry.is_object()) {
            fields.refuse(fmt::format("{}[{}]", name, i), "must be an object", "invalid_type");
            break;
        }
        Fields item(entry, path);
        const ItemKind* const kind = kind_named(type_of(entry));
        if (kind == nullptr) {
            item.refuse("type",
                        fmt::format("is {}, which is not a supported item type",
                                    dump_json(entry.value("type", Json()))),
                        "unsupported_value");
        } else {
            kind->check(item);
            item.text("status");
            items.push_back(with_defaults(item, entry, *kind, files));
        }
        if (item.problem()) {
            fields.adopt(*item.problem());
            break;
        }
    }
    if (!fields.problem())
        complete_call_ids(fields, name, items);
    return items;
}

void assign_new_id(Json& item) {
    const ItemKind* const kind = kind_named(item["type"].get_ref<const std::string&>());
    item["id"] = new_id(kind == nullptr ? "item_" : kind->id_prefix);
}

std::vector<chat::Message> messages_of(const Json& items, const ToolNames& names) {
    Messages messages(names);
    for (const Json& item : items)
        messages.add(item);
    return std::move(messages).take();
}

bool is_cut_call(const Json& item) {
    const std::string type = item.value("type", "message");
    return (type == "function_call" || type == "custom_tool_call") &&
           item.value("status", Json()) == "incomplete";
}

std::optional<std::size_t> result_without_call(const Json& items) {
    std::map<std::string, std::string> called; // result type by call id
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string type = items[i].value("type", "message");
        if (type == "function_call" || type == "custom_tool_call")
            called[items[i]["call_id"].get<std::string>()] = type + "_output";
        if (!type.ends_with("_output"))
            continue;
        const auto call = called.find(items[i]["call_id"].get<std::string>());
        if (call == called.end() || call->second != type)
            return i;
    }
    return std::nullopt;
}

ApiError missing_call_error(const Json& result, std::string_view member) {
    const std::string type = result["type"];
    return {.message = fmt::format("there is no {} before the {} with call_id `{}`",
                                   type.substr(0, type.rfind("_output")), type,
                                   result["call_id"].get<std::string>()),
            .param = std::string(member),
            .code = "tool_call_not_found"};
}

std::size_t removable_items(const Json& items) {
    if (items.empty())
        return 0;
    std::set<std::string> awaited; // call ids of the results at the end
    std::size_t first = items.size() - 1;
    for (std::size_t i = items.size(); i-- > 0;) {
        const std::string type = items[i].value("type", "message");
        if (type.ends_with("_output") && i + 1 >= first) {
            awaited.insert(items[i]["call_id"].get<std::string>());
            first = i;
        } else if (type.ends_with("_call") && awaited.erase(items[i]["call_id"].get<std::string>()) > 0) {
            first = i;
        }
        if (awaited.empty())
            break;
    }
    return first;
}

} // namespace etna::server::responses
