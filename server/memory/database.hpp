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

// One SQLite connection with errors as values, and nothing of what is kept in it.
namespace etna::server::memory {

enum class Access : uint8_t {
    write,
    read,
    read_alone, ///< read, without the files beside it that other connections need: nobody writes
};

struct FinalizeStatement {
    void operator()(sqlite3_stmt* handle) const { ::sqlite3_finalize(handle); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// What a statement is given in the place of a `?`: NULL, a number, or bytes.
using Value = std::variant<std::monostate, int64_t, std::string_view>;

class Database;

/// A statement at work; its text and plan go back to the database at its end. Move-only.
class Statement {
public:
    Statement(Database& database, std::string_view sql, StatementHandle handle)
        : database_(&database), sql_(sql), handle_(std::move(handle)) {}
    Statement(Statement&&) noexcept = default;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    /// Whether there is a next row, which is then current. A statement that changes something has done so
    /// when there is none.
    Result<bool> step();

    // Of the current row.
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

/// Not thread-safe. Errors of everything: io (disk full, no permission, locked by another), corrupt (damaged,
/// or no database), invalid_argument (a text is larger than SQLite takes), out_of_memory, internal.
class Database {
public:
    /// With Access::write, makes an empty file where there is none; io where it can be read alone. The path
    /// is absolute; empty: in memory.
    static Result<std::unique_ptr<Database>> open(const std::filesystem::path& file, Access access);

    /// Statements without a result, as they stand.
    Status execute(const char* statements);

    /// SQL is a literal: it is remembered, with its plan, for as long as the database lives. The values are
    /// copied.
    Result<Statement> prepare(std::string_view sql, std::initializer_list<Value> values = {});

    /// Does all of a statement.
    Status run(std::string_view sql, std::initializer_list<Value> values = {});

    /// Does all of a statement that gives one row or none: its first column; empty where that is NULL.
    Result<std::optional<int64_t>> number(std::string_view sql, std::initializer_list<Value> values = {});

    /// Takes room in the file for all that it is to have after this transaction, so that what lies beside it
    /// can be brought in however full the disk is then.
    Status reserve();

    /// Brings what lies beside the file into it as far as that is possible now, and writes there from the
    /// beginning again. Not within a transaction.
    void bring_in();

    [[nodiscard]] bool is_read_only() const { return ::sqlite3_db_readonly(handle_.get(), "main") == 1; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Error error(int code) const; ///< of the last call, which gave this code
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
    std::map<std::string_view, StatementHandle> idle_; ///< by SQL
};

/// Undoes what was done since begin(), unless it came to commit(). Move-only.
class Transaction {
public:
    /// Errors: those of Database; io at once where nothing can be written.
    static Result<Transaction> begin(Database& database);
    Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    /// What was done is in the file when this returns without an error, whatever happens then.
    Status commit();

private:
    explicit Transaction(Database& database) : database_(&database) {}

    Database* database_; ///< borrowed; null after the end
};

} // namespace etna::server::memory
