#include "server/batch/merge.hpp"

#include "server/batch/durable_file.hpp"
#include "server/batch/line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

constexpr std::string_view note_prefix = "input-";
constexpr std::string_view note_suffix = ".json";
constexpr std::size_t note_bytes_max = 64 * 1024;
constexpr std::size_t named_lines_max = 20;

/// A shard's note of its input.
struct InputNote {
    std::string file;
    uint64_t bytes = 0;
    std::string sha256;
};

std::filesystem::path note_path(const std::filesystem::path& folder, const Shard& shard) {
    return folder / fmt::format("{}{}{}", note_prefix, shard.name(), note_suffix);
}

/// Empty if the file is missing or damaged.
std::optional<InputNote> read_note(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string text(note_bytes_max, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    const Json json = parse_json(text);
    if (!json.is_object())
        return std::nullopt;
    const Json file = json.value("input", Json());
    const Json bytes = json.value("bytes", Json());
    const Json sha256 = json.value("sha256", Json());
    if (!file.is_string() || !bytes.is_number_unsigned() || !sha256.is_string())
        return std::nullopt;
    return InputNote{.file = file, .bytes = bytes, .sha256 = sha256};
}

Error changed_input(const std::filesystem::path& input, const InputNote& note, const InputSummary& summary) {
    return invalid_argument(
        fmt::format("{} has changed since the batch began: {} bytes with SHA-256 {}, before {} with {}",
                    input.string(), summary.bytes, summary.sha256, note.bytes, note.sha256),
        "restore the file, or choose another output folder");
}

/// Returns the shards with a note in the folder.
Result<std::vector<Shard>> shards_in(const std::filesystem::path& folder) {
    std::vector<Shard> shards;
    std::error_code failure;
    std::filesystem::directory_iterator entries(folder, failure);
    for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure)) {
        const std::string name = entries->path().filename().string();
        if (!name.starts_with(note_prefix) || !name.ends_with(note_suffix) ||
            name.size() < note_prefix.size() + note_suffix.size())
            continue;
        const auto shard = parse_shard_name(std::string_view(name).substr(
            note_prefix.size(), name.size() - note_prefix.size() - note_suffix.size()));
        if (shard)
            shards.push_back(*shard);
    }
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot read {}: {}", folder.string(), failure.message())};
    return shards;
}

/// File, offset and length of a record.
struct RecordSpan {
    uint32_t file = 0;
    uint64_t offset = 0;
    std::size_t bytes = 0;
};

/// The records of all shards.
struct Records {
    std::vector<FileReader> files;
    std::unordered_map<std::string, RecordSpan> results; ///< by custom_id
    std::unordered_map<uint64_t, RecordSpan> errors;     ///< by line
};

/// Adds the records of a file, if it exists. A torn record at its end does not count.
Status index_file(const std::filesystem::path& path, Output output, Records& records) {
    auto opened = FileReader::open(path);
    if (!opened)
        return opened.error().kind == ErrorKind::not_found ? Status() : Status(opened.error());
    const auto file = static_cast<uint32_t>(records.files.size());
    const uint64_t bytes = opened->bytes();
    records.files.push_back(std::move(*opened));
    constexpr std::size_t block_bytes = 1024 * 1024;
    std::string buffer;
    uint64_t buffer_at = 0; // offset of the buffer in the file
    for (uint64_t read = 0; read < bytes;) {
        const std::size_t known = buffer.size();
        buffer.resize(known + static_cast<std::size_t>(std::min<uint64_t>(block_bytes, bytes - read)));
        const std::span<char> next(buffer.data() + known, buffer.size() - known);
        ETNA_CHECK(records.files.back().read(read, std::as_writable_bytes(next)));
        read += next.size();
        std::size_t used = 0;
        for (std::size_t end = buffer.find('\n', known); end != std::string::npos;
             end = buffer.find('\n', used)) {
            const RecordSpan span = {.file = file, .offset = buffer_at + used, .bytes = end + 1 - used};
            const auto key = read_record(std::string_view(buffer).substr(used, end - used));
            if (key && output == Output::results && key->custom_id)
                records.results.emplace(*key->custom_id, span);
            if (key && output == Output::errors && key->line)
                records.errors.emplace(*key->line, span);
            used = end + 1;
        }
        buffer.erase(0, used);
        buffer_at += used;
    }
    return {};
}

/// A file that is renamed to its final name when it is complete.
class JoinedFile {
public:
    explicit JoinedFile(std::filesystem::path path)
        : path_(std::move(path)), partial_(path_.string() + ".partial"),
          stream_(partial_, std::ios::binary | std::ios::trunc) {}

