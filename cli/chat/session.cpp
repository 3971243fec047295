#include "cli/chat/session.hpp"

#include "cli/chat/history_trimming.hpp"
#include "cli/commands/answer_report.hpp"
#include "cli/load_model.hpp"
#include "cli/tools/tool_result.hpp"
#include "core/jinja/json_value.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

bool is_user(const chat::Message& message) {
    return message.role == chat::Role::user;
}

bool has_system(const std::vector<chat::Message>& messages) {
    return !messages.empty() && messages.front().role == chat::Role::system;
}

/// Returns the last user message; end() if there is none.
std::vector<chat::Message>::iterator last_user(std::vector<chat::Message>& messages) {
    const auto found = std::find_if(messages.rbegin(), messages.rend(), is_user);
    return found == messages.rend() ? messages.end() : std::prev(found.base());
}

bool has_output(const chat::Message& message) {
    return !message.content.empty() || !message.tool_calls.empty();
}

constexpr std::string_view own_member = "etna";

Error invalid_member(std::string_view what) {
    return {ErrorKind::invalid_argument, fmt::format("`{}` {}", own_member, what),
            "remove the member; the rest is a chat request"};
}

/// Returns the template arguments without those for one particular answer, and without the thinking switches
/// if the settings contain them.
chat::NamedValues reusable_arguments(const chat::NamedValues& arguments, bool has_settings) {
    chat::NamedValues reusable;
    for (const auto& [name, value] : arguments) {
        if (name == "add_generation_prompt" || name == "continue_final_message")
            continue;
        if (!has_settings || name != "chat_template_kwargs") {
            reusable.emplace_back(name, value);
            continue;
        }
        chat::NamedValues kwargs;
        for (const auto& [key, kwarg] : value.dict()->entries) {
            if (key.string() != "enable_thinking" && key.string() != "thinking")
                kwargs.emplace_back(key.string(), kwarg);
        }
        if (!kwargs.empty())
            reusable.emplace_back(name, jinja::Value::dict(std::move(kwargs)));
    }
    return reusable;
}

Status read_settings(const Json& settings, std::vector<Setting>& read) {
    if (!settings.is_object())
        return invalid_member("has settings that are not an object");
    for (const auto& [name, values] : settings.items()) {
        for (const Json& value : values.is_array() ? values : Json::array({values})) {
            if (!value.is_string())
                return invalid_member(fmt::format("has a setting `{}` that is not a string", name));
            read.push_back({name, value.get<std::string>()});
        }
    }
    return {};
}

} // namespace

ChatSession::ChatSession(generate::Model model, const ChatSettings& settings, Tools tools,
                         const Environment& environment, Diagnostics& diagnostics)
    : model_(std::move(model)), settings_(&settings), tools_(std::move(tools)), environment_(&environment),
      diagnostics_(&diagnostics), screen_(environment, diagnostics, settings.generation().reasoning),
      consent_(environment, settings.generation().tools_consent) {
    set_system(settings.generation().system);
    consent_.reset(tools_, NamedBy::user);
}

Status ChatSession::send(const std::string& text) {
    const std::vector<chat::Message> before = messages_;
    messages_.push_back({.role = chat::Role::user, .content = attached_ + text});
    const Status status = answer();
    if (!status)
        messages_ = before;
    if (status) {
        attached_.clear();
    } else if (status.error().kind != ErrorKind::cancelled) {
        drop_attached();
    }
    return status;
}

void ChatSession::drop_attached() {
    if (!std::exchange(attached_, {}).empty())
        diagnostics_->note("the attached file is dropped; attach it again with /file");
}

Status ChatSession::retry() {
    const std::vector<chat::Message> before = messages_;
    const auto user = last_user(messages_);
    if (user == messages_.end())
        return invalid_argument("there is no message to answer again");
    messages_.erase(std::next(user), messages_.end());
    const Status status = answer();
    if (!status)
        messages_ = before;
    return status;
}

