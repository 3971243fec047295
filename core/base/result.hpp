#pragma once

#include "core/base/error.hpp"

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

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
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    Result(E error) : content_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool has_value() const { return content_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    /// Precondition of all of these: has_value().
    T& value() & { return std::get<0>(content_); }
    const T& value() const& { return std::get<0>(content_); }
    T&& value() && { return std::get<0>(std::move(content_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    /// Precondition: !has_value().
    [[nodiscard]] const E& error() const& { return std::get<1>(content_); }
    [[nodiscard]] E&& error() && { return std::get<1>(std::move(content_)); }

private:
    std::variant<T, E> content_;
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
