#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/store/backoff.hpp"
#include "core/store/http_client.hpp"
#include "core/store/model_name.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

constexpr std::string_view public_hub = "https://huggingface.co";
constexpr std::string_view default_quantisation = "Q4_K_M";

/// A file of a repository.
struct HubFile {
    std::string path; ///< checked by check_relative_path()
    uint64_t bytes = 0;
    std::string sha256; ///< hexadecimal; empty if the hub gives none
    bool operator==(const HubFile&) const = default;
};

/// Parses one page of a repository's tree, and drops folders. Source: the Hugging Face hub's HTTP API,
/// /api/models/USER/REPO/tree/REVISION. Errors: corrupt (not such JSON; a path out of the repository; sizes
/// that differ).
Result<std::vector<HubFile>> parse_listing(std::string_view json);

/// Returns the quantisation in a file's name, in capitals: "Q4_K_M"; empty if there is none.
std::string quantisation_of(std::string_view path);

/// The files of a repository that make one model.
struct ModelFiles {
    std::vector<HubFile> parts; ///< in order; one if the model is not split
    std::string quantisation;   ///< in capitals; empty if the name has none
    std::string note;           ///< why it is not the default quantisation; empty: it is, or the user chose
    std::vector<std::string> projectors; ///< paths of image projectors in the repository
    std::vector<std::string> drafts;     ///< paths of draft models in the repository

    [[nodiscard]] uint64_t bytes() const;
};

/// Chooses the files of the quantisation that `model` names; without one, of Q4_K_M, else of the nearest in
/// bits per weight. Errors: not_found (no GGUF, or not that quantisation: the hint has those that exist),
/// invalid_argument (several files of that quantisation), corrupt (a part of a split model is missing).
Result<ModelFiles> choose_files(const HubModel& model, std::span<const HubFile> files);

/// Facts of a file that a server sends before it.
struct RemoteFile {
    uint64_t bytes = 0;
    std::string sha256;   ///< of the file, from the hub's headers; empty if there is none
    std::string entity;   ///< the ETag, as sent; empty if there is none
    std::string revision; ///< commit of the repository; empty if unknown
    bool has_ranges = false;
};

/// A hub, asked by one thread. Retries what may go away.
class Hub {
public:
    /// `url` is http or https, without a final slash. `without_network` is added to the hint of an error that
    /// no server answers. Borrows `client`.
    Hub(std::string url, HttpClient& client, RetryPolicy retries, CancelPoll is_stopped,
        std::string without_network = {})
        : url_(std::move(url)), client_(&client), retries_(retries), is_stopped_(std::move(is_stopped)),
          without_network_(std::move(without_network)) {}

    /// Returns the files of the repository, of all pages. Blocks. Errors: those of HttpClient and
    /// parse_listing(); not_found (no such repository or revision, or gated: the hint says what to do).
    Result<std::vector<HubFile>> list(const HubModel& model);

    /// Asks for the first byte of a file. Blocks. Errors: those of HttpClient; not_found; unsupported (the
    /// server sends no length).
    Result<RemoteFile> inspect(const std::string& url);

    /// Fills `into` with the bytes of a file from `offset` on. Blocks. Errors: those of HttpClient;
    /// unsupported (the server sends no ranges); io (fewer bytes than that).
    Status read(const std::string& url, uint64_t offset, MutableByteView into);

    /// Returns the address of a file. `revision` is a branch, tag or commit.
    [[nodiscard]] std::string file_url(const HubModel& model, std::string_view revision,
                                       std::string_view path) const;

private:
    Result<HttpResponse> get(const HttpRequest& request, const std::function<void()>& before_try);

    std::string url_;
    HttpClient* client_;
    RetryPolicy retries_;
    CancelPoll is_stopped_;
    std::string without_network_;
};

/// Returns an error for a web page in the place of a listing or a file, as captive portals send it.
Error web_page_error(std::string message);

/// Returns whether the response's headers say that it is a web page.
bool is_web_page(const HttpResponse& head);

/// Returns an error for a response of status 400 or more to a request for `url`: the cause, and a remedy as
/// the hint.
Error status_error(const HttpResponse& response, const std::string& url);

} // namespace etna::store
