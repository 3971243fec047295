// When the reports on devices are renewed, by a clock of the tests.
#include "server/observe/device_list.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

using namespace etna;
using namespace std::chrono_literals;
using server::DeviceList;

TEST_CASE("reports on devices are renewed after ten seconds, after sixty while no model is loaded") {
    int calls = 0;
    const server::DeviceReporter reporter = [&] {
        runtime::DeviceReports reports(1);
        reports.front().free_bytes = static_cast<uint64_t>(++calls);
        return reports;
    };
    DeviceList list;
    const DeviceList::Clock::time_point start{};
    CHECK(list.read(reporter, true, start).front().free_bytes == 1);
    CHECK(list.read(reporter, true, start + 9s).front().free_bytes == 1);
    CHECK(list.read(reporter, true, start + 10s).front().free_bytes == 2);
    CHECK(list.read(reporter, false, start + 11s).front().free_bytes == 3); // the last model was unloaded
    CHECK(list.read(reporter, false, start + 70s).front().free_bytes == 3);
    CHECK(list.read(reporter, false, start + 71s).front().free_bytes == 4);
    CHECK(list.read(reporter, true, start + 72s).front().free_bytes == 5);
    CHECK(DeviceList().read({}, true, start).empty());
}
