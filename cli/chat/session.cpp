#include "cli/chat/session.hpp"

#include "cli/chat/room.hpp"
#include "cli/load_model.hpp"
#include "cli/logprobs.hpp"
#include "cli/tools/context_room.hpp"

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

bool says_something(const chat::Message& message) {
    return !message.content.empty() || !message.tool_calls.empty();
}

} // namespace

ChatSession::ChatSession(generate::Model model, const ChatSettings& settings, Tools tools,
                         const Environment& environment, Diagnostics& diagnostics)
    : model_(std::move(model)), settings_(&settings), tools_(std::move(tools)), environment_(&environment),
      diagnostics_(&diagnostics), screen_(environment, diagnostics, settings.generation().reasoning),
      consent_(environment, settings.generation().tools_consent) {
    set_system(settings.generation().system);
    consent_.begin_with(tools_, NamedBy::user);
}

Status ChatSession::say(const std::string& text) {
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
        diagnostics_->note("the file that went with the message is dropped; /file attaches one");
}

Status ChatSession::retry() {
    const std::vector<chat::Message> before = messages_;
    const auto user = last_user(messages_);
    if (user == messages_.end())
        return Error{ErrorKind::invalid_argument, "there is no message to answer again"};
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
    has_told_of_full_context_ = false;
}

void ChatSession::set_system(std::string text) {
    if (has_system(messages_))
        messages_.erase(messages_.begin());
    if (!text.empty())
        messages_.insert(messages_.begin(), {.role = chat::Role::system, .content = std::move(text)});
}

void ChatSession::set_tools(Tools tools, NamedBy by) {
    tools_ = std::move(tools);
    consent_.begin_with(tools_, by);
}

void ChatSession::set_model(generate::Model model) {
    model_ = std::move(model);
    transcript_ = {};
    has_told_of_full_context_ = false;
}

void ChatSession::set_conversation(chat::Conversation conversation) {
    messages_ = std::move(conversation.messages);
    template_arguments_ = std::move(conversation.template_arguments);
    attached_.clear();
    has_told_of_full_context_ = false;
}

Status ChatSession::attach(const std::string& text) {
    const std::string whole = attached_ + text;
    ETNA_TRY(const auto tokens, model_.tokenizer().encode(whole, {.special = text::SpecialTokens::literal}));
    if (tokens.size() >= model_.context_tokens()) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("the message would have {} tokens, but the context holds {} with the answer",
                                 tokens.size(), model_.context_tokens()),
                     "attach less, or raise --ctx-size"};
    }
    attached_ = whole;
    return {};
}

chat::Conversation ChatSession::conversation() const {
    return {.messages = messages_,
            .tools = tools_.definitions(),
            .thinking = settings_->generation().thinking,
            .template_arguments = template_arguments_};
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
    const Status status = take();
    failed_turns_ += !status && status.error().kind != ErrorKind::cancelled ? 1 : 0;
    return status;
}

Status ChatSession::take() {
    screen_.set_reasoning(settings_->generation().reasoning);
    screen_.set_lines(settings_->lines());
    const GenerationOptions& generation = settings_->generation();
    const ToolUse tools = {.tools = tools_,
                           .time_limit = generation.tool_time_limit,
                           .answer_tokens = tokens_for_answer(model_, generation.max_tokens)};
    const SecondInterrupt second =
        environment_->is_interactive() ? SecondInterrupt::is_told : SecondInterrupt::ends_program;
    ETNA_TRY(generate::Request wanted, request());
    tokens_.clear();
    auto turn = take_turn(model_, std::move(wanted), tools, *this, environment_->watch_interrupts(second));
    screen_.end_line();
    if (!turn)
        return turn.error();
    const bool is_silent = turn->finished.finish_reason == generate::FinishReason::cancelled &&
                           std::none_of(turn->messages.begin(), turn->messages.end(), says_something);
    if (is_silent) {
        return Error{ErrorKind::cancelled,
                     "the answer was stopped before it began: the message is taken back"};
    }
    messages_.insert(messages_.end(), turn->messages.begin(), turn->messages.end());
    tell(*turn);
    return {};
}

/// Drops the oldest turns until the prompt leaves room for an answer.
Status ChatSession::prepare(generate::Request& request) {
    const uint32_t reserve = tokens_for_answer(model_, settings_->generation().max_tokens);
    ETNA_TRY(const std::size_t forgotten, make_room(model_, request, reserve));
    const auto first = messages_.begin() + (has_system(messages_) ? 1 : 0);
    messages_.erase(first, first + static_cast<std::ptrdiff_t>(forgotten));
    if (forgotten > 0 && !std::exchange(has_told_of_full_context_, true)) {
        screen_.end_line();
        diagnostics_->note(
            fmt::format("the context of {} tokens is full: the oldest turns are forgotten, the "
                        "system message stays",
                        model_.context_tokens()));
    }
    return {};
}

void ChatSession::tell(const Turn& turn) {
    const generate::Finished& finished = turn.finished;
    statistics_.last = finished;
    statistics_.generated_tokens += finished.tokens.size();
    statistics_.prompt_tokens += finished.prompt_tokens - finished.cached_tokens;
    statistics_.cached_tokens += finished.cached_tokens;
    report_logprobs(*diagnostics_, tokens_);
    for (const output::Call& call : turn.open)
        diagnostics_->note(fmt::format("the model calls {}, which has no command here", describe(call)));
    const bool is_cut = finished.finish_reason == generate::FinishReason::length;
    if (is_cut && finished.prompt_tokens + finished.tokens.size() >= model_.context_tokens())
        diagnostics_->note("the context is full: the answer was cut off here");
    failed_turns_ += tell_end(*diagnostics_, turn) ? 0 : 1;
}

generate::Request ChatSession::essence(const generate::Request& request) {
    return with_last_turn(request);
}

generate::SinkResult ChatSession::receive(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::TokenDelta>(&event))
        tokens_.push_back(*token);
    screen_.show(event);
    return screen_.output().state() == OutputState::open ? generate::SinkResult::proceed
                                                         : generate::SinkResult::stop;
}

Leave ChatSession::ask(const output::Call& call, std::string_view command,
                       const generate::CancelPoll& is_cancelled) {
    screen_.end_line();
    return consent_.ask(call, command, is_cancelled, *diagnostics_);
}

void ChatSession::tool_answered(const output::Call& call, const ToolResult& result) {
    tell_result(*diagnostics_, call.name, result, ToolOutput::shown);
}

} // namespace etna::cli
