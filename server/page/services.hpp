#pragma once

#include "server/api/answer_services.hpp"
#include "server/observe/device_list.hpp"
#include "server/observe/request_journal.hpp"
#include "server/observe/throughput.hpp"

#include <chrono>

namespace etna::server::page {

/// The services that the page's state is of. Borrows them.
struct Services {
    AnswerServices& answers;
    const RequestJournal& journal;
    Throughput& throughput;
    DeviceList& devices;
    std::chrono::system_clock::time_point started;
};

} // namespace etna::server::page
