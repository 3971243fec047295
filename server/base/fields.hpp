#pragma once

#include "server/base/json.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server {

/// Whether a range includes its endpoint.
enum class Bound : uint8_t { included, excluded };

/// Reads the fields of a request object, with type and range checks. The first error is recorded, and all
/// later reads return absent: a reader reads all fields in a row and checks problem() at the end. A null
/// field counts as absent. Borrows the object. Not thread-safe.
class Fields {
public:
    /// `path` is the prefix of field names in errors: "messages[2]".
    explicit Fields(const Json& object, std::string path = {}) : object_(&object), path_(std::move(path)) {}

    /// Each of these reads one field; empty if absent. Errors: 400 with the field's path and the allowed
    /// values.
    std::optional<double> number(std::string_view name, double low, double high,
                                 Bound at_low = Bound::included, Bound at_high = Bound::included);
    std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
    std::optional<bool> flag(std::string_view name);
    std::optional<std::string> text(std::string_view name);
    std::optional<std::vector<std::string>> texts(std::string_view name,
                                                  std::size_t count_max); ///< or a single string
    const Json* object(std::string_view name);
    const Json* list(std::string_view name);
    const Json* any(std::string_view name);

    /// The index of the value in `choices`.
    std::optional<std::size_t> choice(std::string_view name, const std::vector<std::string_view>& choices);

    /// The same for an optional hint, whose absence changes nothing that a client may rely on: a value that
    /// is not among `choices` is listed in without_effect(), and absent.
    std::optional<std::size_t> hint(std::string_view name, const std::vector<std::string_view>& choices);

    /// Marks fields as known but without effect: they are not in unknown().
    void accept(const std::vector<std::string_view>& names);

    /// Marks fields as known but without effect, and lists them in without_effect() unless they are null or
    /// false.
    void note(const std::vector<std::string_view>& names);

    /// Lists a path of a nested object in without_effect().
    void note_nested(std::string path) { without_effect_.push_back(std::move(path)); }

    /// Error: 400 if the field is absent.
    void require(std::string_view name);
    /// The same, but null is accepted.
    void require_or_null(std::string_view name);

    /// Records the caller's own error, if it is the first.
    void refuse(std::string_view name, std::string problem, std::string code = "invalid_value");

    /// Merge the results of a nested reader: its problem, its unknown fields, and those without effect.
    void adopt(const ApiError& problem);
    void adopt_unknown(const std::vector<std::string>& paths);
    void adopt(const Fields& nested);

    [[nodiscard]] const std::optional<ApiError>& problem() const { return problem_; }
    [[nodiscard]] ApiStatus status() const { return problem_ ? ApiStatus(*problem_) : ApiStatus(); }

    /// Paths of the fields that were never read, in document order.
    [[nodiscard]] std::vector<std::string> unknown() const;

    [[nodiscard]] const std::vector<std::string>& without_effect() const { return without_effect_; }

    /// The object that is read.
    [[nodiscard]] const Json& json() const { return *object_; }

    /// The path of a field: "messages[2].content".
    [[nodiscard]] std::string path_of(std::string_view name) const;

private:
    const Json* take(std::string_view name);
    std::nullopt_t refuse_type(std::string_view name, std::string_view expected);

    const Json* object_;
    std::string path_;
    std::set<std::string, std::less<>> known_;
    std::vector<std::string> nested_unknown_;
    std::vector<std::string> without_effect_;
    std::optional<ApiError> problem_;
};

/// Reads `metadata`: at most 16 strings of up to 512 characters, with keys of up to 64. Errors are recorded
/// in `fields`. Returns the object, empty if absent. Source: OpenAI API 2.3.0, Metadata.
Json read_metadata(Fields& fields);

} // namespace etna::server
