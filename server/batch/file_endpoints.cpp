// /v1/files: stores, lists, shows, sends and deletes files.

#include "core/base/file_reader.hpp"
#include "core/base/log.hpp"
#include "server/api/owner.hpp"
#include "server/api/pagination.hpp"
#include "server/api/persistence.hpp"
#include "server/batch/batches.hpp"
#include "server/batch/endpoints.hpp"
#include "server/batch/multipart.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::batch {
namespace {

constexpr std::size_t file_name_bytes_max = 512;
constexpr int64_t file_lifetime_min_s = 3'600;

/// Purposes of an upload: for a batch, or for the text of a message (`file_id`).
constexpr std::array<std::string_view, 2> purposes = {"batch", "user_data"};

ApiError no_files() {
    return storage_disabled("files");
}

ApiError file_not_found(std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no file `{}`", id),
            .param = "file_id",
            .code = "file_not_found"};
}

ApiError invalid_part(std::string_view name, std::string_view problem) {
    return {.message = fmt::format("`{}` {}", name, problem),
            .param = std::string(name),
            .code = "invalid_value"};
}

ApiResult<StoredFile> file_of(const Services& services, const HttpRequest& request,
                              const RoutedRequest& routed) {
    if (services.batches == nullptr)
        return no_files();
    const std::string& id = routed.path_values.front();
    auto file = services.batches->files().find(owner_of(services.access, request), id);
    if (!file)
        return file_not_found(id);
    return std::move(*file);
}

/// Reads the lifetime of a file from a form. Errors: 400.
ApiResult<int64_t> read_lifetime(std::string_view text) {
    int64_t seconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failure != std::errc() || end != text.data() + text.size() || seconds < file_lifetime_min_s ||
        seconds > default_file_lifetime_s) {
        return invalid_part(
            "expires_after[seconds]",
            fmt::format("must be from {} to {}", file_lifetime_min_s, default_file_lifetime_s));
    }
    return seconds;
}

/// The upload in a form.
struct Upload {
    const FormPart* file = nullptr; ///< borrowed
    std::string purpose = {};
    int64_t lifetime_s = default_file_lifetime_s;
};

ApiResult<Upload> read_upload(const std::vector<FormPart>& parts) {
    Upload upload;
    for (const FormPart& part : parts) {
        if (part.name == "file")
            upload.file = &part;
        if (part.name == "purpose")
            upload.purpose = part.content;
        if (part.name == "expires_after[seconds]") {
            ETNA_TRY(upload.lifetime_s, read_lifetime(part.content));
        }
    }
    if (upload.file == nullptr || !upload.file->file_name)
        return invalid_part("file", "is missing: send it as a part with a filename");
    if (upload.file->file_name->size() > file_name_bytes_max)
        return invalid_part("file", fmt::format("has a name of more than {} bytes", file_name_bytes_max));
    if (std::ranges::find(purposes, upload.purpose) == purposes.end())
        return invalid_part("purpose", fmt::format("must be {}", fmt::join(purposes, " or ")));
    return upload;
}

ApiError upload_failed(const Error& error) {
    if (error.kind == ErrorKind::busy) {
        return {.status = 413,
                .message = fmt::format("{}; {}", error.message, error.hint),
                .param = "file",
                .code = "storage_full"};
    }
    log(LogLevel::warning, error.message);
    return {.status = 500,
            .message = "the file could not be stored: " + strip_directories(error.message),
            .type = "server_error",
            .code = "store_failed"};
}

/// A file that is being sent.
struct Download {
    Files::Guard guard; ///< destroyed after the reader, because an open file is on the disk
    FileReader reader;
};

/// Sends an open file in blocks.
void send_blocks(const FileReader& file, HttpWriter& writer) {
    constexpr std::size_t block_bytes = 256 * 1024;
    std::string block;
    for (uint64_t at = 0; at < file.bytes(); at += block.size()) {
        block.resize(static_cast<std::size_t>(std::min<uint64_t>(block_bytes, file.bytes() - at)));
        if (!file.read(at, std::as_writable_bytes(std::span(block))))
            throw std::runtime_error("the file is evicted, or cannot be read"); // the body has no end
        if (!writer.write(block))
            return;
    }
}

} // namespace

ApiResult<HttpReply> upload_file(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& /*routed*/) {
    if (services.batches == nullptr)
        return no_files();
    ETNA_TRY(const auto parts, parse_form(request.header("content-type"), request.body));
    ETNA_TRY(const Upload upload, read_upload(parts));
    const auto stored = services.batches->files().add({.owner = owner_of(services.access, request),
                                                       .name = *upload.file->file_name,
                                                       .purpose = upload.purpose,
                                                       .lifetime_s = upload.lifetime_s},
                                                      upload.file->content);
    if (!stored)
        return upload_failed(stored.error());
    return HttpReply{.body = dump_json(file_json(*stored)) + "\n"};
}

ApiResult<HttpReply> list_files(const Services& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    if (services.batches == nullptr)
        return no_files();
    const auto purpose = query_value(request, "purpose");
    Json items = Json::array();
    for (const StoredFile& file : services.batches->files().list(owner_of(services.access, request))) {
        if (!purpose || file.purpose == *purpose)
            items.push_back(file_json(file));
    }
    return page_reply(request, std::move(items), storage::Order::descending);
}

ApiResult<HttpReply> show_file(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed) {
    ETNA_TRY(const StoredFile file, file_of(services, request, routed));
    return HttpReply{.body = dump_json(file_json(file)) + "\n"};
}

ApiResult<HttpReply> send_file(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed) {
    ETNA_TRY(const StoredFile file, file_of(services, request, routed));
    Files& files = services.batches->files();
    Files::Guard guard = files.read(file.owner, file.id);
    auto opened = FileReader::open(files.path_of(file.id));
    if (guard == nullptr || !opened)
        return file_not_found(file.id);
    auto download = std::make_shared<Download>(Download{std::move(guard), std::move(*opened)});
    HttpReply reply = {.content_type = "application/octet-stream"};
    reply.stream = [download = std::move(download)](HttpWriter& writer) {
        send_blocks(download->reader, writer);
    };
    return reply;
}

ApiResult<HttpReply> remove_file(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    ETNA_TRY(const StoredFile file, file_of(services, request, routed));
    if (!services.batches->files().remove(file.owner, file.id))
        return file_not_found(file.id);
    return HttpReply{.body = dump_json({{"id", file.id}, {"object", "file"}, {"deleted", true}}) + "\n"};
}

} // namespace etna::server::batch
