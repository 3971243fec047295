#include "server/responses/output.hpp"

#include "server/ids.hpp"
#include "server/openai/chat_response.hpp"
#include "server/responses/items.hpp"

#include <algorithm>
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

std::optional<Json> OutputWriter::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        add_text(text->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        take_output(*parsed);
    } else if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        form_.untold.add(*token);
    } else if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        finish(*finished);
    }
    if (events_.empty())
        return std::nullopt;
    return std::exchange(events_, Json::array());
}

bool OutputWriter::has_enough() const {
    const uint32_t most = form_.may_call_several ? form_.calls_max.value_or(UINT32_MAX) : 1;
    return calls_done_ >= most;
}

void OutputWriter::take_output(const output::Event& event) {
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

void OutputWriter::take_call(const output::Event& event) {
    using Kind = output::EventKind;
    const bool has_begun = open_ == Open::call || open_ == Open::custom_call;
    if (event.kind == Kind::call_started)
        return begin_call(event);
    if (event.kind == Kind::call_broken && !has_begun)
        return add_text(event.text);
    if (event.kind == Kind::call_arguments)
        return add_arguments(event.text);
    end_call(event.kind == Kind::call_done ? "completed" : "incomplete");
}

void OutputWriter::add_text(std::string_view text) {
    if (text.empty())
        return;
    if (open_ != Open::message) {
        close();
        open(Open::message, {{"type", "message"},
                             {"id", new_id("msg_")},
                             {"role", "assistant"},
                             {"status", "in_progress"},
                             {"content", Json::array()}});
        tell_part("response.content_part.added", text_part("", Json::array()));
    }
    text_ += text;
    output_->text += text;
    tell_delta(text, told_logprobs(form_.untold.take()));
}

void OutputWriter::tell_delta(std::string_view text, Json logprobs) {
    for (const Json& one : logprobs)
        logprobs_.push_back(one);
    Json members = place();
    members["content_index"] = 0;
    members["delta"] = text;
    members["logprobs"] = std::move(logprobs);
    tell("response.output_text.delta", members);
}

void OutputWriter::add_reasoning(std::string_view text) {
    form_.untold.forget(); // logprobs are reported only for text
    if (open_ != Open::reasoning) {
        close();
        open(Open::reasoning, {{"type", "reasoning"},
                               {"id", new_id("rs_")},
                               {"status", "in_progress"},
                               {"summary", Json::array()},
                               {"content", Json::array()}});
        tell_part("response.content_part.added", reasoning_part(""));
    }
    text_ += text;
    Json members = place();
    members["content_index"] = 0;
    members["delta"] = text;
    tell(form_.wording == Wording::openai ? "response.reasoning_text.delta" : "response.reasoning.delta",
         members);
}

void OutputWriter::begin_call(const output::Event& event) {
    form_.untold.forget();
    close();
    const ToolName* const known = form_.tool_names.find(event.name);
    const ToolName tool = known == nullptr ? ToolName{.name = event.name} : *known;
    input_ = CustomInput();
    Json item = {{"type", tool.is_custom ? "custom_tool_call" : "function_call"},
                 {"id", new_id(tool.is_custom ? "ctc_" : "fc_")},
                 {"call_id", event.id.empty() ? new_id("call_") : event.id}};
    if (!tool.space.empty())
        item["namespace"] = tool.space;
    item["name"] = tool.name;
    item[tool.is_custom ? "input" : "arguments"] = "";
    item["status"] = "in_progress";
    open(tool.is_custom ? Open::custom_call : Open::call, std::move(item));
}

void OutputWriter::add_arguments(std::string_view text) {
    text_ += text;
    const bool is_custom = open_ == Open::custom_call;
    const std::string delta = is_custom ? input_.push(text) : std::string(text);
    if (delta.empty())
        return;
    custom_ += delta;
    Json members = place();
    members["delta"] = delta;
    tell(is_custom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta",
         members);
}

void OutputWriter::end_call(const char* status) {
    Json& item = output_->items.back();
    Json members = place();
    if (open_ == Open::custom_call) {
        item["input"] = custom_;
        members["input"] = item["input"];
        tell("response.custom_tool_call_input.done", members);
    } else {
        item["arguments"] = text_;
        members["name"] = item["name"];
        members["arguments"] = text_;
        tell("response.function_call_arguments.done", members);
    }
    close(status);
    calls_done_ += std::string_view(status) == "completed" ? 1 : 0;
}

void OutputWriter::finish(const generate::Finished& finished) {
    const std::string stop = openai::told_stop(form_.told_stops, finished);
    add_text(stop);
    Json last = told_logprobs(form_.untold.take_last(finished, stop));
    if (open_ == Open::message && !last.empty()) // tokens whose text was sent before they became final
        tell_delta("", std::move(last));
    output_->finish_reason = finished.finish_reason;
    output_->was_left = finished.finish_reason == generate::FinishReason::cancelled && !has_enough();
    const bool is_cut = finished.finish_reason == generate::FinishReason::length || output_->was_left;
    if (open_ == Open::call || open_ == Open::custom_call) {
        end_call("incomplete");
    } else {
        close(is_cut ? "incomplete" : "completed");
    }
}

void OutputWriter::open(Open kind, Json item) {
    open_ = kind;
    text_.clear();
    custom_.clear();
    logprobs_ = Json::array();
    output_->items.push_back(std::move(item));
    tell_item("response.output_item.added");
}

void OutputWriter::close(const char* status) {
    if (open_ == Open::nothing)
        return;
    Json& item = output_->items.back();
    if (open_ == Open::message)
        close_message(item);
    if (open_ == Open::reasoning)
        close_reasoning(item);
    item["status"] = status;
    tell_item("response.output_item.done");
    open_ = Open::nothing;
}

void OutputWriter::close_message(Json& item) {
    Json members = place();
    members["content_index"] = 0;
    members["text"] = text_;
    members["logprobs"] = logprobs_;
    tell("response.output_text.done", members);
    item["content"].push_back(text_part(text_, std::move(logprobs_)));
    tell_part("response.content_part.done", item["content"].back());
}

void OutputWriter::close_reasoning(Json& item) {
    Json members = place();
    members["content_index"] = 0;
    members["text"] = text_;
    tell(form_.wording == Wording::openai ? "response.reasoning_text.done" : "response.reasoning.done",
         members);
    item["content"].push_back(reasoning_part(text_));
    tell_part("response.content_part.done", item["content"].back());
    if (form_.tells_summary)
        tell_summary(item, first_paragraph(text_));
    if (form_.seal)
        item["encrypted_content"] = form_.seal(text_);
}

void OutputWriter::tell_summary(Json& item, const std::string& text) {
    const auto step = [&](std::string_view type, const char* member, const Json& value) {
        Json members = place();
        members["summary_index"] = 0;
        members[member] = value;
        tell(type, members);
    };
    const Json whole = {{"type", "summary_text"}, {"text", text}};
    step("response.reasoning_summary_part.added", "part", {{"type", "summary_text"}, {"text", ""}});
    step("response.reasoning_summary_text.delta", "delta", text);
    step("response.reasoning_summary_text.done", "text", text);
    step("response.reasoning_summary_part.done", "part", whole);
    item["summary"].push_back(whole);
}

void OutputWriter::tell(std::string_view type, const Json& members) {
    Json event = {{"type", type}};
    event.update(members);
    events_.push_back(std::move(event));
}

void OutputWriter::tell_item(std::string_view type) {
    tell(type, {{"output_index", output_->items.size() - 1}, {"item", output_->items.back()}});
}

void OutputWriter::tell_part(std::string_view type, const Json& part) {
    Json members = place();
    members["content_index"] = 0;
    members["part"] = part;
    tell(type, members);
}

/// The position of the open item.
Json OutputWriter::place() const {
    return {{"item_id", output_->items.back()["id"]}, {"output_index", output_->items.size() - 1}};
}

Json OutputWriter::told_logprobs(const std::vector<openai::ToldToken>& tokens) {
    if (!form_.tells_logprobs)
        return Json::array();
    return openai::logprobs_json(tokens)["content"];
}

} // namespace etna::server::responses
