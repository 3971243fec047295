#include "core/store/pull.hpp"

#include "core/base/file_reader.hpp"
#include "core/gguf/cursor.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::store {
namespace {

namespace fs = std::filesystem;

/// Folder of the links to a repository's files.
fs::path repository_folder(const HubModel& model, const fs::path& folder) {
    std::string name = model.repository;
    if (!model.revision.empty()) {
        std::string revision = model.revision;
        std::replace(revision.begin(), revision.end(), '/', '~'); // no revision has one
        name += "@" + revision;
    }
    return folder / "hf.co" / model.user / name;
}

fs::path url_link(const UrlModel& model, const fs::path& folder) {
    Sha256 sum; // of the complete address: two queries may give two files
    sum.add(std::as_bytes(std::span(model.url)));
    constexpr std::size_t digits = 16;
    return folder / "url" / sum.hex().substr(0, digits) / model.file_name;
}

fs::path blob_path(const fs::path& folder, const std::string& sha256) {
    return folder / "blobs" / ("sha256-" + sha256);
}

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

/// Compares what the server sends with what the listing says.
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

Result<PullPlan> plan_hub_pull(const HubModel& model, const PullOptions& options, Hub& remote_hub) {
    ETNA_TRY(const auto listing, remote_hub.list(model));
    ETNA_TRY(auto chosen, choose_files(model, listing));
    PullPlan plan;
    plan.note = std::move(chosen.note);
    plan.projectors = std::move(chosen.projectors);
    plan.drafts = std::move(chosen.drafts);
    HubModel named = model;
    if (named.quantisation.empty())
        named.quantisation = chosen.quantisation;
    plan.name = to_string(named);
    const HubFile& first = chosen.parts.front();
    const std::string first_url = remote_hub.file_url(model, model.revision, first.path);
    ETNA_TRY(const RemoteFile remote, remote_hub.inspect(first_url));
    ETNA_CHECK(check_remote(first, remote, first_url));
    const std::string& revision = is_commit(remote.revision) ? remote.revision : model.revision;
    for (const HubFile& part : chosen.parts) {
        const std::string sum = part.sha256.empty() && chosen.parts.size() == 1 ? remote.sha256 : part.sha256;
        if (sum.empty()) {
            return Error{ErrorKind::unsupported,
                         fmt::format("{}: the hub gives no sha256 of the file", printable_url(first_url)),
                         "download it with another program, and give its path"};
        }
        plan.files.push_back({.download = {.url = remote_hub.file_url(model, revision, part.path),
                                           .bytes = part.bytes,
                                           .sha256 = sum,
                                           .entity = {},
                                           .has_ranges = remote.has_ranges,
                                           .destination = blob_path(options.folder, sum)},
                              .link = repository_folder(model, options.folder) / part.path});
    }
    return plan;
}

Result<PullPlan> plan_url_pull(const UrlModel& model, const PullOptions& options, Hub& remote_hub) {
    ETNA_TRY(const RemoteFile remote, remote_hub.inspect(model.url));
    const fs::path link = url_link(model, options.folder);
    const std::string blob = "url-" + link.parent_path().filename().string();
    PullPlan plan;
    plan.name = model.url;
    plan.files.push_back(
        {.download = {.url = model.url,
                      .bytes = remote.bytes,
                      .sha256 = remote.sha256,
                      .entity = remote.entity,
                      .has_ranges = remote.has_ranges && !(remote.entity.empty() && remote.sha256.empty()),
                      .destination = remote.sha256.empty() ? options.folder / "blobs" / blob
                                                           : blob_path(options.folder, remote.sha256)},
         .link = link});
    return plan;
}

/// Makes `link` lead to `blob`, replacing an older link.
Status make_link(const fs::path& link, const fs::path& blob) {
    std::error_code failure;
    fs::create_directories(link.parent_path(), failure);
    const fs::path target = fs::relative(blob.parent_path(), link.parent_path(), failure) / blob.filename();
    const fs::path temporary = fs::path(link) += fmt::format(".{}.tmp", ::getpid());
    fs::remove(temporary, failure);
    if (!failure)
        fs::create_symlink(target, temporary, failure);
    if (!failure)
        fs::rename(temporary, link, failure);
    if (failure) {
        return Error{ErrorKind::io,
                     fmt::format("cannot make the link {}: {}", link.string(), failure.message()),
                     "make the folder writable, and run the command again"};
    }
    return {};
}

/// Gives a blob without a known sum its final name. Returns its path.
Result<fs::path> named_by_sum(const PullFile& file, const DownloadReport& report, const fs::path& folder) {
    fs::path blob = blob_path(folder, report.sha256);
    if (blob == file.download.destination)
        return blob;
    std::error_code failure;
    fs::rename(file.download.destination, blob, failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot name {}: {}", blob.string(), failure.message()), {}};
    return blob;
}

Status check_is_gguf(const fs::path& path, const std::string& url) {
    ETNA_TRY(const FileReader file, FileReader::open(path));
    std::array<char, 4> magic{};
    if (file.bytes() >= magic.size())
        ETNA_CHECK(file.read(0, std::as_writable_bytes(std::span(magic))));
    if (std::string_view(magic.data(), magic.size()) == "GGUF")
        return {};
    return Error{ErrorKind::corrupt, fmt::format("{}: the file is not GGUF", printable_url(url)),
                 "check the address: a page about a file is not the file"};
}

/// The folder's files as a listing; a link whose bytes are gone does not count.
std::vector<HubFile> linked_files(const fs::path& folder) {
    std::vector<HubFile> files;
    std::error_code failure;
    fs::recursive_directory_iterator entry(folder, failure);
    for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
        if (is_file(entry->path()))
            files.push_back({entry->path().lexically_relative(folder).string(), 0, {}});
    }
    return files;
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
    add_sizes(plan, options.folder);
    return plan;
}

Result<fs::path> pull(const PullPlan& plan, const PullOptions& options,
                      const std::function<void(const PullProgress&)>& on_progress) {
    std::vector<fs::path> blobs;
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
        ETNA_TRY(auto blob, named_by_sum(file, report, options.folder));
        blobs.push_back(std::move(blob));
    }
    for (std::size_t i = 0; i < plan.files.size(); ++i) // all parts, or none
        ETNA_CHECK(make_link(plan.files[i].link, blobs[i]));
    return plan.files.front().link;
}

