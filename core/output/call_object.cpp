#include "core/output/call_object.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace etna::output {

namespace {

using Phase = JsonScanner::Phase;

bool is_any(std::string_view text, const std::vector<std::string_view>& spellings) {
    return std::find(spellings.begin(), spellings.end(), text) != spellings.end();
}

/// Returns the text of a JSON string; nothing for other values.
std::optional<std::string> text_of(const std::string& json) {
    const auto value = parse_json(json);
    if (!value.is_string())
        return std::nullopt;
    return value.get<std::string>();
}

} // namespace

CallObject::Step CallObject::feed(char byte) {
    const Phase before = scanner_.phase();
    level_ = std::min(level_, std::max<std::size_t>(scanner_.depth(), 1));
    const bool at_top = scanner_.depth() == level_;
    if (before == Phase::value && scanner_.depth() == 0 && byte != '{')
        return Step::bad;
    const Phase after = scanner_.feed(byte);
    if (after == Phase::bad)
        return Step::bad;
    const bool in_text = before == Phase::in_string || before == Phase::in_escape ||
                         before == Phase::in_hex || before == Phase::low_surrogate;
    const bool is_key = before == Phase::key || before == Phase::first_key || (in_text && scanner_.in_key());
    if (at_top && is_key && after != Phase::done) {
        if (after == Phase::in_string && before != Phase::in_string)
            text_.clear();
        append_json_byte(text_, byte, before);
        if (text_.size() > max_name_bytes)
            text_.resize(max_name_bytes); // too long to be a known member
        return after == Phase::colon && before == Phase::in_string ? end_key() : Step::inside;
    }
    const bool begins = at_top && before == Phase::value && after != Phase::value;
    if (begins && begin_value(byte) == Step::bad)
        return Step::bad;
    if (!in_value_)
        return after == Phase::done ? Step::done : Step::inside;

    const bool ends =
        scanner_.depth() <= level_ && (after == Phase::next || after == Phase::done || after == Phase::key);
    const bool belongs = !(at_top && ends && before == Phase::in_number);
    if (belongs && streams_) {
        append_json_byte(arguments_, byte, before);
    } else if (belongs && member_ != Member::other) {
        append_json_byte(text_, byte, before);
    }
    if (ends && end_value() == Step::bad)
        return Step::bad;
    return after == Phase::done ? Step::done : Step::inside;
}

CallObject::Step CallObject::end_key() {
    const std::string key = text_of(text_).value_or("");
    if (is_any(key, members_->name)) {
        member_ = Member::name;
    } else if (is_any(key, members_->arguments)) {
        member_ = Member::arguments;
    } else if (is_any(key, members_->id)) {
        member_ = Member::id;
    } else {
        member_ = key == "function" && level_ == 1 ? Member::function : Member::other;
    }
    is_odd_ = is_odd_ || (member_ == Member::other && key != "type");
    const bool twice =
        (member_ == Member::name && !name_.empty()) || (member_ == Member::arguments && has_arguments_);
    return twice ? Step::bad : Step::inside;
}

CallObject::Step CallObject::begin_value(char byte) {
    if (member_ == Member::function && byte == '{') {
        member_ = Member::none;
        level_ = 2;
        return Step::inside;
    }
    if (member_ == Member::function && byte == '"')
        member_ = name_.empty() ? Member::name : Member::other;
    in_value_ = true;
    text_.clear();
    if (member_ == Member::name && byte != '"')
        return Step::bad;
    if (member_ == Member::arguments) {
        if (byte != '{' && byte != '"' && byte != 'n') // a string may contain the object; null: no arguments
            return Step::bad;
        has_arguments_ = true;
        streams_ = byte == '{';
    }
    return Step::inside;
}

CallObject::Step CallObject::end_value() {
    in_value_ = false;
    const bool streamed = std::exchange(streams_, false);
    const Member member = std::exchange(member_, Member::none);
    if (member == Member::arguments && !streamed)
        return end_arguments();
    if (member == Member::name) {
        name_ = text_of(text_).value_or("");
        return name_.empty() || name_.size() > max_name_bytes ? Step::bad : Step::inside;
    }
    if (member == Member::id && text_.size() <= max_name_bytes && text_ != "null")
        id_ = text_of(text_).value_or(text_);
    return Step::inside;
}

CallObject::Step CallObject::end_arguments() {
    if (text_ == "null" || text_ == "\"\"") {
        arguments_ = "{}";
        return Step::inside;
    }
    arguments_ = text_of(text_).value_or("");
    return is_json_object(arguments_) ? Step::inside : Step::bad;
}

std::string CallObject::take_arguments() {
    return std::exchange(arguments_, {});
}

} // namespace etna::output
