#include "server/faces/responses/output.hpp"

#include "server/api/logprobs.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/items.hpp"

#include <utility>

namespace etna::server::responses {
namespace {

Json text_part(std::string_view text, Json logprobs) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", std::move(logprobs)}};
}

Json reasoning_part(std::string_view text) {
    return {{"type", "reasoning_text"}, {"text", text}};
}

/// The text up to the first empty line.
std::string first_paragraph(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos)
        return {};
    const std::string paragraph = text.substr(begin, text.find("\n\n", begin) - begin);
    return paragraph.substr(0, paragraph.find_last_not_of(" \t\r\n") + 1);
}

} // namespace

Json ItemStream::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        add_text(text->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        take_output(*parsed);
    } else if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        options_.pending.add(*token);
    } else if (const auto* tokens = std::get_if<generate::FinalTokens>(&event)) {
        options_.pending.add(*tokens);
    } else if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        finish(*finished);
    }
    return std::exchange(events_, Json::array());
}

bool ItemStream::is_complete() const {
    const uint32_t limit = options_.has_parallel_calls ? options_.calls_max.value_or(UINT32_MAX) : 1;
    return calls_done_ >= limit;
}

void ItemStream::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    switch (event.kind) {
    case Kind::content:
        return add_text(event.text);
    case Kind::reasoning:
        return add_reasoning(event.text);
    case Kind::content_was_reasoning: // already sent reasoning is not retracted
        return;
    case Kind::call_started:
    case Kind::call_arguments:
    case Kind::call_done:
    case Kind::call_broken:
        return take_call(event);
    }
}

void ItemStream::take_call(const output::Event& event) {
    using Kind = output::EventKind;
    const bool has_begun = open_ == Open::call || open_ == Open::custom_call;
    if (event.kind == Kind::call_started)
        return begin_call(event);
    if (event.kind == Kind::call_arguments)
        return add_arguments(event.text);
    if (event.kind == Kind::call_done)
        return end_call("completed");
    if (has_begun)
        end_call("incomplete");
    add_text(event.text); // all of the model's text
}

void ItemStream::add_text(std::string_view text) {
    if (text.empty())
        return;
    if (open_ != Open::message) {
        close();
        open(Open::message, {{"type", "message"},
                             {"id", options_.new_id("msg_")},
                             {"role", "assistant"},
                             {"status", "in_progress"},
                             {"content", Json::array()}});
        send_part("response.content_part.added", text_part("", Json::array()));
    }
    text_ += text;
    output_->text += text;
    send_delta(text, logprobs_of(options_.pending.take_final()));
}

void ItemStream::send_delta(std::string_view text, Json logprobs) {
    for (const Json& token : logprobs)
        logprobs_.push_back(token);
    Json members = item_position();
    members["content_index"] = 0;
    members["delta"] = text;
    members["logprobs"] = std::move(logprobs);
    send("response.output_text.delta", members);
}

void ItemStream::add_reasoning(std::string_view text) {
    options_.pending.clear(); // logprobs are reported only for text
    if (open_ != Open::reasoning) {
        close();
        open(Open::reasoning, {{"type", "reasoning"},
                               {"id", options_.new_id("rs_")},
                               {"status", "in_progress"},
                               {"summary", Json::array()},
                               {"content", Json::array()}});
        send_part("response.content_part.added", reasoning_part(""));
    }
    text_ += text;
    Json members = item_position();
    members["content_index"] = 0;
    members["delta"] = text;
    send(options_.standard == ResponseStandard::openai ? "response.reasoning_text.delta"
                                                       : "response.reasoning.delta",
         members);
}

void ItemStream::begin_call(const output::Event& event) {
    options_.pending.clear();
    close();
    const ToolName* const offered = options_.tool_names.find(event.name);
    const ToolName tool = offered == nullptr ? ToolName{.name = event.name} : *offered;
    input_parser_ = CustomInput();
    Json item = {{"type", tool.is_custom ? "custom_tool_call" : "function_call"},
                 {"id", options_.new_id(tool.is_custom ? "ctc_" : "fc_")},
                 {"call_id", event.id.empty() ? options_.new_id("call_") : event.id}};
    if (!tool.name_space.empty())
        item["namespace"] = tool.name_space;
    item["name"] = tool.name;
    item[tool.is_custom ? "input" : "arguments"] = "";
    item["status"] = "in_progress";
    open(tool.is_custom ? Open::custom_call : Open::call, std::move(item));
}

