#include "core/store/pull.hpp"

#include "core/base/file_reader.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/foreign.hpp"
#include "core/store/model_store.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::store {
namespace {

namespace fs = std::filesystem;

/// Bytes of a file that have space on the disk.
uint64_t allocated_bytes(const fs::path& path) {
    constexpr uint64_t block_bytes = 512; // of st_blocks
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * block_bytes : 0;
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

/// Free bytes of the disk of a folder that may not exist yet.
uint64_t free_bytes_of(fs::path folder) {
    std::error_code failure;
    while (!folder.empty() && folder != folder.root_path() && !fs::exists(folder, failure))
        folder = folder.parent_path();
    const auto space = fs::space(folder, failure);
    return failure ? 0 : space.available;
}

void add_sizes(PullPlan& plan, const fs::path& folder) {
    for (const PullFile& file : plan.files) {
        const uint64_t bytes = file.download.bytes;
        const fs::path& blob = file.download.destination;
        plan.bytes += bytes;
        if (is_file(blob))
            continue;
        plan.missing_bytes += bytes;
        plan.needed_bytes += bytes - std::min(bytes, allocated_bytes(fs::path(blob) += ".part"));
    }
    plan.free_bytes = free_bytes_of(folder);
}

bool is_commit(std::string_view revision) {
    return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Compares the server's response with the listing.
Status check_remote(const HubFile& listed, const RemoteFile& remote, const std::string& url) {
    if (remote.bytes == listed.bytes &&
        (listed.sha256.empty() || remote.sha256.empty() || remote.sha256 == listed.sha256))
        return {};
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: the listing says {} bytes with sha256 {}, the server {} bytes with {}",
                             printable_url(url), listed.bytes, listed.sha256.substr(0, 8), remote.bytes,
                             remote.sha256.substr(0, 8)),
                 "the repository may have changed just now: run the command again; otherwise check --hub"};
}

/// Returns the model with the chosen quantisation, or with the file's path if the quantisation is ambiguous.
HubModel named_model(const HubModel& model, const ModelFiles& chosen, std::span<const HubFile> listing) {
    HubModel named = model;
    named.quantisation = chosen.quantisation;
    const auto again = choose_files(named, listing);
    if (chosen.quantisation.empty() || !again || again->parts != chosen.parts)
        named.quantisation = chosen.parts.front().path;
    return named;
}

Result<PullPlan> plan_hub_pull(const HubModel& model, const PullOptions& options, Hub& remote_hub) {
    ETNA_TRY(const auto listing, remote_hub.list(model));
    ETNA_TRY(auto chosen, choose_files(model, listing));
    PullPlan plan;
    plan.note = std::move(chosen.note);
    plan.projectors = std::move(chosen.projectors);
    plan.drafts = std::move(chosen.drafts);
    HubModel named = named_model(model, chosen, listing);
    plan.name = to_string(named);
    const HubFile& first = chosen.parts.front();
    const std::string first_url = remote_hub.file_url(model, model.revision, first.path);
    ETNA_TRY(const RemoteFile remote, remote_hub.inspect(first_url));
    ETNA_CHECK(check_remote(first, remote, first_url));
    if (is_commit(remote.revision))
        named.revision = remote.revision;
    plan.source = to_string(named);
    const ModelStore models(options.folder);
    for (const HubFile& part : chosen.parts) {
        const std::string sum = part.sha256.empty() && chosen.parts.size() == 1 ? remote.sha256 : part.sha256;
        if (sum.empty()) {
            return Error{ErrorKind::unsupported,
                         fmt::format("{}: the hub gives no sha256 of the file", printable_url(first_url)),
                         "download it with another program, and give its path"};
        }
        plan.files.push_back({.download = {.url = remote_hub.file_url(model, named.revision, part.path),
                                           .bytes = part.bytes,
                                           .sha256 = sum,
                                           .entity = {},
                                           .has_ranges = remote.has_ranges,
                                           .destination = models.blob_path(sum)},
                              .path = part.path});
    }
    return plan;
}

/// Checks before the download that its manifest can be written. Errors: those of ModelStore::check().
Status check_manifest(const PullPlan& plan, const fs::path& folder) {
    Manifest manifest = {.name = plan.name, .source = plan.source, .files = {}};
    for (const PullFile& file : plan.files) {
        const std::string& sum = file.download.sha256;
        manifest.files.push_back({.sha256 = sum.empty() ? Sha256().hex() : sum,
                                  .bytes = file.download.bytes,
                                  .file_name = file.path});
    }
    return ModelStore(folder).check(manifest);
}

/// The name of a file whose sum is not known before it is complete.
std::string unnamed_blob(const UrlModel& model) {
    constexpr std::size_t digits = 16;
    Sha256 sum; // of the complete address: two queries may give two files
    sum.add(std::as_bytes(std::span(model.url)));
    return "url-" + sum.hex().substr(0, digits);
}

Result<PullPlan> plan_url_pull(const UrlModel& model, const PullOptions& options, Hub& remote_hub) {
    ETNA_TRY(const RemoteFile remote, remote_hub.inspect(model.url));
    PullPlan plan;
    plan.name = stored_name(model);
    plan.source = plan.name;
    plan.files.push_back(
        {.download = {.url = model.url,
                      .bytes = remote.bytes,
                      .sha256 = remote.sha256,
                      .entity = remote.entity,
                      .has_ranges = remote.has_ranges && !(remote.entity.empty() && remote.sha256.empty()),
                      .destination = remote.sha256.empty()
                                         ? options.folder / "blobs" / unnamed_blob(model)
                                         : ModelStore(options.folder).blob_path(remote.sha256)},
         .path = model.file_name});
    return plan;
}

/// Gives a blob without a known sum its final name.
Status name_by_sum(const fs::path& blob, const fs::path& name) {
    std::error_code failure;
    if (blob != name)
        fs::rename(blob, name, failure);
    return failure ? Status(Error{ErrorKind::io,
                                  fmt::format("cannot name {}: {}", name.string(), failure.message()),
                                  "make the folder writable, and run the command again"})
                   : Status();
}

Status check_is_gguf(const fs::path& path, const std::string& url) {
    ETNA_TRY(const FileReader file, FileReader::open(path));
    constexpr uint64_t opening_bytes = 64;
    std::string opening(std::min(file.bytes(), opening_bytes), '\0');
    ETNA_CHECK(file.read(0, std::as_writable_bytes(std::span(opening))));
    if (opening.starts_with("GGUF"))
        return {};
    if (gguf::is_web_page(opening))
        return web_page_error(fmt::format("{}: the file is not GGUF, but a web page", printable_url(url)));
    return Error{ErrorKind::corrupt, fmt::format("{}: the file is not GGUF", printable_url(url)),
                 "check the address: a page about a file is not the file"};
}

} // namespace

