// shader_stats: compiles every kernel with the driver at hand and prints what its compiler tells of each pipeline,
// a line of tab-separated values each. Nothing is run, so a driver without hardware will do.
#include "tests/bench/every_operation.hpp"

#include "core/vk/instance.hpp"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

using namespace etna;

using Statistics = std::vector<vk::PipelineStatistic>;

/// A column of the table, by the names that drivers give to it; several names add up.
struct Column {
    std::string_view title;
    std::vector<std::string_view> names;
};

/// RADV's names, then NVK's.
const Column registers{"registers", {"VGPRs", "GPRs"}};
const Column spills{"spills", {"Spilled VGPRs", "Spilled SGPRs", "Spills to memory"}};