std::optional<std::string> ChatSession::undo() {
    const auto user = last_user(messages_);
    if (user == messages_.end())
        return std::nullopt;
    std::string text = user->content;
    messages_.erase(user, messages_.end());
    return text;
}

void ChatSession::clear() {
    messages_.erase(messages_.begin() + (has_system(messages_) ? 1 : 0), messages_.end());
    template_arguments_.clear();
    attached_.clear();
    has_reported_full_context_ = false;
}

void ChatSession::set_system(std::string text) {
    if (has_system(messages_))
        messages_.erase(messages_.begin());
    if (!text.empty())
        messages_.insert(messages_.begin(), {.role = chat::Role::system, .content = std::move(text)});
}

void ChatSession::set_tools(Tools tools, NamedBy by) {
    tools_ = std::move(tools);
    consent_.reset(tools_, by);
}

void ChatSession::set_model(generate::Model model) {
    model_ = std::move(model);
    transcript_ = {};
    has_reported_full_context_ = false;
}

void ChatSession::set_conversation(chat::Conversation conversation) {
    messages_ = std::move(conversation.messages);
    template_arguments_ = std::move(conversation.template_arguments);
    attached_.clear();
    has_reported_full_context_ = false;
}

Status ChatSession::attach(const std::string& text) {
    const std::string attached = attached_ + text;
    ETNA_TRY(const auto tokens,
             model_.file().tokenizer.encode(attached, {.special = text::SpecialTokens::literal}));
    if (tokens.size() >= model_.context_tokens()) {
        return invalid_argument(
            fmt::format("the message would have {} tokens; with its answer it must fit in the context of {}",
                        tokens.size(), model_.context_tokens()),
            "attach less, or raise --ctx-size");
    }
    attached_ = attached;
    return {};
}

chat::Conversation ChatSession::conversation() const {
    return {.messages = messages_,
            .tools = tools_.definitions(),
            .thinking = settings_->generation().thinking,
            .template_arguments = template_arguments_,
            .spelled_tokens = settings_->generation().spelled_tokens};
}

std::size_t ChatSession::turns() const {
    return static_cast<std::size_t>(std::count_if(messages_.begin(), messages_.end(), is_user));
}

std::string_view ChatSession::system() const {
    return has_system(messages_) ? std::string_view(messages_.front().content) : std::string_view();
}

Result<generate::Request> ChatSession::request() {
    ETNA_TRY(generate::Request request, request_for(settings_->generation(), model_));
    request.prompt = conversation();
    request.now_unix_s = now_unix_s(environment_->variables);
    request.transcript = &transcript_;
    return request;
}

Status ChatSession::answer() {
    const Status status = generate_answer();
    failed_turns_ += !status && status.error().kind != ErrorKind::cancelled ? 1 : 0;
    return status;
}

Status ChatSession::generate_answer() {
    screen_.set_reasoning(settings_->generation().reasoning);
    screen_.set_lines(settings_->lines());
    const GenerationOptions& generation = settings_->generation();
    const ToolUse tools = {.tools = tools_,
                           .time_limit = generation.tool_time_limit,
                           .answer_tokens = tokens_for_answer(model_, generation.max_tokens)};
    const SecondInterrupt second =
        environment_->is_interactive() ? SecondInterrupt::is_reported : SecondInterrupt::ends_program;
    ETNA_TRY(generate::Request next, request());
    tokens_.clear();
    auto turn = run_turn(model_, std::move(next), tools, *this, environment_->watch_interrupts(second));
    screen_.end_line();
    if (!turn)
        return turn.error();
    const bool is_silent = turn->finished.finish_reason == generate::FinishReason::cancelled &&
                           std::none_of(turn->messages.begin(), turn->messages.end(), has_output);
    if (is_silent) {
        return Error{ErrorKind::cancelled,
                     "the answer was stopped before its first token; the message is removed"};
    }
    messages_.insert(messages_.end(), turn->messages.begin(), turn->messages.end());
    report(*turn);
    return {};
}

