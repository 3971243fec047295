#include "server/storage/reading.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace etna::server::storage {
namespace {

using std::chrono::microseconds;

int64_t system_us() {
    return std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

} // namespace

Reading::Reading(Store::Content& content)
    : lock_(content.mutex), content_(&content),
      now_us_(content.options.now_us ? content.options.now_us() : system_us()) {}

const Bounds& Reading::bounds(Kind kind) const {
    switch (kind) {
    case Kind::response:
        return content_->options.responses;
    case Kind::conversation:
        return content_->options.conversations;
    case Kind::completion:
        break;
    }
    return content_->options.completions;
}

int64_t Reading::oldest_us(Kind kind) const {
    constexpr int64_t any = std::numeric_limits<int64_t>::min();
    constexpr auto longest = std::chrono::duration_cast<std::chrono::seconds>(microseconds::max());
    const auto age_max = std::min(bounds(kind).age_max, longest);
    if (age_max.count() <= 0)
        return any;
    const int64_t age_us = microseconds(age_max).count();
    return now_us_ < any + age_us ? any : now_us_ - age_us;
}

} // namespace etna::server::storage
