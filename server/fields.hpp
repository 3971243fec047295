#pragma once

#include "server/json.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// Whether the end of a range belongs to it.
enum class Bound : uint8_t { included, excluded };

/// Characters that begin in these bytes, which are UTF-8: as the API counts lengths.
std::size_t characters_in(std::string_view text);

/// Reads the members of a request's object, by type and range. The first mistake is kept, and everything
/// after it reads as absent: a reader asks for all members in a row, and for problem() at the end. A member
/// that is null is absent. Borrows the object. Not thread-safe.
class Fields {
public:
    /// `path` stands before the names in errors: "messages[2]".
    explicit Fields(const Json& object, std::string path = {}) : object_(&object), path_(std::move(path)) {}

    /// Each reads one member; empty where it is absent. Errors: 400 with the member's path and what is
    /// allowed.
    std::optional<double> number(std::string_view name, double low, double high,
                                 Bound at_low = Bound::included, Bound at_high = Bound::included);
    std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
    std::optional<bool> flag(std::string_view name);
    std::optional<std::string> text(std::string_view name);
    std::optional<std::vector<std::string>> texts(std::string_view name,
                                                  std::size_t count_max); ///< or one text
    const Json* object(std::string_view name);
    const Json* list(std::string_view name);
    const Json* any(std::string_view name);

    /// One of `choices`, as its index.
    std::optional<std::size_t> choice(std::string_view name, const std::vector<std::string_view>& choices);

    /// Known and without effect here: not among unknown().
    void accept(const std::vector<std::string_view>& names);

    /// Known, and without effect here: among noted() where they are given and ask for something.
    void note(const std::vector<std::string_view>& names);

    /// Error: 400 where the member is absent.
    void require(std::string_view name);
    /// The same, but null will do.
    void require_or_null(std::string_view name);

    /// Makes the first problem of a reader's own.
    void refuse(std::string_view name, std::string problem, std::string code = "invalid_value");

    /// Take over from the reader of a member.
    void adopt(const ApiError& problem);
    void adopt_unknown(const std::vector<std::string>& paths);

    [[nodiscard]] const std::optional<ApiError>& problem() const { return problem_; }

    /// Members that nobody asked for, in their order, by path.
    [[nodiscard]] std::vector<std::string> unknown() const;

    [[nodiscard]] const std::vector<std::string>& noted() const { return noted_; }

    /// "messages[2].content".
    [[nodiscard]] std::string path_of(std::string_view name) const;

private:
    const Json* take(std::string_view name);
    void refuse_type(std::string_view name, std::string_view wanted);

    const Json* object_;
    std::string path_;
    std::set<std::string, std::less<>> known_;
    std::vector<std::string> unknown_within_;
    std::vector<std::string> noted_;
    std::optional<ApiError> problem_;
};

} // namespace etna::server
