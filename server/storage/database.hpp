#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <sqlite3.h>

// A wrapper for one SQLite connection, with errors as values; independent of the schema.
namespace etna::server::storage {

enum class Access : uint8_t {
    write,
    read,
    read_immutable, ///< read an immutable file: without the auxiliary files that other connections need;
                    ///< there must be no writer
};

struct FinalizeStatement {
    void operator()(sqlite3_stmt* handle) const { ::sqlite3_finalize(handle); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// A bound parameter: NULL, a number, or bytes.
using Value = std::variant<std::monostate, int64_t, std::string_view>;

class Database;

/// A running statement; its prepared form returns to the database's cache on destruction. Move-only.
class Statement {
public:
    Statement(Database& database, std::string_view sql, StatementHandle handle)
        : database_(&database), sql_(sql), handle_(std::move(handle)) {}
    Statement(Statement&&) noexcept = default;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    /// Advances to the next row; returns false if there is none. A modifying statement is complete when it
    /// returns false.
    Result<bool> step();

    // Columns of the current row.
    [[nodiscard]] int64_t number(int column) const { return ::sqlite3_column_int64(handle_.get(), column); }
    [[nodiscard]] std::string bytes(int column) const;
    [[nodiscard]] bool is_null(int column) const {
        return ::sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
    }

private:
    friend class Database;

    Database* database_; ///< borrowed
    std::string_view sql_;
    StatementHandle handle_;
};

/// Not thread-safe. Errors of all functions: io (disk full, no permission, locked by another process),
/// corrupt (damaged, or not a database), invalid_argument (a text exceeds SQLite's limit), out_of_memory,
/// internal.
class Database {
public:
    /// With Access::write, creates an empty file if missing; error io if the file is read-only. The path is
    /// absolute; empty: in memory.
    static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file, Access access);

    /// Executes statements without results or parameters.
    Status execute(const char* statements);

    /// `sql` must be a literal: it is cached, with its prepared statement, for the database's lifetime. The
    /// values are copied.
    Result<Statement> prepare(std::string_view sql, std::initializer_list<Value> values = {});

    /// Runs a statement to completion.
    Status run(std::string_view sql, std::initializer_list<Value> values = {});

    /// Runs a statement that returns at most one row. Returns its first column; empty if NULL or no row.
    Result<std::optional<int64_t>> number(std::string_view sql, std::initializer_list<Value> values = {});

    /// Allocates the file space that this transaction needs, so that a later checkpoint of the WAL cannot
    /// fail on a full disk.
    Status reserve();

    /// Checkpoints the WAL as far as possible now, and restarts it. Not within a transaction.
    void checkpoint();

    [[nodiscard]] bool is_read_only() const { return ::sqlite3_db_readonly(handle_.get(), "main") == 1; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Error error(int code) const; ///< the error of the last call, which returned `code`
    [[nodiscard]] Error damaged(std::string_view what) const;
    [[nodiscard]] Error read_only() const;

private:
    friend class Statement;
    friend class Transaction;
    struct Close {
        void operator()(sqlite3* handle) const { ::sqlite3_close_v2(handle); }
    };

    explicit Database(std::string name) : name_(std::move(name)) {}

    const std::string name_; ///< for messages
    std::unique_ptr<sqlite3, Close> handle_;
    std::map<std::string_view, StatementHandle> idle_; ///< cached statements by SQL
};

/// Rolls back on destruction, unless commit() succeeded. Move-only.
class Transaction {
public:
    /// Errors: those of Database; io immediately if the database is read-only.
    static Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    /// The changes are durable when this returns without an error.
    Status commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}

    Database* database_; ///< borrowed; null after the end
};

} // namespace etna::server::storage
