#include "server/observe/request_journal.hpp"

namespace etna::server {

void RequestJournal::add(const RequestSummary& request, uint64_t arrived_unix_ns) {
    constexpr uint64_t ns_per_ms = 1'000'000;
    if (!request.answer.journal)
        return;
    auto entry = std::make_shared<const JournalEntry>(
        JournalEntry{.id = std::string(request.request_id),
                     .arrived_ms = static_cast<int64_t>(arrived_unix_ns / ns_per_ms),
                     .method = std::string(request.method),
                     .path = std::string(request.path),
                     .status = request.answer.final_status.value_or(request.status),
                     .elapsed_ms = request.elapsed_ms,
                     .answer = request.answer});
    const std::scoped_lock lock(mutex_);
    entries_.push_front(std::move(entry));
    if (entries_.size() > entries_max)
        entries_.pop_back();
}

RequestJournal::Entries RequestJournal::entries() const {
    const std::scoped_lock lock(mutex_);
    return {entries_.begin(), entries_.end()};
}

} // namespace etna::server
