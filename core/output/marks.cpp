#include "core/output/marks.hpp"

namespace etna::output {

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(white_space);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

bool is_tag(std::string_view close) {
    close = trim(close);
    return close.find('<') != std::string_view::npos && close.back() == '>';
}

Match begins_with(std::string_view text, std::string_view mark) {
    if (text.size() >= mark.size())
        return text.starts_with(mark) ? Match::yes : Match::no;
    return mark.starts_with(text) ? Match::open : Match::no;
}

void MarkSet::clear() {
    marks_.clear();
    begins_ = {};
}

void MarkSet::add(std::string_view mark) {
    mark = trim(mark);
    if (mark.empty())
        return;
    marks_.push_back(mark);
    begins_[static_cast<unsigned char>(mark.front())] = true;
}

Sighting MarkSet::match(std::string_view text, More more) const {
    Sighting result{.at = text.size(), .mark = {}};
    if (text.empty())
        return result;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
        const Match match = begins_with(text, marks_[i]);
        if (match == Match::open && more == More::may_come)
            return {.at = 0, .mark = {}}; // a longer mark may still match
        if (match == Match::yes && (!result.mark || marks_[i].size() > marks_[*result.mark].size()))
            result = {.at = 0, .mark = i};
    }
    return result;
}

Sighting MarkSet::find(std::string_view text, More more) const {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!begins_[static_cast<unsigned char>(text[at])])
            continue;
        const Sighting here = match(text.substr(at), more);
        if (here.at == 0)
            return {.at = at, .mark = here.mark};
    }
    return {.at = text.size(), .mark = {}};
}

} // namespace etna::output
