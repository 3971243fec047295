#include "core/chat/output/machine.hpp"

#include <algorithm>

namespace etna::chat::output {

namespace {

/// The word after `mark` in a header; empty where there is none.
std::string_view word_after(std::string_view header, std::string_view mark) {
    const auto at = mark.empty() ? std::string_view::npos : header.find(mark);
    if (at == std::string_view::npos)
        return {};
    header.remove_prefix(at + mark.size());
    return header.substr(0, header.find_first_of(" \t\r\n<"));
}

} // namespace

bool is_function_name(std::string_view name) {
    return !name.empty() && name.size() <= max_name_bytes &&
           name.find_first_of(" \t\r\n<>{}()[]\"'`,;") == std::string_view::npos;
}

void Parser::Machine::enter_header() {
    state_ = State::header;
    header_begin_ = at_;
}

Parser::Machine::Progress Parser::Machine::header() {
    const Messages& messages = syntax_.messages;
    const auto text = std::string_view(input_).substr(header_begin_, max_header_bytes);
    const auto end = text.find(messages.body);
    const bool names_recipient = messages.recipient.empty();
    if (end == std::string_view::npos) {
        const bool is_name = text.empty() || is_function_name(text) || !names_recipient;
        if (is_name && text.size() < max_header_bytes && more_ == More::may_come)
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

/// Where a header is no more than a name, other text may look like the mark before it: then that is content.
/// Elsewhere the mark and what there is of a header are dropped.
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
    if (more_ == More::none)
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

} // namespace etna::chat::output
