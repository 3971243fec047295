#include "server/observe/device_list.hpp"

namespace etna::server {

runtime::DeviceReports DeviceList::read(const DeviceReporter& reporter, bool is_open, Clock::time_point now) {
    if (!reporter)
        return {};
    const std::scoped_lock lock(mutex_);
    const auto limit = is_open ? age_max : closed_age_max;
    if (!read_at_ || was_open_ != is_open || now - *read_at_ >= limit) {
        reports_ = reporter();
        was_open_ = is_open;
        read_at_ = now;
    }
    return reports_;
}

} // namespace etna::server
