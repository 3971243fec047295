#include "core/output/markers.hpp"

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

Match match_prefix(std::string_view text, std::string_view marker) {
    if (text.size() >= marker.size())
        return text.starts_with(marker) ? Match::yes : Match::no;
    return marker.starts_with(text) ? Match::partial : Match::no;
}

void MarkerSet::clear() {
    markers_.clear();
    begins_ = {};
}

void MarkerSet::add(std::string_view marker) {
    marker = trim(marker);
    if (marker.empty())
        return;
    markers_.push_back(marker);
    begins_[static_cast<unsigned char>(marker.front())] = true;
}

MarkerMatch MarkerSet::match(std::string_view text, More more) const {
    MarkerMatch result{.offset = text.size(), .marker = {}, .is_line_start = false};
    if (text.empty())
        return result;
    for (std::size_t i = 0; i < markers_.size(); ++i) {
        const Match match = match_prefix(text, markers_[i]);
        if (match == Match::partial && more == More::may_come)
            return {.offset = 0, .marker = {}, .is_line_start = false}; // a longer marker may still match
        if (match == Match::yes && (!result.marker || markers_[i].size() > markers_[*result.marker].size()))
            result = {.offset = 0, .marker = i, .is_line_start = false};
    }
    return result;
}

MarkerMatch MarkerSet::find(std::string_view text, More more, std::string_view line_starts) const {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_line_start =
            at > 0 && text[at - 1] == '\n' && line_starts.find(text[at]) != std::string_view::npos;
        if (is_line_start)
            return {.offset = at, .marker = {}, .is_line_start = true};
        if (!begins_[static_cast<unsigned char>(text[at])])
            continue;
        const MarkerMatch here = match(text.substr(at), more);
        if (here.offset == 0)
            return {.offset = at, .marker = here.marker, .is_line_start = false};
    }
    return {.offset = text.size(), .marker = {}, .is_line_start = false};
}

} // namespace etna::output
