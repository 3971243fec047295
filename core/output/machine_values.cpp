#include "core/output/machine.hpp"

#include <algorithm>

namespace etna::output {

Parser::Machine::Progress Parser::Machine::parameters_slot() {
    if (!begin_call()) {
        fail();
        return Progress::again;
    }
    if (skip_space() == Progress::wait)
        return Progress::wait;
    const std::size_t next = call_.part + 1; // its text takes precedence over a parameter's
    const Match end = next < call_.pattern->size() ? match((*call_.pattern)[next].text) : Match::no;
    switch (end == Match::no ? match(syntax_.parameter.front().text) : end == Match::yes ? Match::no : end) {
    case Match::open:
        return Progress::wait;
    case Match::yes:
        call_.outer = call_.pattern;
        call_.outer_part = call_.part;
        call_.pattern = &syntax_.parameter;
        call_.part = 0;
        call_.in_slot = false;
        value_ = {};
        break;
    case Match::no:
        out_.arguments(call_.has_parameters ? "}" : "{}");
        next_part();
        break;
    }
    return Progress::again;
}

Parser::Machine::Progress Parser::Machine::value_slot() {
    if (!value_.begun && begin_value() == Progress::wait)
        return Progress::wait;
    const Sighting seen = ends_.find(rest(), more_);
    value_.text += rest().substr(0, seen.at);
    at_ += seen.at;
    if (seen.mark) {
        if (value_.verbatim)
            at_ += ends_[*seen.mark].size();
        end_value();
        next_part();
        return Progress::again;
    }
    if (value_.types == text_type) { // stream all but a line break that may belong to the closing text
        const std::size_t held = value_.text.ends_with('\n') ? 1 : 0;
        std::string json;
        append_json_text(json, std::string_view(value_.text).substr(0, value_.text.size() - held));
        value_.text.erase(0, value_.text.size() - held);
        out_.arguments(json);
    }
    return Progress::wait;
}

Parser::Machine::Progress Parser::Machine::begin_value() {
    std::string_view left = rest();
    const std::string_view before = (*call_.pattern)[call_.part].text;
    if (before.ends_with('\n')) {
        if (left.empty() && more_ == More::may_come)
            return Progress::wait;
        left.remove_prefix(left.starts_with('\n') ? 1 : 0);
    }
    if (!syntax_.verbatim_open.empty()) {
        const Match verbatim = begins_with(left, syntax_.verbatim_open);
        if (verbatim == Match::open && more_ == More::may_come)
            return Progress::wait;
        value_.verbatim = verbatim == Match::yes;
        left.remove_prefix(value_.verbatim ? syntax_.verbatim_open.size() : 0);
    }
    at_ = input_.size() - left.size();
    value_.begun = true;

    value_.types = tools_.types_of(call_.name, value_.key);
    const auto& kinds = syntax_.text_kinds;
    if (!value_.kind.empty()) {
        value_.types =
            std::find(kinds.begin(), kinds.end(), value_.kind) != kinds.end() ? text_type : no_type;
    }
    if (value_.verbatim) {
        ends_.clear();
        ends_.add(syntax_.verbatim_close);
        value_.types = value_.types == no_type ? uint8_t{text_type} : value_.types;
    }
    out_.arguments(call_.has_parameters ? ", " : "{");
    out_.arguments(json_string(value_.key));
    out_.arguments(value_.types == text_type ? ": \"" : ": ");
    call_.has_parameters = true;
    return Progress::again;
}

void Parser::Machine::end_value() {
    std::string_view text = value_.text;
    const std::size_t next = call_.part + 1;
    const bool line_ends = next < call_.pattern->size() && (*call_.pattern)[next].text.starts_with('\n');
    if (line_ends && !value_.verbatim && text.ends_with('\n'))
        text.remove_suffix(1);
    if (value_.types != text_type)
        return out_.arguments(value_to_json(text, value_.types));
    std::string json;
    append_json_text(json, text);
    out_.arguments(json + '"');
}

/// A program is a single string argument, streamed without the white space at its end.
Parser::Machine::Progress Parser::Machine::code_slot() {
    if (!call_.begun) {
        const auto& names = syntax_.code.names;
        const auto offered =
            std::find_if(names.begin(), names.end(), [this](auto name) { return tools_.offers(name); });
        if (call_.name.empty())
            call_.name = offered != names.end() ? *offered : names.front();
        if (!begin_call()) {
            fail();
            return Progress::again;
        }
        out_.arguments("{");
        out_.arguments(json_string(syntax_.code.member));
        out_.arguments(": \"");
    }
    const Sighting seen = ends_.find(rest(), more_);
    text_ += rest().substr(0, seen.at);
    at_ += seen.at;
    const std::size_t end = text_.find_last_not_of(white_space) + 1;
    std::string json;
    append_json_text(json, std::string_view(text_).substr(0, end));
    text_.erase(0, end);
    out_.arguments(json);
    if (!seen.mark && more_ == More::may_come)
        return Progress::wait;
    out_.arguments("\"}");
    next_part();
    end_call();
    return Progress::again;
}

} // namespace etna::output
