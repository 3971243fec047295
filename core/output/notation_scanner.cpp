#include "core/output/notation.hpp"

namespace etna::output {

NotationScanner::Step NotationScanner::feed(char byte) {
    if (quote_ != 0)
        return string_byte(byte);
    if (!string_mark_.empty()) {
        count_mark(byte);
    } else if (byte == '"' || byte == '\'') {
        quote_ = byte;
    }
    if (byte == '(' || byte == '[' || byte == '{') {
        if (open_.size() == max_depth)
            return Step::bad;
        open_ += byte == '(' ? ')' : static_cast<char>(byte + 2);
    } else if (byte == ')' || byte == ']' || byte == '}') {
        if (open_.empty())
            return Step::above;
        if (open_.back() != byte)
            return Step::bad;
        open_.pop_back();
        return open_.empty() ? Step::closed : Step::inside;
    }
    return Step::inside;
}

NotationScanner::Step NotationScanner::string_byte(char byte) {
    if (!string_mark_.empty()) {
        count_mark(byte);
        return Step::inside;
    }
    if (escaped_) {
        escaped_ = false;
    } else if (byte == '\\') {
        escaped_ = true;
    } else if (byte == quote_) {
        quote_ = 0;
    }
    return Step::inside;
}

void NotationScanner::count_mark(char byte) {
    if (byte != string_mark_[mark_bytes_]) {
        mark_bytes_ = byte == string_mark_.front() ? 1 : 0;
    } else {
        ++mark_bytes_;
    }
    if (mark_bytes_ < string_mark_.size())
        return;
    mark_bytes_ = 0;
    quote_ = quote_ == 0 ? '"' : '\0';
}

} // namespace etna::output
