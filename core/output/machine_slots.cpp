#include "core/output/machine.hpp"

namespace etna::output {

void Parser::Machine::enter_slot() {
    text_.clear();
    slot_begin_ = at_;
    switch ((*call_.pattern)[call_.part].slot) {
    case Slot::object:
        object_.emplace(syntax_.members);
        break;
    case Slot::arguments:
        json_.emplace();
        break;
    case Slot::keywords:
        notation_.emplace(std::string_view());
        break;
    case Slot::dictionary:
        notation_.emplace(syntax_.string_mark);
        break;
    case Slot::code:
        ends_.clear();
        ends_.add(section_->close);
        for (std::size_t i = 0; i < content_marks_.size(); ++i) {
            if (meanings_[i].kind == Meaning::Kind::message_open ||
                meanings_[i].kind == Meaning::Kind::message_close)
                ends_.add(content_marks_[i]);
        }
        break;
    default:
        collect_ends(call_.part + 1);
    }
}

/// Collects the marks that can end a slot that extends to the next text.
void Parser::Machine::collect_ends(std::size_t part) {
    ends_.clear();
    for (; part < call_.pattern->size(); ++part) {
        const Part& next = (*call_.pattern)[part];
        ends_.add(next.text);
        if (next.presence == Presence::optional)
            continue;
        if (!trim(next.text).empty())
            return;
        if (next.slot == Slot::parameters) {
            ends_.add(syntax_.parameter.front().text);
        } else if (next.slot == Slot::object || next.slot == Slot::arguments ||
                   next.slot == Slot::dictionary) {
            return ends_.add("{");
        }
    }
}

Parser::Machine::Progress Parser::Machine::slot() {
    const Slot slot = (*call_.pattern)[call_.part].slot;
    switch (slot) {
    case Slot::object:
        return object_slot();
    case Slot::arguments:
        return arguments_slot();
    case Slot::keywords:
    case Slot::dictionary:
        return notation_slot(slot);
    case Slot::parameters:
        return parameters_slot();
    case Slot::value:
        return value_slot();
    case Slot::code:
        return code_slot();
    default:
        return word_slot(slot);
    }
}

Parser::Machine::Progress Parser::Machine::word_slot(Slot slot) {
    const Sighting seen = ends_.find(rest(), more_);
    text_ += rest().substr(0, seen.at);
    at_ += seen.at;
    if (text_.size() > max_name_bytes) {
        at_ = slot_begin_;
        fail();
        return Progress::again;
    }
    if (!seen.mark)
        return Progress::wait;
    const auto word = trim(text_);
    if (slot == Slot::name) {
        call_.name = word;
    } else if (slot == Slot::id) {
        call_.id = word;
    } else if (slot == Slot::key && !value_.begun) {
        value_.key = word;
    } else if (slot == Slot::key && value_.key != word) { // the end of an element inside the value
        fail();
        return Progress::again;
    } else if (slot == Slot::kind) {
        value_.kind = word;
    }
    next_part();
    return Progress::again;
}

Parser::Machine::Progress Parser::Machine::object_slot() {
    auto step = CallObject::Step::inside;
    while (step == CallObject::Step::inside && at_ < input_.size()) {
        step = object_->feed(input_[at_]);
        if (step != CallObject::Step::bad)
            ++at_;
        if (!call_.begun && !deliver_object()) // per byte, to be independent of chunk boundaries
            step = CallObject::Step::bad;
    }
    (void)deliver_object();
    if (step == CallObject::Step::inside)
        return Progress::wait;
    if (step == CallObject::Step::done)
        return end_object();
    fail();
    return Progress::again;
}

/// Delivers the parts of an object that are final. Returns false if this is not a call.
bool Parser::Machine::deliver_object() {
    call_.name = object_->name();
    call_.id = object_->id();
    if (call_.tentative && (object_->is_odd() || (!call_.name.empty() && !tools_.offers(call_.name))))
        return false;
    if (call_.name.empty() || !object_->has_arguments())
        return true;
    const std::string json = object_->take_arguments();
    return json.empty() || send_arguments(json);
}

Parser::Machine::Progress Parser::Machine::end_object() {
    const bool has_arguments = object_->has_arguments();
    if ((!has_arguments && call_.tentative) || (!has_arguments && !send_arguments("{}"))) {
        fail();
    } else {
        next_part();
    }
    return Progress::again;
}

Parser::Machine::Progress Parser::Machine::arguments_slot() {
    if (json_->depth() == 0 && skip_space() == Progress::wait)
        return Progress::wait;
    if (!begin_call() || (json_->depth() == 0 && !rest().starts_with('{'))) {
        fail();
        return Progress::again;
    }
    std::string json;
    while (at_ < input_.size() && json_->phase() != JsonScanner::Phase::done) {
        const auto before = json_->phase();
        if (json_->feed(input_[at_]) == JsonScanner::Phase::bad)
            break;
        append_json_byte(json, input_[at_++], before);
    }
    out_.arguments(json);
    if (json_->phase() == JsonScanner::Phase::bad) {
        fail();
    } else if (json_->phase() == JsonScanner::Phase::done) {
        next_part();
    } else {
        return Progress::wait;
    }
    return Progress::again;
}

Parser::Machine::Progress Parser::Machine::notation_slot(Slot slot) {
    if (!begin_call()) {
        fail();
        return Progress::again;
    }
    auto step = NotationScanner::Step::inside;
    while (step == NotationScanner::Step::inside && at_ < input_.size()) {
        step = notation_->feed(input_[at_]);
        const bool belongs = step == NotationScanner::Step::inside || (step == NotationScanner::Step::closed);
        if (belongs)
            text_ += input_[at_++];
        if (step == NotationScanner::Step::closed && slot == Slot::keywords)
            step = NotationScanner::Step::inside; // the bracket belongs to a value
    }
    if (step == NotationScanner::Step::inside)
        return Progress::wait;
    const bool ended = step != NotationScanner::Step::bad;
    const auto json = !ended                   ? std::nullopt
                      : slot == Slot::keywords ? keywords_to_json(text_)
                                               : dictionary_to_json(text_, syntax_.string_mark);
    if (!json || !send_arguments(*json)) {
        fail();
    } else {
        next_part();
    }
    return Progress::again;
}

/// Returns false if this is not a call.
bool Parser::Machine::send_arguments(std::string_view json) {
    if (!begin_call())
        return false;
    out_.arguments(json);
    return true;
}

} // namespace etna::output
