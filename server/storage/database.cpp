#include "server/storage/database.hpp"

#include <cctype>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

constexpr int reserved_step_bytes = 4096; // SQLite's usual page
constexpr int busy_timeout_ms = 5000;     // for other processes that read or copy the file

struct ErrorInfo {
    ErrorKind kind;
    std::string_view hint;
};

ErrorInfo error_info(int code) {
    switch (code & 0xff) { // the primary result code
    case SQLITE_FULL:
        return {ErrorKind::io, "free space on its disk, or delete entries: reading and deleting still work"};
    case SQLITE_IOERR:
        return {ErrorKind::io, "check whether its disk is full, over quota, or failing"};
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return {ErrorKind::io, "allow writing to the file and to its folder, and restart"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return {ErrorKind::io, "end the program that holds a lock on the file"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return {ErrorKind::corrupt, "restart: a damaged file is moved aside and replaced"};
    case SQLITE_NOMEM:
        return {ErrorKind::out_of_memory, ""};
    case SQLITE_TOOBIG:
        return {ErrorKind::invalid_argument, "a text can have at most a billion bytes"};
    default:
        return {ErrorKind::internal, ""};
    }
}

/// Escapes a path for a file: URI.
std::string percent_encoded(std::string_view path) {
    std::string text;
    for (const char letter : path) {
        const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '/';
        text += is_plain ? std::string(1, letter) : fmt::format("%{:02x}", static_cast<uint8_t>(letter));
    }
    return text;
}

int bind(sqlite3_stmt* statement, int index, const Value& value) {
    return std::visit(
        [&](const auto& bound) {
            using Bound = std::remove_cvref_t<decltype(bound)>;
            if constexpr (std::is_same_v<Bound, int64_t>) {
                return ::sqlite3_bind_int64(statement, index, bound);
            } else if constexpr (std::is_same_v<Bound, std::string_view>) {
                const char* begin = bound.data() == nullptr ? "" : bound.data(); // null would bind NULL
                return ::sqlite3_bind_blob64(statement, index, begin, bound.size(), SQLITE_TRANSIENT);
            } else {
                return ::sqlite3_bind_null(statement, index);
            }
        },
        value);
}

} // namespace

Statement::~Statement() {
    if (handle_ == nullptr)
        return;
    ::sqlite3_reset(handle_.get()); // its error was returned by step()
    ::sqlite3_clear_bindings(handle_.get());
    database_->idle_.try_emplace(sql_, std::move(handle_));
}

Result<bool> Statement::step() {
    const int code = ::sqlite3_step(handle_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return database_->error(code);
    return code == SQLITE_ROW;
}

std::string Statement::bytes(int column) const {
    const void* begin = ::sqlite3_column_blob(handle_.get(), column);
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(handle_.get(), column));
    return begin == nullptr ? std::string() : std::string(static_cast<const char*>(begin), size);
}

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& file, Access access) {
    std::unique_ptr<Database> database(new Database(file.empty() ? "the store in memory" : file.string()));
    std::string address = file.empty() ? ":memory:" : file.string();
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    flags |= access == Access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (access == Access::read_immutable) {
        flags |= SQLITE_OPEN_URI;
        address = fmt::format("file:{}?immutable=1", percent_encoded(address));
    }
    sqlite3* handle = nullptr;
    const int code = ::sqlite3_open_v2(address.c_str(), &handle, flags, nullptr);
    database->handle_.reset(handle);
    if (handle == nullptr)
        return Error{ErrorKind::out_of_memory, fmt::format("{}: out of memory", database->name_)};
    if (code != SQLITE_OK)
        return database->error(code);
    if (access == Access::write && database->is_read_only()) // SQLite falls back to read-only
        return database->read_only();
    ::sqlite3_busy_timeout(handle, busy_timeout_ms);
    int step_bytes = reserved_step_bytes; // without a chunk size, reserve() would have no effect
    (void)::sqlite3_file_control(handle, "main", SQLITE_FCNTL_CHUNK_SIZE, &step_bytes);
    return database;
}

Status Database::execute(const char* statements) {
    const int code = ::sqlite3_exec(handle_.get(), statements, nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Status() : error(code);
}

Result<Statement> Database::prepare(std::string_view sql, std::initializer_list<Value> values) {
    StatementHandle handle;
    if (auto idle = idle_.extract(sql)) {
        handle = std::move(idle.mapped());
    } else {
        sqlite3_stmt* prepared = nullptr;
        const int code = ::sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                              SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
        if (code != SQLITE_OK)
            return error(code);
        handle.reset(prepared);
    }
    Statement statement(*this, sql, std::move(handle));
    int index = 0;
    for (const Value& value : values) {
        if (const int code = bind(statement.handle_.get(), ++index, value); code != SQLITE_OK)
            return error(code);
    }
    return statement;
}

Status Database::run(std::string_view sql, std::initializer_list<Value> values) {
    ETNA_TRY(Statement statement, prepare(sql, values));
    for (;;) {
        ETNA_TRY(const bool has_row, statement.step());
        if (!has_row)
            return {};
    }
}

Result<std::optional<int64_t>> Database::number(std::string_view sql, std::initializer_list<Value> values) {
    ETNA_TRY(Statement statement, prepare(sql, values));
    std::optional<int64_t> found;
    for (;;) { // a modifying statement is complete only at its end
        ETNA_TRY(const bool has_row, statement.step());
        if (!has_row)
            return found;
        if (!statement.is_null(0))
            found = statement.number(0);
    }
}

Status Database::reserve() {
    ETNA_TRY(const auto pages, number("PRAGMA page_count"));
    ETNA_TRY(const auto page_bytes, number("PRAGMA page_size"));
    sqlite3_int64 bytes = pages.value_or(0) * page_bytes.value_or(0);
    const int code = ::sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_SIZE_HINT, &bytes);
    if (code == SQLITE_OK || code == SQLITE_NOTFOUND) // in memory, there is no file
        return {};
    return Error{ErrorKind::io, fmt::format("{}: no space left on its disk", name_),
                 std::string(error_info(SQLITE_FULL).hint)};
}

void Database::checkpoint() {
    (void)::sqlite3_wal_checkpoint_v2(handle_.get(), "main", SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
}

Error Database::error(int code) const {
    const ErrorInfo meaning = error_info(code);
    return {meaning.kind, fmt::format("{}: {}", name_, ::sqlite3_errmsg(handle_.get())),
            std::string(meaning.hint)};
}

Error Database::damaged(std::string_view what) const {
    return {ErrorKind::corrupt, fmt::format("{}: {}", name_, what),
            std::string(error_info(SQLITE_CORRUPT).hint)};
}

Error Database::read_only() const {
    return {ErrorKind::io, fmt::format("{}: the file is read-only", name_),
            std::string(error_info(SQLITE_READONLY).hint)};
}

Result<Transaction> Transaction::begin(Database& database) {
    if (database.is_read_only()) // SQLite would begin, and fail at the first write
        return database.read_only();
    ETNA_CHECK(database.run("BEGIN IMMEDIATE"));
    return Transaction(database);
}

Transaction::~Transaction() {
    // After some errors SQLite has already rolled back.
    if (database_ != nullptr && ::sqlite3_get_autocommit(database_->handle_.get()) == 0)
        (void)database_->run("ROLLBACK");
}

Status Transaction::commit() {
    ETNA_CHECK(database_->run("COMMIT"));
    database_ = nullptr;
    return {};
}

} // namespace etna::server::storage
