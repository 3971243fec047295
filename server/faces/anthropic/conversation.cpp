#include "server/faces/anthropic/conversation.hpp"

#include "server/api/content_parts.hpp"
#include "server/api/tools.hpp"
#include "server/base/json.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::anthropic {
namespace {

/// Prefix of the system block in which Claude Code identifies a request for billing.
constexpr std::string_view billing_prefix = "x-anthropic-billing-header:";

void refuse_block(Fields& block, std::string_view type) {
    if (const std::string_view medium = api::medium_of(type); !medium.empty()) {
        return block.adopt({.message = fmt::format("{}: {} input is not supported by this model",
                                                   block.path_of("type"), medium),
                            .param = block.path_of("type"),
                            .code = "invalid_value"});
    }
    block.refuse("type", fmt::format("is `{}`, which is not a supported block here", type),
                 "unsupported_value");
}

/// Calls `read(block, type)` for each block of a list.
template <class Read>
void for_each_block(Fields& fields, std::string_view name, const Json& list, const Read& read) {
    for (std::size_t i = 0; i < list.size() && !fields.problem(); ++i) {
        const std::string index = fmt::format("{}[{}]", name, i);
        if (!list[i].is_object())
            return fields.refuse(index, "must be a block: an object with a type", "invalid_type");
        Fields block(list[i], fields.path_of(index));
        block.require("type");
        read(block, block.text("type").value_or(""));
        block.accept({"cache_control", "citations"});
        fields.adopt(block);
    }
}

/// The text of a block of type `text`, of a document or of a search result.
std::optional<std::string> text_of_block(Fields& block, std::string_view type, const api::FileTexts& files) {
    if (type == "text") {
        block.require("text");
        return block.text("text").value_or("");
    }
    if (type == "search_result") {
        std::string text =
            fmt::format("{}\n{}\n", block.text("title").value_or(""), block.text("source").value_or(""));
        if (const Json* const content = block.list("content")) {
            for_each_block(block, "content", *content,
                           [&](Fields& part, std::string_view) { text += part.text("text").value_or(""); });
        }
        return text;
    }
    if (!api::is_file_part(block.json()))
        return std::nullopt;
    block.accept({"source", "title", "context"});
    auto text = files.read(block, "source", block.json());
    return text ? std::move(text) : std::string(); // the error is recorded
}

/// The text of `content` of a tool result: a string, blocks of text, or absent.
std::string result_text(Fields& result, const api::FileTexts& files) {
    const Json* const content = result.any("content");
    std::string text;
    if (content == nullptr)
        return text;
    if (content->is_string()) {
        text = content->get<std::string>();
    } else if (content->is_array()) {
        for_each_block(result, "content", *content, [&](Fields& block, std::string_view type) {
            if (const auto part = text_of_block(block, type, files)) {
                text += (text.empty() ? "" : "\n") + *part;
            } else if (type == "tool_reference") {
                text += (text.empty() ? "" : "\n") + block.text("tool_name").value_or("");
            } else {
                refuse_block(block, type);
            }
        });
    } else {
        result.refuse("content", "must be a string or a list of blocks", "invalid_type");
    }
    return text;
}

/// Builds the messages of one conversation, in order.
class MessageReader {
public:
    /// Borrows all.
    MessageReader(const ThinkingSeal& seal, const api::FileTexts& files, chat::Conversation& conversation)
        : seal_(&seal), files_(&files), messages_(&conversation.messages) {}

    void read_system(Fields& fields) {
        const Json* const system = fields.any("system");
        if (system == nullptr)
            return;
        std::string text;
        if (system->is_string()) {
            text = system->get<std::string>();
        } else if (system->is_array()) {
            for_each_block(fields, "system", *system, [&](Fields& block, std::string_view type) {
                const auto part = type == "text" ? text_of_block(block, type, *files_) : std::nullopt;
                if (!part)
                    return refuse_block(block, type);
                if (part->starts_with(billing_prefix))
                    return fields.note_nested(block.path_of("text"));
                text += (text.empty() ? "" : "\n\n") + *part;
            });
        } else {
            fields.refuse("system", "must be a string or a list of blocks of text", "invalid_type");
        }
        if (!text.empty())
            messages_->push_back({.role = chat::Role::system, .content = std::move(text)});
    }