std::string by_hand_hint(const ModelName& name, const fs::path& folder) {
    if (const auto* url = std::get_if<UrlModel>(&name)) {
        return fmt::format(
            "without a network, get {} on another machine, put it into {} and name it without .gguf",
            printable_url(url->url), folder.string());
    }
    const auto* model = std::get_if<HubModel>(&name);
    if (model == nullptr)
        return {};
    const std::string_view wanted = model->quantisation.empty() ? default_quantisation : model->quantisation;
    return fmt::format(
        "without a network, get the .gguf file with {} in its name from {}/{}/{}/tree/{} on another "
        "machine, and put it into {}",
        wanted, public_hub, model->user, model->repository,
        model->revision.empty() ? "main" : model->revision, repository_folder(*model, folder).string());
}

std::optional<fs::path> find_pulled(const ModelName& name, const fs::path& folder) {
    if (folder.empty())
        return std::nullopt;
    if (const auto* url = std::get_if<UrlModel>(&name)) {
        fs::path link = url_link(*url, folder);
        return is_file(link) ? std::optional(std::move(link)) : std::nullopt;
    }
    const auto* model = std::get_if<HubModel>(&name);
    if (model == nullptr)
        return std::nullopt;
    const fs::path links = repository_folder(*model, folder);
    const auto chosen = choose_files(*model, linked_files(links));
    return chosen ? std::optional(links / chosen->parts.front().path) : std::nullopt;
}

} // namespace etna::store
