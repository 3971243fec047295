#pragma once

#include "server/base/fields.hpp"
#include "server/base/json.hpp"
#include "server/storage/store.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {
struct HttpRequest;
struct AnswerServices;
} // namespace etna::server

// Files in the content of messages: those of text are read as text.
namespace etna::server::api {

/// Maximum bytes of one file; the memory of all is charged to the request.
constexpr std::size_t file_text_bytes_max = 4UL << 20U;

/// Returns whether a content part of this type is a file: `file`, `input_file` or `document`.
bool is_file_part(const Json& part);

/// A file that a client has stored.
struct StoredContent {
    std::string name;
    uint64_t bytes = 0;
    std::filesystem::path path; ///< of its content
};

/// Finds an owner's stored file by its id; empty: the owner has no such file. Thread-safe.
using FindStoredFile =
    std::function<std::optional<StoredContent>(const storage::Owner& owner, const std::string& id)>;

/// Reads the files of one request's content parts. Not thread-safe.
class FileTexts {
public:
    /// Reads no stored files, and counts no memory.
    FileTexts() = default;
    /// `find_stored` may be empty; parts may name those of `owner`. `reserve_memory`: see RequestContext.
    FileTexts(FindStoredFile find_stored, storage::Owner owner,
              std::function<bool(std::size_t bytes)> reserve_memory)
        : find_stored_(std::move(find_stored)), owner_(std::move(owner)),
          reserve_memory_(std::move(reserve_memory)) {}

    /// Returns the text of a file part for the model: its name and its content. Takes the forms of OpenAI's
    /// APIs (`file_data`, `file_id`, also inside `file`) and Anthropic's (`source`). Errors, recorded in
    /// `fields` at `path`: no text in UTF-8, such as an image or a PDF; too large; an unknown id; an address.
    /// Sources: OpenAI API 2.3.0, input_file; Anthropic's API reference, 2023-06-01, document.
    std::optional<std::string> read(Fields& fields, std::string_view path, const Json& part) const;

private:
    struct File;
    std::optional<File> find(Fields& fields, std::string_view path, const Json& part) const;
    std::optional<File> read_stored(Fields& fields, std::string_view path, const std::string& id) const;

    FindStoredFile find_stored_ = nullptr;
    storage::Owner owner_;
    std::function<bool(std::size_t bytes)> reserve_memory_;
};

/// Returns the reader for the parts of a request, which it borrows.
FileTexts file_texts(const AnswerServices& services, const HttpRequest& request);

} // namespace etna::server::api
