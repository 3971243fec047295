#pragma once

#include "core/base/error.hpp"

#include <cassert>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace etna {

/// A value of type T, or the error of type E that prevented it. Errors cross module boundaries only in this
/// form; nothing in core throws.
///
///     Result<File> open(path);
///     ETNA_TRY(auto file, open(path));      // returns the error, or declares `file`
///     ETNA_CHECK(file.verify());            // the same for Status
template <class T, class E = Error>
class [[nodiscard]] Result {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): so that functions can `return value;`
    Result(T value) : has_value_(true), value_(std::move(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(E error) : has_value_(false), error_(std::move(error)) {}

    Result(const Result& other)
        requires std::is_copy_constructible_v<T>
        : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, other.value_);
        else
            std::construct_at(&error_, other.error_);
    }
    Result(Result&& other) noexcept : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, std::move(other.value_));
        else
            std::construct_at(&error_, std::move(other.error_));
    }
    Result& operator=(const Result& other)
        requires std::is_copy_constructible_v<T>
    {
        return *this = Result(other);
    }
    Result& operator=(Result&& other) noexcept {
        if (this != &other) {
            std::destroy_at(this);
            std::construct_at(this, std::move(other));
        }
        return *this;
    }
    ~Result() {
        if (has_value_)
            std::destroy_at(&value_);
        else
            std::destroy_at(&error_);
    }

    [[nodiscard]] bool has_value() const { return has_value_; }
    explicit operator bool() const { return has_value_; }

    /// Precondition of all of these: has_value().
    T& value() & { return assert(has_value_), value_; }
    const T& value() const& { return assert(has_value_), value_; }
    T&& value() && { return assert(has_value_), std::move(value_); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    /// Precondition: !has_value().
    [[nodiscard]] const E& error() const& { return assert(!has_value_), error_; }
    [[nodiscard]] E&& error() && { return assert(!has_value_), std::move(error_); }

private:
    bool has_value_;
    union { // a std::variant costs compilers several times as much for each T
        T value_;
        E error_;
    };
};

/// Success without a value, or an error.
template <class E>
class [[nodiscard]] Result<void, E> {
public:
    Result() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(E error) : error_(std::move(error)) {}

    [[nodiscard]] bool has_value() const { return !error_.has_value(); }
    explicit operator bool() const { return has_value(); }
    [[nodiscard]] const E& error() const& { return assert(error_), *error_; }
    [[nodiscard]] E&& error() && { return assert(error_), std::move(*error_); }

private:
    std::optional<E> error_;
};

using Status = Result<void>;

} // namespace etna

#define ETNA_CONCAT_(a, b) a##b
#define ETNA_CONCAT(a, b) ETNA_CONCAT_(a, b)
#define ETNA_TRY_(name, declaration, expression)                                                             \
    auto name = (expression);                                                                                \
    if (!name)                                                                                               \
        return std::move(name).error();                                                                      \
    declaration = std::move(name).value()

/// Evaluates a Result expression; returns its error from the enclosing function, or declares its value.
#define ETNA_TRY(declaration, expression)                                                                    \
    ETNA_TRY_(ETNA_CONCAT(etna_result_, __LINE__), declaration, expression)

/// Evaluates a Status expression and returns its error from the enclosing function, if any.
#define ETNA_CHECK(expression)                                                                               \
    do {                                                                                                     \
        if (auto etna_status = (expression); !etna_status)                                                   \
            return std::move(etna_status).error();                                                           \
    } while (false)
