#include "server/storage/change.hpp"
#include "server/storage/history.hpp"
#include "server/storage/schema.hpp"
#include "server/storage/store_file.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

// Commits are durable; deleted data is overwritten; the WAL shrinks after growth. The last two settings are
// for maliciously prepared or damaged files.
constexpr const char* settings = R"(
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
)";

/// Opens the database, creates its tables if empty, and checks it.
Result<std::unique_ptr<Database>> open_database(const std::filesystem::path& file, Access access) {
    ETNA_TRY(auto database, Database::open(file, access));
    ETNA_CHECK(database->execute(settings));
    ETNA_TRY(const Origin origin, origin_of(*database));
    if (access == Access::write)
        ETNA_CHECK(database->run("PRAGMA journal_mode = WAL")); // in memory, there is none
    if (origin == Origin::none)
        ETNA_CHECK(create_tables(*database));
    ETNA_CHECK(check_content(*database));
    return database;
}

/// Reconciles totals and turns with the entries, and applies the bounds.
Status reconcile(Store::Impl& impl) {
    ETNA_TRY(Change change, Change::begin(impl));
    ETNA_CHECK(release_orphans(change.database(), change.pins()));
    ETNA_CHECK(change.database().run(
        "INSERT OR REPLACE INTO totals SELECT kind, sum(count), sum(bytes) FROM ("
        "SELECT kind, 1 AS count, bytes FROM entries UNION ALL SELECT 3, 1, length(turn) FROM nodes "
        "UNION ALL VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)) GROUP BY kind "
        "EXCEPT SELECT kind, count, bytes FROM totals")); // only differences: usually nothing is written
    return change.commit();
}

Status open_to_write(Store::Impl& impl) {
    const std::filesystem::path& file = impl.options.file;
    ETNA_TRY(impl.database, open_database(file, Access::write));
    // Speeds up finding an owner's oldest entry. Not required in a file: earlier versions of etna did not
    // create it, and it is optional if there is no room.
    (void)impl.database->execute(
        "CREATE INDEX IF NOT EXISTS entries_by_owner ON entries (owner, kind, freshness)");
    Status status = track_usage(*impl.database);
    if (status)
        status = reconcile(impl);
    if (!status) {
        impl.database = nullptr;
    } else if (!file.empty()) {
        reserve_change(file);
    }
    return status;
}

Status open_to_read(Store::Impl& impl) {
    const std::filesystem::path& file = impl.options.file;
    ETNA_TRY(impl.database,
             open_database(file, has_pending_changes(file) ? Access::read : Access::read_immutable));
    return {};
}

bool failed_with(const Status& status, ErrorKind kind) {
    return !status && status.error().kind == kind;
}

Status replace_damaged(Store::Impl& impl, const Error& damage, std::vector<std::string>& warnings) {
    std::filesystem::path& file = impl.options.file;
    ETNA_TRY(const std::filesystem::path moved, move_aside(file));
    warnings.push_back(
        fmt::format("{}; moved to {}, and created a new file", damage.message, moved.string()));
    ETNA_TRY(file, create_file(file));
    return open_to_write(impl);
}

Status open_file(Store::Impl& impl, std::vector<std::string>& warnings) {
    std::filesystem::path& file = impl.options.file;
    ETNA_TRY(file, create_file(file));
    ETNA_TRY(auto lock, FileLock::take(file));
    Status status = Error{ErrorKind::io, fmt::format("{}: cannot create files next to it", file.string()),
                          "allow writing to its folder, or choose another file"};
    const bool is_ours = lock.is_held();
    if (is_ours) {
        impl.file_lock = std::move(lock);
        status = open_to_write(impl);
    }
    if (failed_with(status, ErrorKind::io)) {
        const Error reason = status.error();
        status = open_to_read(impl);
        if (failed_with(status, ErrorKind::io))
            return reason;
        if (status) {
            warnings.push_back(fmt::format("{}; the store is read-only ({})", reason.message, reason.hint));
        }
    }
    if (is_ours && failed_with(status, ErrorKind::corrupt))
        return replace_damaged(impl, status.error(), warnings);
    return status;
}

} // namespace

Result<Store> Store::open(StoreOptions options, std::vector<std::string>& warnings) {
    auto impl = std::make_unique<Impl>();
    impl->options = std::move(options);
    std::filesystem::path& file = impl->options.file;
    if (file.empty()) {
        ETNA_CHECK(open_to_write(*impl));
    } else {
        std::error_code failure;
        const std::filesystem::path absolute = std::filesystem::absolute(file, failure);
        if (failure)
            return Error{ErrorKind::io, fmt::format("{}: {}", file.string(), failure.message())};
        file = absolute;
        ETNA_CHECK(open_file(*impl, warnings));
    }
    return Store(std::move(impl));
}

void Store::announce_end(std::chrono::seconds within) const {
    impl_->file_lock.announce_end(within);
}

Store::StoredKinds Store::stored_kinds() const {
    const StoreOptions& options = impl_->options;
    return {.responses = options.responses.entries_max > 0,
            .conversations = options.conversations.entries_max > 0,
            .completions = options.completions.entries_max > 0};
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store::Size> Store::size() {
    const LockedStore store(*impl_);
    ETNA_TRY(Statement row, store.database().prepare("SELECT kind, count, bytes FROM totals"));
    Size size;
    uint64_t* const counts[] = {&size.responses, &size.conversations, &size.completions}; // as Kind
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return size;
        if (row.number(0) < static_cast<int64_t>(std::size(counts)))
            *counts[row.number(0)] = static_cast<uint64_t>(row.number(1));
        size.bytes += static_cast<uint64_t>(row.number(2));
    }
}

} // namespace etna::server::storage
