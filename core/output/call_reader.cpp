#include "core/output/call_reader.hpp"

#include <algorithm>

namespace etna::output {
namespace {

/// Returns a word without quotes around it.
std::string_view unquoted(std::string_view word) {
    word = trim(word);
    const bool is_quoted =
        word.size() > 1 && word.front() == word.back() && (word[0] == '"' || word[0] == '\'');
    return is_quoted ? trim(word.substr(1, word.size() - 2)) : word;
}

/// Returns the start of a name without the quote that may precede it.
std::string_view name_start(std::string_view text) {
    text = trim(text);
    return text.substr(text.starts_with('"') || text.starts_with('\'') ? 1 : 0);
}

} // namespace

void CallReader::start(const Start& start) {
    call_ = {};
    call_.pattern = &start.pattern;
    call_.begin = input_->offset();
    call_.certainty = start.certainty;
    call_.name = start.function;
    call_.section = &start.section;
    followers_.clear();
    for (const std::string_view open : start.section.open)
        followers_.add(open);
    for (const std::string_view text :
         {start.section.close, start.pattern.front().text, start.pattern.back().text})
        followers_.add(text);
    if (call_.certainty == Certainty::needs_start || call_.certainty == Certainty::needs_end)
        out_->hold();
}

CallReader::Progress CallReader::step() {
    return call_.in_field ? read_field() : read_text();
}

void CallReader::shift_offsets(std::size_t count) {
    shift(call_.begin, count);
    shift(field_begin_, count);
}

CallReader::Progress CallReader::read_text() {
    if (call_.part == call_.pattern->size())
        return end_pattern();
    const auto text = trim(part().text);
    if (!text.empty()) {
        if (!input_->skip_space())
            return Progress::wait;
        const Match found = input_->match(text);
        if (found == Match::partial)
            return Progress::wait;
        if (found == Match::no)
            return read_other_text();
        input_->skip(text.size());
    }
    if (part().field == Field::none) {
        ++call_.part;
        const bool ends = call_.outer == nullptr && !call_.is_complete && !fields_follow();
        return ends ? end_call() : Progress::again;
    }
    call_.in_field = true;
    enter_field();
    return Progress::again;
}

/// Handles a fixed text that is missing.
CallReader::Progress CallReader::read_other_text() {
    if (part().presence != Presence::required) {
        call_.must_be_offered = call_.must_be_offered || part().presence == Presence::expected;
        ++call_.part;
        return Progress::again;
    }
    if (call_.is_complete) { // texts missing after a complete call do not matter
        call_.part = call_.pattern->size();
        return Progress::again;
    }
    if (call_.outer != nullptr || !call_.is_started || fields_follow())
        return Progress::failed;
    const MarkerMatch next = followers_.match(input_->rest(), input_->more());
    const bool is_end = input_->rest().empty();
    if (next.offset == 0 && !next.marker && !is_end)
        return Progress::wait;
    if (is_end ? is_tentative() || !call_.has_parameters : !next.marker)
        return Progress::failed;
    ++call_.part; // a text missing after the last parameter
    return call_.part == call_.pattern->size() ? end_call() : Progress::again;
}

CallReader::Progress CallReader::end_pattern() {
    if (call_.outer != nullptr) { // end of a parameter; another one may follow
        call_.pattern = call_.outer;
        call_.part = call_.outer_part;
        call_.outer = nullptr;
        call_.in_field = true;
        return Progress::again;
    }
    if (!call_.is_complete && end_call() == Progress::failed)
        return Progress::failed;
    return Progress::ended;
}

/// Leaves a field. A call whose last field is self-delimiting is complete, even without the closing texts.
CallReader::Progress CallReader::next_part() {
    const Field field = part().field;
    call_.in_field = false;
    ++call_.part;
    const bool ends_itself =
        field == Field::object || field == Field::arguments || field == Field::dictionary;
    const bool ends = call_.outer == nullptr && ends_itself && !fields_follow();
    return ends ? end_call() : Progress::again;
}

/// Null at the end of the pattern.
const PatternPart* CallReader::following_part() const {
    const std::size_t next = call_.part + 1;
    return next < call_.pattern->size() ? &(*call_.pattern)[next] : nullptr;
}

bool CallReader::fields_follow() const {
    return std::any_of(call_.pattern->begin() + static_cast<std::ptrdiff_t>(call_.part), call_.pattern->end(),
                       [](const PatternPart& part) { return part.field != Field::none; });
}

/// Returns false if this is not a call.
bool CallReader::begin_call() {
    if (call_.is_started)
        return true;
    if (!is_function_name(call_.name) ||
        ((is_tentative() || call_.must_be_offered) && !tools_->offers(call_.name)))
        return false;
    out_->begin_call(call_.name, call_.id);
    call_.sent_id = call_.id;
    call_.is_started = true;
    if (call_.certainty == Certainty::needs_start) {
        out_->add_marker();
        out_->release();
        call_.certainty = Certainty::certain;
    }
    return true;
}

CallReader::Progress CallReader::end_call() {
    if (!begin_call())
        return Progress::failed;
    out_->end_call(call_.id == call_.sent_id ? std::string_view() : call_.id);
    if (call_.certainty == Certainty::needs_start || call_.certainty == Certainty::needs_end) {
        out_->release();
        call_.certainty = Certainty::certain;
    }
    call_.is_complete = true;
    return Progress::again;
}

void CallReader::enter_field() {
    text_.clear();
    field_begin_ = input_->offset();
    switch (part().field) {
    case Field::object:
        object_.emplace(syntax_->members);
        notation_.reset();
        break;
    case Field::arguments:
        json_.emplace();
        break;
    case Field::keywords:
        notation_.emplace(std::string_view());
        break;
    case Field::dictionary:
        notation_.emplace(syntax_->string_delimiter);
        break;
    case Field::code:
        ends_.clear();
        ends_.add(call_.section->close);
        for (const auto* const markers : {&syntax_->messages.open, &syntax_->messages.close}) {
            for (const auto marker : *markers)
                ends_.add(marker);
        }
        break;
    default:
        collect_ends(call_.part + 1);
    }
}

/// Collects the markers that can end a field that extends to the next text.
void CallReader::collect_ends(std::size_t part) {
    ends_.clear();
    for (; part < call_.pattern->size(); ++part) {
        const PatternPart& next = (*call_.pattern)[part];
        ends_.add(next.text);
        if (next.presence != Presence::required)
            continue;
        if (!trim(next.text).empty())
            return;
        if (next.field == Field::parameters) {
            ends_.add(call_.section->parameter.front().text);
        } else if (next.field == Field::object || next.field == Field::arguments ||
                   next.field == Field::dictionary) {
            return ends_.add("{");
        }
    }
}

CallReader::Progress CallReader::read_field() {
    const Field field = part().field;
    switch (field) {
    case Field::object:
        return read_object();
    case Field::arguments:
        return read_arguments();
    case Field::keywords:
    case Field::dictionary:
        return read_notation(field);
    case Field::parameters:
        return read_parameters();
    case Field::value:
        return read_value();
    case Field::code:
        return read_program();
    default:
        return read_word(field);
    }
}

CallReader::Progress CallReader::read_word(Field field) {
    const MarkerMatch found = ends_.find(input_->rest(), input_->more());
    text_ += input_->take(found.offset);
    const bool must_be_offered = field == Field::name && is_tentative();
    const bool is_known =
        found.marker ? tools_->offers(unquoted(text_)) : tools_->may_offer(name_start(text_));
    if (text_.size() > max_name_bytes || (must_be_offered && !is_known)) {
        input_->seek(field_begin_);
        return Progress::failed;
    }
    if (!found.marker)
        return Progress::wait;
    const auto word = unquoted(text_);
    if (field == Field::name) {
        call_.name = word;
    } else if (field == Field::id) {
        call_.id = word;
    } else if (field == Field::key && !value_.is_started) {
        value_.key = word;
    } else if (field == Field::key && value_.key != word) { // the end of an element inside the value
        return Progress::failed;
    } else if (field == Field::kind) {
        value_.kind = word;
    }
    return next_part();
}

CallReader::Progress CallReader::read_object() {
    if (notation_)
        return read_python_object();
    auto step = CallObject::Step::inside;
    while (step == CallObject::Step::inside && !input_->rest().empty()) {
        const bool is_python = object_->is_empty() && input_->rest().front() == '\'';
        if (is_python && call_.certainty != Certainty::needs_start) {
            text_ = "{";
            notation_.emplace(std::string_view());
            (void)notation_->feed('{');
            return read_python_object();
        }
        step = object_->feed(input_->rest().front());
        if (step != CallObject::Step::bad)
            input_->skip(1);
        if (!call_.is_started && !deliver_object()) // per byte, to be independent of chunk boundaries
            step = CallObject::Step::bad;
    }
    (void)deliver_object();
    const bool is_cut = step == CallObject::Step::inside && input_->more() == More::none;
    if (is_cut && call_.is_started && object_->lacks_only_braces())
        return end_object();
    if (step == CallObject::Step::inside)
        return Progress::wait;
    return step == CallObject::Step::done ? end_object() : Progress::failed;
}

/// Reads an object in Python notation, which is converted when it is complete.
CallReader::Progress CallReader::read_python_object() {
    auto step = NotationScanner::Step::inside;
    while (step == NotationScanner::Step::inside && !input_->rest().empty()) {
        step = notation_->feed(input_->rest().front());
        text_ += input_->take(1);
    }
    if (step == NotationScanner::Step::inside)
        return Progress::wait;
    notation_.reset();
    const auto json = step == NotationScanner::Step::closed ? dictionary_to_json(text_, {}) : std::nullopt;
    if (!json)
        return Progress::failed;
    object_.emplace(syntax_->members);
    for (const char byte : *json) {
        if (object_->feed(byte) == CallObject::Step::bad)
            return Progress::failed;
    }
    return deliver_object() ? end_object() : Progress::failed;
}

/// Delivers the parts of an object that are final. Returns false if this is not a call.
bool CallReader::deliver_object() {
    call_.name = object_->name();
    call_.id = object_->id();
    if (is_tentative() && (object_->is_odd() || (!call_.name.empty() && !tools_->offers(call_.name))))
        return false;
    if (call_.name.empty() || !object_->has_arguments())
        return true;
    const std::string json = object_->take_arguments();
    return json.empty() || send_arguments(json);
}

CallReader::Progress CallReader::end_object() {
    if (!object_->has_arguments() && (is_tentative() || !send_arguments("{}")))
        return Progress::failed;
    return next_part();
}

CallReader::Progress CallReader::read_arguments() {
    if (json_->depth() == 0 && !input_->skip_space())
        return Progress::wait;
    if (!begin_call() || (json_->depth() == 0 && !input_->rest().starts_with('{')))
        return Progress::failed;
    std::string json;
    while (!input_->rest().empty() && json_->phase() != JsonScanner::Phase::done) {
        const auto before = json_->phase();
        if (json_->feed(input_->rest().front()) == JsonScanner::Phase::bad)
            break;
        append_json_byte(json, input_->take(1).front(), before);
    }
    out_->arguments(json);
    if (json_->phase() == JsonScanner::Phase::bad)
        return Progress::failed;
    return json_->phase() == JsonScanner::Phase::done ? next_part() : Progress::wait;
}

CallReader::Progress CallReader::read_notation(Field field) {
    if (!begin_call())
        return Progress::failed;
    auto step = NotationScanner::Step::inside;
    while (step == NotationScanner::Step::inside && !input_->rest().empty()) {
        step = notation_->feed(input_->rest().front());
        if (step == NotationScanner::Step::inside || step == NotationScanner::Step::closed)
            text_ += input_->take(1);
        if (step == NotationScanner::Step::closed && field == Field::keywords)
            step = NotationScanner::Step::inside; // the bracket belongs to a value
    }
    if (step == NotationScanner::Step::inside)
        return Progress::wait;
    const bool ended = step != NotationScanner::Step::bad;
    const auto json = !ended                     ? std::nullopt
                      : field == Field::keywords ? keywords_to_json(text_)
                                                 : dictionary_to_json(text_, syntax_->string_delimiter);
    return json && send_arguments(*json) ? next_part() : Progress::failed;
}

/// Returns false if this is not a call.
bool CallReader::send_arguments(std::string_view json) {
    if (!begin_call())
        return false;
    out_->arguments(json);
    return true;
}

/// A program is a single string argument, streamed without the white space at its end.
CallReader::Progress CallReader::read_program() {
    if (!call_.is_started) {
        const auto& names = syntax_->code.names;
        const auto offered =
            std::find_if(names.begin(), names.end(), [this](auto name) { return tools_->offers(name); });
        if (call_.name.empty())
            call_.name = offered != names.end() ? *offered : names.front();
        if (!begin_call())
            return Progress::failed;
        out_->arguments("{");
        out_->arguments(json_string(syntax_->code.member));
        out_->arguments(": \"");
    }
    const MarkerMatch found = ends_.find(input_->rest(), input_->more());
    text_ += input_->take(found.offset);
    const std::size_t end = text_.find_last_not_of(white_space) + 1;
    std::string json;
    append_json_text(json, std::string_view(text_).substr(0, end));
    text_.erase(0, end);
    out_->arguments(json);
    if (!found.marker && input_->more() == More::may_come)
        return Progress::wait;
    out_->arguments("\"}");
    call_.in_field = false;
    ++call_.part;
    return end_call();
}

CallReader::Progress CallReader::read_parameters() {
    if (!begin_call())
        return Progress::failed;
    if (!input_->skip_space())
        return Progress::wait;
    const PatternPart* const next = following_part(); // its text takes precedence over a parameter's
    const Match end = next == nullptr ? Match::no : input_->match(next->text);
    const Match parameter =
        end == Match::no ? input_->match(call_.section->parameter.front().text) : Match::no;
    if (end == Match::partial || parameter == Match::partial)
        return Progress::wait;
    if (parameter == Match::no) {
        out_->arguments(call_.has_parameters ? "}" : "{}");
        return next_part();
    }
    call_.outer = call_.pattern;
    call_.outer_part = call_.part;
    call_.pattern = &call_.section->parameter;
    call_.part = 0;
    call_.in_field = false;
    value_ = {};
    return Progress::again;
}

CallReader::Progress CallReader::read_value() {
    if (!value_.is_started && begin_value() == Progress::wait)
        return Progress::wait;
    const MarkerMatch found = ends_.find(input_->rest(), input_->more());
    value_.text += input_->take(found.offset);
    if (found.marker && !ends_value(found)) {
        value_.text += input_->take(ends_[*found.marker].size());
        return Progress::again;
    }
    if (found.marker) {
        const bool is_closed = *found.marker < value_.closing_ends;
        if (is_closed && value_.is_verbatim)
            input_->skip(ends_[*found.marker].size());
        end_value(is_closed);
        if (is_closed)
            return next_part();
        call_.in_field = false; // the parameter's closing text is missing
        call_.part = call_.pattern->size();
        return Progress::again;
    }
    if (value_.types == string_type) { // stream all but a line break that may belong to the closing text
        const std::size_t held = value_.text.ends_with('\n') ? 1 : 0;
        std::string json;
        append_json_text(json, std::string_view(value_.text).substr(0, value_.text.size() - held));
        value_.text.erase(0, value_.text.size() - held);
        out_->arguments(json);
    }
    return Progress::wait;
}

CallReader::Progress CallReader::begin_value() {
    std::string_view left = input_->rest();
    if (part().text.ends_with('\n')) {
        if (left.empty() && input_->more() == More::may_come)
            return Progress::wait;
        left.remove_prefix(left.starts_with('\n') ? 1 : 0);
    }
    if (!syntax_->verbatim_open.empty()) {
        const Match verbatim = match_prefix(left, syntax_->verbatim_open);
        if (verbatim == Match::partial && input_->more() == More::may_come)
            return Progress::wait;
        value_.is_verbatim = verbatim == Match::yes;
        left.remove_prefix(value_.is_verbatim ? syntax_->verbatim_open.size() : 0);
    }
    input_->skip(input_->rest().size() - left.size());
    value_.is_started = true;

    value_.types = tools_->types_of(call_.name, value_.key);
    const auto& kinds = syntax_->text_kinds;
    if (!value_.kind.empty()) {
        value_.types =
            std::find(kinds.begin(), kinds.end(), value_.kind) != kinds.end() ? string_type : no_type;
    }
    collect_value_ends();
    if (value_.is_verbatim) {
        value_.types = value_.types == no_type ? uint8_t{string_type} : value_.types;
    }
    out_->arguments(call_.has_parameters ? ", " : "{");
    out_->arguments(json_string(value_.key));
    out_->arguments(value_.types == string_type ? ": \"" : ": ");
    call_.has_parameters = true;
    return Progress::again;
}

/// Collects the texts that end a value: its closing text, and those that end it if that is missing.
void CallReader::collect_value_ends() {
    if (value_.is_verbatim) {
        ends_.clear();
        ends_.add(syntax_->verbatim_close);
    }
    value_.closing_ends = ends_.size();
    if (call_.terminators.empty()) {
        std::vector<std::string> declared;
        if (const Tools::Parameters* const all = tools_->parameters_of(call_.name)) {
            for (const auto& [name, types] : *all)
                declared.push_back(name);
        }
        call_.terminators = value_terminators(*call_.section, *call_.outer, declared);
        if (!call_.terminators.empty())
            call_.closes = call_closes(*call_.section, *call_.outer);
    }
    if (!value_.is_verbatim) {
        for (const std::string& text : call_.terminators)
            ends_.add(text);
    }
    value_.terminator_ends = ends_.size();
    if (!value_.is_verbatim) {
        for (const std::string_view close : call_.closes)
            ends_.add(close);
    }
}

/// A text that closes the call is a part of the value, unless it ends the output.
bool CallReader::ends_value(const MarkerMatch& found) const {
    if (*found.marker < value_.terminator_ends)
        return true;
    const auto after = input_->rest().substr(ends_[*found.marker].size());
    return input_->more() == More::none && trim(after).empty();
}

void CallReader::end_value(bool is_closed) {
    std::string_view text = value_.text;
    const PatternPart* const next = following_part();
    const bool line_ends = !is_closed || (next != nullptr && next->text.starts_with('\n'));
    if (line_ends && !value_.is_verbatim && text.ends_with('\n'))
        text.remove_suffix(1);
    if (value_.types != string_type)
        return out_->arguments(value_to_json(text, value_.types));
    std::string json;
    append_json_text(json, text);
    out_->arguments(json + '"');
}

} // namespace etna::output