/// Drops the oldest turns until the prompt leaves room for an answer.
Status ChatSession::prepare(generate::Request& request) {
    const uint32_t reserve = tokens_for_answer(model_, settings_->generation().max_tokens);
    ETNA_TRY(const std::size_t dropped, trim_history(model_, request, reserve));
    const auto first = messages_.begin() + (has_system(messages_) ? 1 : 0);
    messages_.erase(first, first + static_cast<std::ptrdiff_t>(dropped));
    if (dropped > 0 && !std::exchange(has_reported_full_context_, true)) {
        screen_.end_line();
        diagnostics_->note(fmt::format(
            "the context of {} tokens is full: the oldest turns are dropped, the system message stays",
            model_.context_tokens()));
    }
    return {};
}

void ChatSession::report(const Turn& turn) {
    const generate::Finished& finished = turn.finished;
    statistics_.last = finished;
    statistics_.generated_tokens += finished.tokens.size();
    statistics_.prompt_tokens += finished.prompt_tokens - finished.cached_tokens;
    statistics_.cached_tokens += finished.cached_tokens;
    report_logprobs(*diagnostics_, tokens_);
    for (const output::Call& call : turn.open)
        diagnostics_->note(fmt::format("the model called {}, which has no command", describe(call)));
    const bool is_cut = finished.finish_reason == generate::FinishReason::length;
    if (is_cut && finished.prompt_tokens + finished.tokens.size() >= model_.context_tokens())
        diagnostics_->note("the context is full: the answer was cut off");
    const auto cut_off = cut_off_answer(finished, finished.output.content, settings_->generation());
    if (cut_off)
        diagnostics_->error(*cut_off);
    failed_turns_ += report_end(*diagnostics_, turn) && !cut_off ? 0 : 1;
}

generate::Request ChatSession::minimal_request(const generate::Request& request) {
    return with_last_turn(request);
}

generate::SinkResult ChatSession::receive(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::TokenDelta>(&event))
        tokens_.push_back(*token);
    screen_.show(event);
    return screen_.output().state() == OutputState::open ? generate::SinkResult::proceed
                                                         : generate::SinkResult::stop;
}

Permission ChatSession::ask(const output::Call& call, std::string_view command,
                            const CancelPoll& is_cancelled) {
    screen_.end_line();
    return consent_.ask(call, command, is_cancelled, *diagnostics_);
}

void ChatSession::on_tool_result(const output::Call& call, const ToolResult& result) {
    report_tool_result(*diagnostics_, call.name, result, ToolOutput::shown);
}

std::string saved_chat_json(const ChatSession& session, const ChatSettings& settings) {
    Json json = jinja::json_of_value(chat::request_value(session.conversation()));
    Json own = Json::object();
    for (const Setting& setting : settings.entries())
        own["settings"][setting.name].push_back(setting.value);
    if (!session.tools().file().empty())
        own["tools_file"] = session.tools().file().string();
    if (!own.empty())
        json[own_member] = std::move(own);
    return dump_json(json) + "\n";
}

Result<SavedChat> parse_saved_chat(std::string_view text) {
    SavedChat saved;
    ETNA_TRY(const jinja::Value request, chat::parse_request(text));
    ETNA_TRY(saved.conversation, chat::read_conversation(request));
    const jinja::Value* const own_value = request.dict()->find(own_member);
    saved.conversation.template_arguments =
        reusable_arguments(saved.conversation.template_arguments, own_value != nullptr);
    if (own_value == nullptr)
        return saved;
    const Json own = jinja::json_of_value(*own_value);
    if (!own.is_object())
        return invalid_member("is not an object");
    if (const auto settings = own.find("settings"); settings != own.end())
        ETNA_CHECK(read_settings(*settings, saved.settings));
    if (const auto file = own.find("tools_file"); file != own.end()) {
        if (!file->is_string())
            return invalid_member("has a tools_file that is not a string");
        saved.tools_file = file->get<std::string>();
    }
    return saved;
}

} // namespace etna::cli
