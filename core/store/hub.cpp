#include "core/store/hub.hpp"

#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/foreign.hpp"
#include "core/gguf/split.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::store {
namespace {

constexpr std::size_t page_bytes_max = 8 * mebibyte;
constexpr std::size_t pages_max = 100;
constexpr std::size_t files_max = 20'000;
constexpr int listing_depth_max = 8;
constexpr std::chrono::seconds page_time_max{120};
constexpr std::chrono::seconds inspection_time_max{60};
constexpr std::size_t reason_bytes_max = 300; ///< of a server's own words in an error
constexpr uint64_t hub_file_bytes_max = 16ULL * 1024 * gibibyte;

struct QuantisationBits {
    std::string_view name;
    double bits; ///< per weight, of a typical model
};

/// Longer names before those that they contain at a different end. Source: llama.cpp's tools/quantize.
constexpr std::array quantisations{
    QuantisationBits{"IQ1_S", 1.8},   QuantisationBits{"IQ1_M", 2.0},   QuantisationBits{"IQ2_XXS", 2.3},
    QuantisationBits{"IQ2_XS", 2.4},  QuantisationBits{"IQ2_S", 2.5},   QuantisationBits{"IQ2_M", 2.7},
    QuantisationBits{"Q2_K_S", 2.8},  QuantisationBits{"Q2_K_L", 3.1},  QuantisationBits{"Q2_K", 3.0},
    QuantisationBits{"IQ3_XXS", 3.1}, QuantisationBits{"IQ3_XS", 3.3},  QuantisationBits{"IQ3_S", 3.4},
    QuantisationBits{"IQ3_M", 3.7},   QuantisationBits{"Q3_K_S", 3.5},  QuantisationBits{"Q3_K_M", 3.9},
    QuantisationBits{"Q3_K_L", 4.2},  QuantisationBits{"Q3_K_XL", 4.3}, QuantisationBits{"Q3_K", 3.9},
    QuantisationBits{"MXFP4", 4.3},   QuantisationBits{"IQ4_XS", 4.3},  QuantisationBits{"IQ4_NL", 4.5},
    QuantisationBits{"Q4_0", 4.6},    QuantisationBits{"Q4_K_S", 4.6},  QuantisationBits{"Q4_K_M", 4.85},
    QuantisationBits{"Q4_K_L", 5.0},  QuantisationBits{"Q4_K", 4.85},   QuantisationBits{"Q4_1", 5.0},
    QuantisationBits{"Q4", 4.8},      QuantisationBits{"Q5_0", 5.5},    QuantisationBits{"Q5_K_S", 5.5},
    QuantisationBits{"Q5_K_M", 5.7},  QuantisationBits{"Q5_K_L", 5.8},  QuantisationBits{"Q5_K", 5.7},
    QuantisationBits{"Q5_1", 6.0},    QuantisationBits{"Q6_K_L", 6.7},  QuantisationBits{"Q6_K", 6.6},
    QuantisationBits{"Q2_K_XL", 3.2}, QuantisationBits{"Q4_K_XL", 4.9}, QuantisationBits{"Q5_K_XL", 5.8},
    QuantisationBits{"Q6_K_XL", 7.0}, QuantisationBits{"Q8_K_XL", 10},  QuantisationBits{"Q8_0", 8.5},
    QuantisationBits{"F16", 16},      QuantisationBits{"FP16", 16},     QuantisationBits{"BF16", 16.01},
    QuantisationBits{"F32", 32},      QuantisationBits{"FP32", 32},
};

std::string upper_case(std::string_view text) {
    std::string upper(text);
    for (char& c : upper)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return upper;
}

constexpr std::string_view dynamic_prefix = "UD-"; ///< Unsloth's quantisations of mixed types

double bits_of(std::string_view quantisation) {
    if (quantisation.starts_with(dynamic_prefix))
        quantisation.remove_prefix(dynamic_prefix.size());
    const auto* const found = std::find_if(quantisations.begin(), quantisations.end(),
                                           [&](const auto& row) { return row.name == quantisation; });
    return found == quantisations.end() ? 64 : found->bits;
}

bool is_boundary(std::string_view text, std::size_t at) {
    return at >= text.size() || std::string_view("-._/").find(text[at]) != std::string_view::npos;
}

std::string_view name_in(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool contains_word(std::string_view path, std::string_view word) {
    return upper_case(name_in(path)).find(word) != std::string::npos;
}

Error corrupt_listing(std::string_view problem) {
    return {ErrorKind::corrupt, fmt::format("the listing of the repository: {}", problem),
            "check that --hub is the address of a Hugging Face hub"};
}

/// Reads a size; empty if it is not one.
std::optional<uint64_t> read_size(const Json& object) {
    const auto found = object.find("size");
    if (found == object.end() || !found->is_number_unsigned() || found->get<uint64_t>() > hub_file_bytes_max)
        return std::nullopt;
    return found->get<uint64_t>();
}

const std::string* read_string(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

Result<HubFile> read_entry(const Json& entry, const std::string& path) {
    if (auto checked = check_relative_path(path); !checked)
        return corrupt_listing(checked.error().message);
    const auto bytes = read_size(entry);
    if (!bytes)
        return corrupt_listing(fmt::format("{} has no valid size", gguf::backquoted(path)));
    HubFile file{path, *bytes, {}};
    const auto lfs = entry.find("lfs");
    if (lfs == entry.end() || !lfs->is_object())
        return file;
    if (read_size(*lfs) != bytes)
        return corrupt_listing(fmt::format("{} has two different sizes", gguf::backquoted(path)));
    const std::string* sha256 = read_string(*lfs, "oid");
    if (sha256 == nullptr || !is_sha256_hex(*sha256))
        return corrupt_listing(fmt::format("{} has no valid sha256", gguf::backquoted(path)));
    file.sha256 = *sha256;
    return file;
}

/// Position of a file in a split model.
struct SplitPosition {
    std::string base; ///< path without the position
    uint32_t part = 1;
    uint32_t parts = 1;
};

/// Parses "BASE-00001-of-00003.gguf"; parts is 1 for other paths.
SplitPosition split_position(const std::string& path) {
    constexpr std::string_view pattern = "-ddddd-of-ddddd";
    SplitPosition position{path, 1, 1};
    const std::size_t dot = path.rfind('.');
    if (!gguf::has_gguf_extension(path) || dot <= pattern.size())
        return position;
    const std::string_view tail = std::string_view(path).substr(dot - pattern.size(), pattern.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool is_digit = tail[i] >= '0' && tail[i] <= '9';
        if (pattern[i] == 'd' ? !is_digit : tail[i] != pattern[i])
            return position;
    }
    std::from_chars(tail.data() + 1, tail.data() + 6, position.part);
    std::from_chars(tail.data() + 10, tail.data() + 15, position.parts);
    position.base = path.substr(0, dot - pattern.size()) + path.substr(dot);
    return position;
}

struct Candidate {
    std::string quantisation;
    uint32_t parts = 1;
    std::vector<std::pair<uint32_t, HubFile>> files; ///< by part
};

/// Whether the file is a draft model beside the model: a head for several tokens, or a block diffusion draft.
bool is_draft(std::string_view path) {
    return contains_word(path, "DRAFT") || contains_word(path, "DFLASH") ||
           upper_case(name_in(path)).starts_with("MTP-");
}

/// Groups the models' files by their path without a position.
std::map<std::string, Candidate> candidates_in(std::span<const HubFile> files, ModelFiles& chosen) {
    std::map<std::string, Candidate> candidates;
    for (const HubFile& file : files) {
        if (!gguf::has_gguf_extension(file.path) || contains_word(file.path, "IMATRIX"))
            continue;
        if (contains_word(file.path, "MMPROJ")) {
            chosen.projectors.push_back(file.path);
            continue;
        }
        const SplitPosition position = split_position(file.path);
        if (is_draft(file.path)) {
            chosen.drafts.push_back(file.path);
            continue;
        }
        Candidate& candidate = candidates[position.base];
        candidate.quantisation = quantisation_of(position.base);
        candidate.parts = position.parts;
        candidate.files.emplace_back(position.part, file);
    }
    return candidates;
}

std::string names_of(const std::map<std::string, Candidate>& candidates) {
    std::vector<std::string> names;
    for (const auto& [path, candidate] : candidates) {
        std::string name = candidate.quantisation.empty() ? path : candidate.quantisation;
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(std::move(name));
    }
    constexpr std::size_t listed_max = 40;
    names.resize(std::min(names.size(), listed_max));
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Distance of a quantisation from the default one; larger files win ties.
double distance(const std::string& quantisation) {
    const double difference = bits_of(quantisation) - bits_of(default_quantisation);
    return std::abs(difference) - (difference > 0 ? 0.001 : 0);
}

using Candidates = std::map<std::string, Candidate>;

std::string nearest_quantisation(const Candidates& candidates) {
    return std::min_element(candidates.begin(), candidates.end(),
                            [](const auto& a, const auto& b) {
                                return distance(a.second.quantisation) < distance(b.second.quantisation);
                            })
        ->second.quantisation;
}

/// Finds the only candidate that the user's quantisation, or path, means.
Result<const Candidate*> find_candidate(const HubModel& model, const Candidates& candidates,
                                        const std::string& wanted) {
    std::vector<std::string> paths;
    const Candidate* found = nullptr;
    for (const auto& [path, candidate] : candidates) {
        const bool is_named = path == wanted || split_position(wanted).base == path;
        if (!is_named && candidate.quantisation != upper_case(wanted))
            continue;
        paths.push_back(path);
        found = &candidate;
    }
    if (found == nullptr) {
        return Error{ErrorKind::not_found,
                     fmt::format("{} has no model {}",
                                 to_string(HubModel{model.user, model.repository, "", ""}),
                                 gguf::backquoted(wanted)),
                     fmt::format("choose one of {}", names_of(candidates))};
    }
    if (paths.size() > 1) {
        paths.resize(std::min<std::size_t>(paths.size(), 20));
        return invalid_argument(
            fmt::format("{} has several models {}", to_string(model), wanted),
            fmt::format("name the file instead, after the colon: one of {}", fmt::join(paths, ", ")));
    }
    return found;
}

Status take_parts(const Candidate& candidate, ModelFiles& chosen) {
    const std::map<uint32_t, HubFile> parts(candidate.files.begin(), candidate.files.end());
    for (uint32_t part = 1; part <= std::max(candidate.parts, 1U); ++part) {
        const auto found = parts.find(part);
        if (found == parts.end() || parts.size() != candidate.parts) {
            return Error{ErrorKind::corrupt,
                         fmt::format("{}: {} of {} parts are in the repository",
                                     gguf::backquoted(candidate.files.front().second.path), parts.size(),
                                     candidate.parts),
                         "choose another quantisation, or ask the repository's owner"};
        }
        chosen.parts.push_back(found->second);
    }
    return {};
}

/// Returns the address of the next page in a Link header (RFC 8288); empty if there is none.
std::string next_page(std::string_view link) {
    const std::size_t begin = link.find('<');
    const std::size_t end = link.find('>', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos ||
        link.substr(end).find("rel=\"next\"") == std::string_view::npos)
        return {};
    return std::string(link.substr(begin + 1, end - begin - 1));
}

std::string_view unquoted(std::string_view entity) {
    if (entity.starts_with("W/"))
        entity.remove_prefix(2);
    if (entity.size() >= 2 && entity.front() == '"' && entity.back() == '"')
        entity = entity.substr(1, entity.size() - 2);
    return entity;
}

std::optional<uint64_t> parse_count(std::string_view text) {
    uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value > hub_file_bytes_max)
        return std::nullopt;
    return value;
}

/// Returns the size of the file: the total of Content-Range, or the length of a complete response.
std::optional<uint64_t> total_bytes(const HttpResponse& response) {
    if (response.status != 206)
        return parse_count(response.header("content-length"));
    const std::string_view range = response.header("content-range");
    const std::size_t slash = range.find('/');
    return slash == std::string_view::npos ? std::nullopt : parse_count(range.substr(slash + 1));
}

} // namespace

Result<std::vector<HubFile>> parse_listing(std::string_view json) {
    const Json listing = parse_json(json, listing_depth_max);
    if (!listing.is_array())
        return gguf::is_web_page(json) || json.find("<html") != std::string_view::npos
                   ? web_page_error("the listing of the repository: a web page, not JSON")
                   : corrupt_listing("not a JSON array");
    std::vector<HubFile> files;
    for (const Json& entry : listing) {
        if (!entry.is_object())
            return corrupt_listing("an entry is not an object");
        const std::string* type = read_string(entry, "type");
        const std::string* path = read_string(entry, "path");
        if (type == nullptr || path == nullptr)
            return corrupt_listing("an entry has no type or no path");
        if (*type != "file")
            continue;
        ETNA_TRY(auto file, read_entry(entry, *path));
        files.push_back(std::move(file));
    }
    return files;
}

std::string quantisation_of(std::string_view path) {
    const std::string name = upper_case(name_in(path));
    std::string_view best;
    for (const QuantisationBits& row : quantisations) {
        const std::size_t at = name.rfind(row.name);
        if (at == std::string::npos || (at > 0 && !is_boundary(name, at - 1)) ||
            !is_boundary(name, at + row.name.size()))
            continue;
        if (row.name.size() > best.size())
            best = row.name;
    }
    const std::string dynamic = fmt::format("{}{}", dynamic_prefix, best);
    return !best.empty() && name.find(dynamic) != std::string::npos ? dynamic : std::string(best);
}

uint64_t ModelFiles::bytes() const {
    uint64_t sum = 0;
    for (const HubFile& part : parts)
        sum += part.bytes;
    return sum;
}

Result<ModelFiles> choose_files(const HubModel& model, std::span<const HubFile> files) {
    ModelFiles chosen;
    const Candidates candidates = candidates_in(files, chosen);
    if (candidates.empty()) {
        return Error{ErrorKind::not_found, fmt::format("{} has no GGUF file of a model", to_string(model)),
                     fmt::format("look for one of the same model: {}/models?library=gguf&search={}",
                                 public_hub, model.repository)};
    }
    std::string wanted = model.quantisation;
    if (wanted.empty()) {
        wanted = nearest_quantisation(candidates);
        if (wanted.empty() && candidates.size() == 1)
            wanted = candidates.begin()->first;
        if (wanted != default_quantisation) {
            chosen.note = fmt::format("{} has no {}; taking {} (there are {})", to_string(model),
                                      default_quantisation, wanted, names_of(candidates));
        }
    }
    ETNA_TRY(const Candidate* candidate, find_candidate(model, candidates, wanted));
    ETNA_CHECK(take_parts(*candidate, chosen));
    chosen.quantisation = candidate->quantisation;
    return chosen;
}

Error web_page_error(std::string message) {
    return {
        ErrorKind::corrupt, std::move(message),
        "the sign-in page of a network, or a proxy, may answer in place of the server: open any address in "
        "a browser, then run the command again; otherwise check the address and --hub"};
}

bool is_web_page(const HttpResponse& head) {
    const std::string_view type = head.header("content-type");
    return type.starts_with("text/html") || type.starts_with("application/xhtml");
}

namespace {

/// Returns a server's words as one short line of text.
std::string printable_reason(std::string_view reason) {
    std::string line = repaired_utf8(reason.substr(0, reason_bytes_max));
    std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    return reason.size() > reason_bytes_max ? line + " ..." : line;
}

} // namespace

Error status_error(const HttpResponse& response, const std::string& url) {
    const std::string_view code = response.header("x-error-code");
    std::string message = fmt::format("{}: the server answers {}", printable_url(url), response.status);
    if (const std::string_view reason = response.header("x-error-message"); !reason.empty())
        message += fmt::format(": {}", printable_reason(reason));
    constexpr int network_authentication_required = 511;
    if (response.status == network_authentication_required ||
        (response.status == 403 && code.empty() && is_web_page(response)))
        return web_page_error(message + " with a web page");
    if (code == "GatedRepo" || response.status == 403) {
        return {ErrorKind::not_found, message,
                "the model is gated: accept its terms on its page at the hub, and set HF_TOKEN to a token of "
                "your account that may read it"};
    }
    if (response.status == 401) {
        return {ErrorKind::not_found, message,
                "check the name; if the model is private or gated, set HF_TOKEN to a token that may read it"};
    }
    if (response.status == 404 || response.status == 410)
        return {ErrorKind::not_found, message, "check the name of the repository, its revision and the file"};
    if (response.status == 429)
        return {ErrorKind::busy, message, "wait, then run the command again: it resumes"};
    return {ErrorKind::io, message, "wait, then run the command again: it resumes"};
}

Result<HttpResponse> Hub::get(const HttpRequest& request, const std::function<void()>& before_try) {
    Backoff backoff(retries_, is_stopped_);
    for (;;) {
        before_try();
        const auto response = client_->get(request);
        if (response && response->status < 400)
            return *response;
        if (response) {
            ETNA_CHECK(backoff.wait_after(*response, status_error(*response, request.url)));
            continue;
        }
        Error failure = response.error();
        if (failure.kind == ErrorKind::unreachable && !without_network_.empty())
            failure.hint += "; " + without_network_;
        ETNA_CHECK(backoff.wait_after(failure));
    }
}

std::string Hub::file_url(const HubModel& model, std::string_view revision, std::string_view path) const {
    return fmt::format("{}/{}/{}/resolve/{}/{}", url_, model.user, model.repository,
                       revision.empty() ? "main" : encode_url_path(revision), encode_url_path(path));
}

Result<std::vector<HubFile>> Hub::list(const HubModel& model) {
    std::string revision = model.revision.empty() ? "main" : model.revision;
    for (std::size_t at = 0; (at = revision.find('/', at)) != std::string::npos;)
        revision.replace(at, 1, "%2F");
    std::string url = fmt::format("{}/api/models/{}/{}/tree/{}?recursive=true", url_, model.user,
                                  model.repository, revision);
    std::vector<HubFile> files;
    for (std::size_t page = 0; !url.empty(); ++page) {
        if (page == pages_max || files.size() > files_max)
            return corrupt_listing(fmt::format("more than {} pages or {} files", pages_max, files_max));
        std::string text;
        const auto take = [&](const HttpResponse& /*head*/, ByteView piece) {
            text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
            return text.size() > page_bytes_max ? BodyDemand::enough : BodyDemand::more;
        };
        ETNA_TRY(const auto response,
                 get({.url = url, .time_limit = page_time_max, .on_body = take}, [&] { text.clear(); }));
        if (text.size() > page_bytes_max)
            return corrupt_listing(fmt::format("a page has more than {} bytes", page_bytes_max));
        ETNA_TRY(auto found, parse_listing(text));
        files.insert(files.end(), std::make_move_iterator(found.begin()),
                     std::make_move_iterator(found.end()));
        const std::string next = next_page(response.header("link"));
        if (!next.empty() && origin_of(next) != origin_of(url_))
            return corrupt_listing("the next page is on another host");
        url = next;
    }
    return files;
}

Result<RemoteFile> Hub::inspect(const std::string& url) {
    constexpr ByteRange first_byte = {0, 1};
    uint64_t received = 0;
    bool is_page = false;
    const auto skip = [&](const HttpResponse& head, ByteView piece) {
        received += piece.size();
        is_page = is_web_page(head) ||
                  gguf::is_web_page({reinterpret_cast<const char*>(piece.data()), piece.size()});
        return head.status == 206 && received <= first_byte.end ? BodyDemand::more : BodyDemand::enough;
    };
    ETNA_TRY(const auto response,
             get({.url = url, .range = first_byte, .time_limit = inspection_time_max, .on_body = skip},
                 [&] { received = 0; }));
    if (is_page)
        return web_page_error(
            fmt::format("{}: the server sends a web page instead of the file", printable_url(url)));
    RemoteFile file;
    const auto bytes = total_bytes(response);
    if (!bytes) {
        return Error{ErrorKind::unsupported,
                     fmt::format("{}: the server does not say how long the file is", printable_url(url)),
                     "download it with another program, and give its path"};
    }
    file.bytes = *bytes;
    file.has_ranges = response.status == 206;
    file.entity = response.header("etag");
    file.revision = response.header("x-repo-commit");
    const std::string_view linked = unquoted(response.header("x-linked-etag"));
    if (is_sha256_hex(linked))
        file.sha256 = linked;
    return file;
}

Status Hub::read(const std::string& url, uint64_t offset, MutableByteView into) {
    std::size_t received = 0;
    const auto take = [&](const HttpResponse& head, ByteView piece) {
        const std::size_t count = std::min(piece.size(), into.size() - received);
        std::copy_n(piece.begin(), count, into.begin() + static_cast<std::ptrdiff_t>(received));
        received += count;
        return head.status == 206 && received < into.size() ? BodyDemand::more : BodyDemand::enough;
    };
    ETNA_TRY(const auto response, get({.url = url,
                                       .range = ByteRange{offset, offset + into.size()},
                                       .time_limit = page_time_max,
                                       .on_body = take},
                                      [&] { received = 0; }));
    if (response.status != 206) {
        return unsupported(fmt::format("{}: the server sends no parts of files", printable_url(url)),
                           "pull the model");
    }
    if (received == into.size())
        return {};
    return Error{ErrorKind::io,
                 fmt::format("{}: the server sent {} bytes of {}", printable_url(url), received, into.size()),
                 "run the command again"};
}

} // namespace etna::store