void ItemStream::add_arguments(std::string_view text) {
    text_ += text;
    const bool is_custom = open_ == Open::custom_call;
    const std::string delta = is_custom ? input_parser_.push(text) : std::string(text);
    if (delta.empty())
        return;
    custom_input_ += delta;
    Json members = item_position();
    members["delta"] = delta;
    send(is_custom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta",
         members);
}

void ItemStream::end_call(const char* status) {
    Json& item = output_->items.back();
    Json members = item_position();
    if (open_ == Open::custom_call) {
        item["input"] = custom_input_;
        members["input"] = item["input"];
        send("response.custom_tool_call_input.done", members);
    } else {
        item["arguments"] = text_;
        members["name"] = item["name"];
        members["arguments"] = text_;
        send("response.function_call_arguments.done", members);
    }
    close(status);
    calls_done_ += std::string_view(status) == "completed" ? 1 : 0;
}

void ItemStream::finish(const generate::Finished& finished) {
    Json last = logprobs_of(options_.pending.take_final());
    if (open_ == Open::message && !last.empty()) // tokens whose text was sent before they became final
        send_delta("", std::move(last));
    output_->finish_reason = finished.finish_reason;
    output_->was_cancelled = finished.finish_reason == generate::FinishReason::cancelled && !is_complete();
    const bool is_truncated =
        finished.finish_reason == generate::FinishReason::length || output_->was_cancelled;
    if (open_ == Open::call || open_ == Open::custom_call) {
        end_call("incomplete");
    } else {
        close(is_truncated ? "incomplete" : "completed");
    }
}

void ItemStream::open(Open kind, Json item) {
    open_ = kind;
    text_.clear();
    custom_input_.clear();
    logprobs_ = Json::array();
    output_->items.push_back(std::move(item));
    send_item("response.output_item.added");
}

void ItemStream::close(const char* status) {
    if (open_ == Open::nothing)
        return;
    Json& item = output_->items.back();
    if (open_ == Open::message)
        close_message(item);
    if (open_ == Open::reasoning)
        close_reasoning(item);
    item["status"] = status;
    send_item("response.output_item.done");
    open_ = Open::nothing;
}

void ItemStream::close_message(Json& item) {
    Json members = item_position();
    members["content_index"] = 0;
    members["text"] = text_;
    members["logprobs"] = logprobs_;
    send("response.output_text.done", members);
    item["content"].push_back(text_part(text_, std::move(logprobs_)));
    send_part("response.content_part.done", item["content"].back());
}

void ItemStream::close_reasoning(Json& item) {
    Json members = item_position();
    members["content_index"] = 0;
    members["text"] = text_;
    send(options_.standard == ResponseStandard::openai ? "response.reasoning_text.done"
                                                       : "response.reasoning.done",
         members);
    item["content"].push_back(reasoning_part(text_));
    send_part("response.content_part.done", item["content"].back());
    if (options_.includes_summary)
        send_summary(item, first_paragraph(text_));
    if (options_.seal)
        item["encrypted_content"] = options_.seal(text_);
}

void ItemStream::send_summary(Json& item, const std::string& text) {
    const auto send_step = [&](std::string_view type, const char* member, const Json& value) {
        Json members = item_position();
        members["summary_index"] = 0;
        members[member] = value;
        send(type, members);
    };
    const Json summary = {{"type", "summary_text"}, {"text", text}};
    send_step("response.reasoning_summary_part.added", "part", {{"type", "summary_text"}, {"text", ""}});
    send_step("response.reasoning_summary_text.delta", "delta", text);
    send_step("response.reasoning_summary_text.done", "text", text);
    send_step("response.reasoning_summary_part.done", "part", summary);
    item["summary"].push_back(summary);
}

void ItemStream::send(std::string_view type, const Json& members) {
    Json event = {{"type", type}};
    event.update(members);
    events_.push_back(std::move(event));
}

void ItemStream::send_item(std::string_view type) {
    send(type, {{"output_index", output_->items.size() - 1}, {"item", output_->items.back()}});
}

void ItemStream::send_part(std::string_view type, const Json& part) {
    Json members = item_position();
    members["content_index"] = 0;
    members["part"] = part;
    send(type, members);
}

/// The position of the open item.
Json ItemStream::item_position() const {
    return {{"item_id", output_->items.back()["id"]}, {"output_index", output_->items.size() - 1}};
}

Json ItemStream::logprobs_of(const std::vector<generate::EmittedToken>& tokens) {
    if (!options_.includes_logprobs)
        return Json::array();
    return api::logprobs_list(tokens);
}

} // namespace etna::server::responses
