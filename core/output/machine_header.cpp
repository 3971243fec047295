#include "core/output/machine.hpp"

#include <algorithm>
#include <vector>

namespace etna::output {

namespace {

/// Returns the word after `mark` in a header; empty if there is none.
std::string_view word_after(std::string_view header, std::string_view mark) {
    const auto at = mark.empty() ? std::string_view::npos : header.find(mark);
    if (at == std::string_view::npos)
        return {};
    header.remove_prefix(at + mark.size());
    return header.substr(0, header.find_first_of(" \t\r\n<"));
}

} // namespace

void Parser::Machine::enter_header() {
    state_ = State::header;
    header_begin_ = at_;
}

Parser::Machine::Progress Parser::Machine::header() {
    const Messages& messages = syntax_.messages;
    const auto text = std::string_view(input_).substr(header_begin_, max_header_bytes);
    const auto end = text.find(messages.body);
    const bool names_recipient = messages.recipient.empty();
    if (!names_recipient && !may_begin_header(text)) {
        not_a_header();
        return Progress::again;
    }
    if (end == std::string_view::npos) {
        const bool is_open = !names_recipient || text.empty() || is_function_name(text);
        if (is_open && text.size() < max_header_bytes && more_ == More::may_come)
            return Progress::wait;
        not_a_header();
        return Progress::again;
    }
    const bool channel_opened =
        !messages.channel.empty() && input_.compare(kept_, messages.channel.size(), messages.channel) == 0;
    at_ = header_begin_ + end + messages.body.size();
    if (!read_header(channel_opened ? std::string_view(input_).substr(kept_, header_begin_ + end - kept_)
                                    : text.substr(0, end)))
        not_a_header();
    return Progress::again;
}

/// Whether at most one word, the role, precedes the first mark.
bool Parser::Machine::may_begin_header(std::string_view text) const {
    const Messages& messages = syntax_.messages;
    std::vector<std::string_view> marks = messages.open;
    for (const auto mark : {messages.channel, messages.recipient, messages.body}) {
        if (!mark.empty())
            marks.push_back(mark);
    }
    std::size_t first = std::string_view::npos;
    for (const auto mark : marks)
        first = std::min(first, text.find(mark));
    const auto before = trim(text.substr(0, first));
    const auto after_word = trim(before.substr(std::min(before.find_first_of(white_space), before.size())));
    const auto closes = [before](std::string_view mark) {
        return before.find(mark) != std::string_view::npos;
    };
    if (std::any_of(messages.close.begin(), messages.close.end(), closes))
        return false;
    return after_word.empty() ||
           (first == std::string_view::npos && std::any_of(marks.begin(), marks.end(), [&](auto mark) {
                return begins_with(after_word, mark) == Match::open;
            }));
}

bool Parser::Machine::names_channel_or_recipient(std::string_view header) const {
    const auto stands = [header](std::string_view mark) {
        return !mark.empty() && header.find(mark) != std::string_view::npos;
    };
    return stands(syntax_.messages.channel) || stands(syntax_.messages.recipient);
}

/// If headers are bare recipient names, the mark before this one was ordinary text and becomes content.
/// Otherwise the mark is dropped, together with a partial header at the end of the output. Content without
/// the header that the prompt has opened is still delivered.
void Parser::Machine::not_a_header() {
    at_ = header_begin_;
    const std::size_t begin = kept_;
    enter_content();
    if (syntax_.messages.recipient.empty()) {
        if (begin < header_begin_) {
            out_.text(EventKind::content, std::string_view(input_).substr(begin, header_begin_ - begin));
            fresh_ = false;
        }
        return;
    }
    out_.mark();
    const auto text = rest();
    const bool has_mark = begin < header_begin_ || names_channel_or_recipient(text) ||
                          begins_with(trim(text), syntax_.messages.channel) == Match::open;
    if (more_ == More::none && has_mark && may_begin_header(text))
        at_ = input_.size();
}

bool Parser::Machine::read_header(std::string_view header) {
    const Messages& messages = syntax_.messages;
    const auto channel = word_after(header, messages.channel);
    const auto recipient = messages.recipient.empty() ? trim(header) : word_after(header, messages.recipient);
    const auto route = std::find_if(messages.routes.begin(), messages.routes.end(),
                                    [&](const Route& one) { return fits(one, channel, recipient); });
    if (route != messages.routes.end())
        return follow(*route, recipient);
    if (messages.recipient.empty())
        return false;
    out_.mark();
    enter_content();
    return true;
}

bool Parser::Machine::fits(const Route& route, std::string_view channel, std::string_view recipient) const {
    if (route.audience == Audience::function && tools_.empty())
        return false;
    const bool right_recipient = route.recipient.ends_with('.') ? recipient.starts_with(route.recipient)
                                                                : recipient == route.recipient;
    return (route.channel.empty() || route.channel == channel) &&
           (route.recipient.empty() || right_recipient) && (!route.addressed || !recipient.empty());
}

bool Parser::Machine::follow(const Route& route, std::string_view recipient) {
    if (route.audience == Audience::function) {
        function_ = recipient.substr(route.recipient.ends_with('.') ? route.recipient.size() : 0);
        if (!is_function_name(function_) || (syntax_.messages.recipient.empty() && !tools_.offers(function_)))
            return false;
        out_.mark();
        enter_section(message_section_);
        return true;
    }
    out_.mark();
    if (route.audience == Audience::user) {
        enter_content();
    } else {
        enter_message_text(route.audience == Audience::model ? State::reasoning : State::dropped);
    }
    return true;
}

} // namespace etna::output