    void append(const Records& records, const RecordSpan& span) {
        std::string text(span.bytes, '\0');
        const auto bytes = std::as_writable_bytes(std::span(text));
        is_good_ = is_good_ && records.files[span.file].read(span.offset, bytes).has_value();
        stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
    }

    Status finish() {
        stream_.close();
        if (is_good_ && stream_)
            return rename_durably(partial_, path_);
        return Error{ErrorKind::io, fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno))};
    }

private:
    std::filesystem::path path_, partial_;
    std::ofstream stream_;
    bool is_good_ = true;
};

/// Calls `take` for each line of the input with its record, or with null if it has none.
Status walk_records(const std::filesystem::path& input, const Records& records,
                    const std::function<void(uint64_t line, Output output, const RecordSpan* span)>& take) {
    ETNA_TRY(auto reader, LineReader::open(input, line_bytes_limit));
    std::unordered_set<std::string> seen;
    for (;;) {
        ETNA_TRY(const auto line, reader.next());
        if (!line)
            return {};
        if (const auto error = records.errors.find(line->number); error != records.errors.end()) {
            take(line->number, Output::errors, &error->second);
            continue;
        }
        const auto custom_id = custom_id_of(line->text);
        const bool is_first = custom_id && seen.insert(*custom_id).second;
        const auto result = is_first ? records.results.find(*custom_id) : records.results.end();
        take(line->number, Output::results, result == records.results.end() ? nullptr : &result->second);
    }
}

} // namespace

Status check_input(const std::filesystem::path& folder, const Shard& shard,
                   const std::filesystem::path& input, const InputSummary& summary) {
    ETNA_TRY(const auto shards, shards_in(folder));
    bool is_noted = false;
    for (const Shard& other : shards) {
        if (other.count != shard.count) {
            return invalid_argument(fmt::format("{} has the results of {} shards, not of {}", folder.string(),
                                                other.count, shard.count),
                                    "give the same number of shards as before, or another output folder");
        }
        const auto note = read_note(note_path(folder, other));
        if (note && other.index == shard.index)
            is_noted = true;
        if (note && (note->bytes != summary.bytes || note->sha256 != summary.sha256))
            return changed_input(input, *note, summary);
    }
    if (is_noted)
        return {};
    std::error_code ignored;
    const Json json = {{"input", std::filesystem::absolute(input, ignored).string()},
                       {"bytes", summary.bytes},
                       {"sha256", summary.sha256}};
    const std::string text = dump_json(json) + "\n";
    return write_durable_file(note_path(folder, shard), text);
}

Result<MergeReport> merge(const std::filesystem::path& folder, const std::filesystem::path& input) {
    ETNA_TRY(const auto shards, shards_in(folder));
    if (shards.empty()) {
        return Error{ErrorKind::not_found, fmt::format("{} has no results of a batch", folder.string()),
                     "run `etna batch IN.jsonl -o DIR` first"};
    }
    const auto note = read_note(note_path(folder, shards.front()));
    if (!note)
        return Error{ErrorKind::corrupt, fmt::format("{} is damaged", note_path(folder, shards[0]).string())};
    const std::filesystem::path file = input.empty() ? std::filesystem::path(note->file) : input;
    ETNA_TRY(const auto summary, summarize_input(file, {}));
    if (summary.bytes != note->bytes || summary.sha256 != note->sha256)
        return changed_input(file, *note, summary);
    const uint32_t count = shards.front().count;
    Records records;
    for (uint32_t index = 0; index < count; ++index) {
        const Shard shard = {.index = index, .count = count};
        for (const Output output : {Output::results, Output::errors})
            ETNA_CHECK(index_file(output_path(folder, output, shard), output, records));
    }
    MergeReport report = {.results_file = folder / "results.jsonl", .errors_file = folder / "errors.jsonl"};
    std::set<uint32_t> missing;
    ETNA_CHECK(walk_records(file, records, [&](uint64_t line, Output output, const RecordSpan* span) {
        ++report.lines;
        if (span == nullptr) {
            ++report.missing;
            missing.insert(static_cast<uint32_t>((line - 1) % count));
            if (report.missing_lines.size() < named_lines_max)
                report.missing_lines.push_back(line);
        } else {
            ++(output == Output::results ? report.results : report.errors);
        }
    }));
    for (const uint32_t index : missing)
        report.missing_names.push_back(fmt::format("{}/{}", index, count));
    if (report.missing > 0)
        return report;
    JoinedFile results(report.results_file), errors(report.errors_file);
    ETNA_CHECK(walk_records(file, records, [&](uint64_t, Output output, const RecordSpan* span) {
        (output == Output::results ? results : errors).append(records, *span);
    }));
    ETNA_CHECK(results.finish());
    ETNA_CHECK(errors.finish());
    return report;
}

} // namespace etna::server::batch