    void read_message(Fields& message) {
        message.require("role");
        const auto role = message.choice("role", {"user", "assistant", "system"});
        message.require("content");
        const Json* const content = message.any("content");
        if (content == nullptr || !role)
            return;
        constexpr std::array roles = {chat::Role::user, chat::Role::assistant, chat::Role::system};
        role_ = roles.at(*role);
        is_open_ = false;
        if (content->is_string()) {
            open().content = content->get<std::string>();
        } else if (content->is_array()) {
            if (content->empty() && role_ == chat::Role::user)
                message.refuse("content", "is empty: a message of the user has at least one block");
            for_each_block(message, "content", *content,
                           [&](Fields& block, std::string_view type) { read_block(block, type); });
        } else {
            message.refuse("content", "must be a string or a list of blocks", "invalid_type");
        }
    }

private:
    void read_block(Fields& block, std::string_view type) {
        const bool is_assistant = role_ == chat::Role::assistant;
        if (auto text = text_of_block(block, type, *files_)) {
            std::string& content = open().content;
            content += (content.empty() || is_assistant ? "" : "\n") + *text;
        } else if (type == "tool_result" && role_ == chat::Role::user) {
            read_result(block);
        } else if (type == "tool_use" && is_assistant) {
            read_call(block);
        } else if ((type == "thinking" || type == "redacted_thinking") && is_assistant) {
            block.accept({"thinking", "signature", "data"});
            if (const auto thinking = seal_->open(block.json()))
                open().reasoning += *thinking;
        } else {
            refuse_block(block, type);
        }
    }

    void read_result(Fields& block) {
        const std::string id = block.text("tool_use_id").value_or("");
        const auto call = names_.find(id);
        if (id.empty() && calls_without_id_.empty()) {
            block.require("tool_use_id");
            return block.refuse("tool_use_id", "is empty");
        }
        if (!id.empty() && call == names_.end())
            return block.refuse("tool_use_id", fmt::format("is `{}`, which no earlier tool_use has", id));
        std::string name = id.empty() ? calls_without_id_.front() : call->second;
        if (id.empty())
            calls_without_id_.erase(calls_without_id_.begin());
        const bool is_error = block.flag("is_error").value_or(false);
        std::string text = result_text(block, *files_);
        if (is_error)
            text = "Error: " + text;
        messages_->push_back({.role = chat::Role::tool,
                              .content = std::move(text),
                              .tool_call_id = id,
                              .tool_name = std::move(name)});
        is_open_ = false; // text after a result starts a new message
    }

    /// Of a call in a history, the id may be missing, and the input may be any text of the model.
    void read_call(Fields& block) {
        block.require("name");
        const std::string id = block.text("id").value_or("");
        const std::string name = block.text("name").value_or("");
        std::string arguments = api::history_arguments(block.any("input"));
        block.accept({"caller"});
        if (id.empty())
            calls_without_id_.push_back(name);
        else
            names_[id] = name;
        open().tool_calls.push_back({.id = id, .name = name, .arguments = std::move(arguments)});
    }

    /// Returns the message that the next block belongs to.
    chat::Message& open() {
        if (!is_open_) {
            messages_->emplace_back().role = role_;
            is_open_ = true;
        }
        return messages_->back();
    }

    const ThinkingSeal* seal_;
    const api::FileTexts* files_;
    std::vector<chat::Message>* messages_;
    std::map<std::string, std::string> names_; ///< names of the called tools by call id
    std::vector<std::string>
        calls_without_id_; ///< names of the tools that such calls name, until their results
    chat::Role role_ = chat::Role::user;
    bool is_open_ = false;
};

} // namespace

void read_messages(Fields& fields, const ThinkingSeal& seal, const api::FileTexts& files,
                   chat::Conversation& conversation) {
    MessageReader reader(seal, files, conversation);
    reader.read_system(fields);
    fields.require("messages");
    const Json* const messages = fields.list("messages");
    if (messages == nullptr)
        return;
    if (messages->empty())
        fields.refuse("messages", "is empty: at least one message is required");
    for (std::size_t i = 0; i < messages->size() && !fields.problem(); ++i) {
        const std::string path = fmt::format("messages[{}]", i);
        if (!(*messages)[i].is_object())
            return fields.refuse(path, "must be an object", "invalid_type");
        Fields message((*messages)[i], path);
        reader.read_message(message);
        fields.adopt(message);
    }
}

} // namespace etna::server::anthropic