Result<PullPlan> plan_pull(const ModelName& name, const PullOptions& options) {
    HttpClient client(options.download.http, options.download.is_stopped);
    Hub remote_hub(options.hub, client, options.download.retries, options.download.is_stopped,
                   by_hand_hint(name, options.folder));
    if (const auto* local = std::get_if<LocalModel>(&name)) {
        return invalid_argument(
            fmt::format("{} is not the name of a remote model", gguf::backquoted(local->name)),
            "write hf.co/USER/REPO[:QUANT], the address of a .gguf file, or a known name");
    }
    const auto* model = std::get_if<HubModel>(&name);
    ETNA_TRY(auto plan, model != nullptr ? plan_hub_pull(*model, options, remote_hub)
                                         : plan_url_pull(std::get<UrlModel>(name), options, remote_hub));
    ETNA_CHECK(check_manifest(plan, options.folder));
    add_sizes(plan, options.folder);
    return plan;
}

Result<Manifest> pull(const PullPlan& plan, const PullOptions& options,
                      const std::function<void(const PullProgress&)>& on_progress) {
    const ModelStore models(options.folder);
    Manifest manifest = {.name = plan.name, .source = plan.source, .files = {}};
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
        DownloadOptions download_options = options.download;
        download_options.on_progress = [&](const DownloadProgress& progress) {
            if (on_progress)
                on_progress({i, progress});
        };
        const PullFile& file = plan.files[i];
        ETNA_TRY(const auto report, download(file.download, download_options));
        if (const auto is_gguf = check_is_gguf(file.download.destination, file.download.url); !is_gguf) {
            std::error_code ignored;
            fs::remove(file.download.destination, ignored);
            return is_gguf.error();
        }
        ETNA_CHECK(name_by_sum(file.download.destination, models.blob_path(report.sha256)));
        manifest.files.push_back(
            {.sha256 = report.sha256, .bytes = file.download.bytes, .file_name = file.path});
    }
    ETNA_CHECK(models.put(manifest, Existing::replace));
    return manifest;
}

std::string by_hand_hint(const ModelName& name, const fs::path& folder) {
    const std::string place = fmt::format(
        "on another machine, put it into {}, where its name is the file's without .gguf", folder.string());
    if (const auto* url = std::get_if<UrlModel>(&name))
        return fmt::format("without a network, get {} {}", printable_url(url->url), place);
    const auto* model = std::get_if<HubModel>(&name);
    if (model == nullptr)
        return {};
    const std::string_view wanted = model->quantisation.empty() ? default_quantisation : model->quantisation;
    return fmt::format("without a network, get the .gguf file with {} in its name from {}/{}/{}/tree/{} {}",
                       wanted, public_hub, model->user, model->repository,
                       model->revision.empty() ? "main" : model->revision, place);
}

} // namespace etna::store
