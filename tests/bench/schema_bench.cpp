// Measures which JSON Schemas are accepted, and whether their languages are correct:
//
//     schema_bench FOLDER [--lenient] [--verbose] [--cases CASES.jsonl]
//
// Reads all .json files in and below the folder: schemas, such as those of JSONSchemaBench (data/), or
// objects with a `schema` and its `tests`, each with `data` and whether that is `valid`, as MaskBench has
// them. Prints which share is accepted within what a server spends on one, how long that took, and why others
// are refused, the most frequent reason first. An instance is written in all orders of members that the
// language takes, and is wrong where it is valid and none of them fits, or the other way round. `--cases`
// writes the texts of valid instances for `mask_bench --schemas`.

#include "core/grammar/description.hpp"
#include "tests/grammar/fitting_text.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
    std::filesystem::path folder;
    bool is_lenient = false;
    bool is_verbose = false;
    std::string cases = {};
};

/// Of this thread's processor time: a busy machine adds little.
double now_ms() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// An error without the parts that are specific to one schema: its pointer, and quoted text.
std::string kind_of(const std::string& message) {
    std::string kind;
    const std::size_t colon = message.starts_with('#') ? message.find(": ") : std::string::npos;
    if (colon != std::string::npos)
        kind = message.substr(message.rfind('/', colon) + 1, colon - message.rfind('/', colon) - 1);
    return kind + message.substr(colon == std::string::npos ? 0 : colon);
}

class Bench {
public:
    explicit Bench(Options options) : options_(std::move(options)), cases_(options_.cases) {}

    void take(const std::filesystem::path& path) {
        std::ifstream file(path);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const Json json = Json::parse(text, nullptr, false);
        if (json.is_object() && json.contains("schema") && json.contains("tests"))
            return judge(path, json["schema"].dump(), json["tests"]);
        judge(path, text, Json::array());
    }

    void print() {
        fmt::print("{} schemas: {} accepted ({:.2f} %)\n", times_.size(), accepted_,
                   100.0 * accepted_ / static_cast<double>(std::max<std::size_t>(times_.size(), 1)));
        fmt::print(
            "{} instances: {} right, {} valid and refused, {} invalid and accepted; {} valid ones fit in no "
            "order that was tried\n",
            right_ + refused_ + taken_ + undecided_, right_, refused_, taken_, undecided_);
        if (times_.empty())
            return;
        std::sort(times_.begin(), times_.end());
        const auto at = [&](double share) {
            return times_[static_cast<std::size_t>(share * static_cast<double>(times_.size() - 1))];
        };
        fmt::print("compiled in ms: median {:.2f}, 90 % {:.2f}, 95 % {:.2f}, 99 % {:.2f}, most {:.2f}\n",
                   at(0.5), at(0.9), at(0.95), at(0.99), times_.back());
        std::vector<std::pair<int, std::string>> reasons;
        reasons.reserve(reasons_.size());
        for (const auto& [reason, count] : reasons_)
            reasons.emplace_back(count, reason);
        std::sort(reasons.rbegin(), reasons.rend());
        for (const auto& [count, reason] : reasons)
            fmt::print("{:5} {}\n", count, reason);
    }

private:
    void judge(const std::filesystem::path& path, const std::string& schema, const Json& tests) {
        static const Vocabulary vocabulary({"a"});
        Language language;
        const double begin_ms = now_ms();
        const auto root = texts_of(
            language, {.notation = Notation::json_schema, .text = schema, .is_lenient = options_.is_lenient},
            vocabulary);
        times_.push_back(now_ms() - begin_ms);
        if (!root) {
            ++reasons_[kind_of(root.error().message)];
            if (options_.is_verbose)
                fmt::print("refused: {}: {}\n", path.string(), root.error().message);
            return;
        }
        ++accepted_;
        for (const Json& test : tests)
            judge_test(path, schema, test, language, *root);
    }

    void judge_test(const std::filesystem::path& path, const std::string& schema, const Json& test,
                    Language& language, Expression root) {
        const auto instance = parse_json(test["data"].dump());
        const bool is_valid = test["valid"].get<bool>();
        const auto found =
            instance ? fitting_text(language, root, *instance) : FittingText{.is_exhaustive = false};
        if (found.text.has_value() == is_valid) {
            ++right_;
        } else if (!found.text && !found.is_exhaustive) {
            ++undecided_;
            if (options_.is_verbose)
                fmt::print("not decided: {}\n", path.string());
        } else {
            ++(is_valid ? refused_ : taken_);
            fmt::print("wrong: {}: {}\n  {}\n", path.string(),
                       is_valid ? "a valid instance is refused" : "an invalid instance is accepted",
                       test["data"].dump().substr(0, options_.is_verbose ? std::string::npos : 200));
        }
        if (found.text && is_valid && cases_.is_open())
            cases_ << Json({{"schema", schema}, {"text", *found.text}}).dump() << '\n';
    }

    Options options_;
    std::ofstream cases_;
    int accepted_ = 0;
    int right_ = 0;
    int refused_ = 0;   ///< instances that are valid
    int taken_ = 0;     ///< instances that are not
    int undecided_ = 0; ///< instances that are valid and have too many orders
    std::vector<double> times_;
    std::map<std::string, int> reasons_;
};

} // namespace

int main(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = arguments[i];
        if (word == "--lenient") {
            options.is_lenient = true;
        } else if (word == "--verbose") {
            options.is_verbose = true;
        } else if (word == "--cases" && i + 1 < count) {
            options.cases = arguments[++i];
        } else {
            options.folder = word;
        }
    }
    if (!std::filesystem::is_directory(options.folder)) {
        fmt::print(stderr, "usage: schema_bench FOLDER [--lenient] [--verbose] [--cases CASES.jsonl]\n");
        return 2;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder)) {
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    Bench bench(options);
    for (const auto& file : files)
        bench.take(file);
    bench.print();
}
