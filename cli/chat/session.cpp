#include "cli/chat/session.hpp"

#include "cli/load_model.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The part of the context that is kept free for an answer.
constexpr uint32_t answer_share = 4;

bool is_user(const chat::Message& message) {
    return message.role == chat::Role::user;
}

bool has_system(const std::vector<chat::Message>& messages) {
    return !messages.empty() && messages.front().role == chat::Role::system;
}

/// The last message of the user; end() where there is none.
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
}

Status ChatSession::say(const std::string& text) {
    const std::vector<chat::Message> before = messages_;
    messages_.push_back({.role = chat::Role::user, .content = attached_ + text});
    const Status status = answer();
    if (!status) {
        messages_ = before;
    } else {
        attached_.clear();
    }
    return status;
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
    attached_.clear();
    has_told_of_full_context_ = false;
}

void ChatSession::set_system(std::string text) {
    if (has_system(messages_))
        messages_.erase(messages_.begin());
    if (!text.empty())
        messages_.insert(messages_.begin(), {.role = chat::Role::system, .content = std::move(text)});
}

void ChatSession::set_model(generate::Model model) {
    model_ = std::move(model);
    transcript_ = {};
    has_told_of_full_context_ = false;
}

void ChatSession::set_messages(std::vector<chat::Message> messages) {
    messages_ = std::move(messages);
    attached_.clear();
    has_told_of_full_context_ = false;
}

chat::Conversation ChatSession::conversation() const {
    return {
        .messages = messages_, .tools = tools_.definitions(), .thinking = settings_->generation().thinking};
}

std::size_t ChatSession::turns() const {
    return static_cast<std::size_t>(std::count_if(messages_.begin(), messages_.end(), is_user));
}

std::string_view ChatSession::system() const {
    return has_system(messages_) ? std::string_view(messages_.front().content) : std::string_view();
}

generate::Request ChatSession::request() {
    generate::Request request = request_for(settings_->generation());
    request.prompt = conversation();
    request.now_unix_s = now_unix_s(environment_->variables);
    request.transcript = &transcript_;
    return request;
}

Status ChatSession::answer() {
    screen_.set_reasoning(settings_->generation().reasoning);
    ETNA_CHECK(make_room());
    auto turn = take_turn(model_, request(), tools_, *this, environment_->watch_interrupts());
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
    tell_end(*turn);
    return {};
}

/// Forgets the oldest turns until the prompt leaves room for an answer.
Status ChatSession::make_room() {
    const uint32_t context = model_.context_tokens();
    const uint32_t reserve =
        std::min(context / answer_share, settings_->generation().max_tokens.value_or(context));
    while (true) {
        ETNA_TRY(const uint32_t tokens, count_prompt_tokens(model_, request()));
        if (tokens + reserve <= context || !forget_oldest_turn())
            return {};
        if (!std::exchange(has_told_of_full_context_, true)) {
            diagnostics_->note(
                fmt::format("the context of {} tokens is full: the oldest turns are forgotten, the "
                            "system message stays",
                            context));
        }
    }
}

/// False when only one turn is left.
bool ChatSession::forget_oldest_turn() {
    const auto oldest = std::find_if(messages_.begin(), messages_.end(), is_user);
    if (oldest == messages_.end())
        return false;
    const auto next = std::find_if(std::next(oldest), messages_.end(), is_user);
    if (next == messages_.end())
        return false;
    messages_.erase(messages_.begin() + (has_system(messages_) ? 1 : 0), next);
    return true;
}

void ChatSession::tell_end(const Turn& turn) {
    const generate::Finished& finished = turn.finished;
    statistics_.last = finished;
    statistics_.generated_tokens += finished.tokens.size();
    statistics_.prompt_tokens += finished.prompt_tokens - finished.cached_tokens;
    statistics_.cached_tokens += finished.cached_tokens;
    for (const chat::output::Call& call : turn.open)
        diagnostics_->note(fmt::format("the model calls {}, which has no command here", describe(call)));
    for (const std::string& broken : finished.output.broken)
        diagnostics_->warning(fmt::format("the model wrote a tool call that is none: {}", broken));
    const bool is_cut = finished.finish_reason == generate::FinishReason::length;
    if (is_cut && finished.prompt_tokens + finished.tokens.size() >= model_.context_tokens())
        diagnostics_->note("the context is full: the answer was cut off here");
}

generate::Flow ChatSession::receive(const generate::Event& event) {
    screen_.show(event);
    return screen_.output().state() == OutputState::open ? generate::Flow::go_on : generate::Flow::stop;
}

bool ChatSession::agrees(const chat::output::Call& call, std::string_view command) {
    screen_.end_line();
    diagnostics_->note(fmt::format("the model calls {}", describe(call)));
    return consent_.agrees(command, *diagnostics_);
}

void ChatSession::tool_answered(const chat::output::Call& call, const std::string& result) {
    diagnostics_->note(fmt::format("{}: {}", call.name, result));
}

} // namespace etna::cli
