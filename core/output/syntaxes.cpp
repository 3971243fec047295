#include "core/output/syntaxes.hpp"

namespace etna::output {

std::vector<ReasoningMarks> common_reasoning() {
    return {{"<think>", "</think>"},
            {"<thinking>", "</thinking>"},
            {"<seed:think>", "</seed:think>"},
            {"<mm:think>", "</mm:think>"},
            {"[THINK]", "[/THINK]"},
            {"<|START_THINKING|>", "<|END_THINKING|>"},
            {"<|begin_of_thought|>", "<|end_of_thought|>"},
            {"<|inner_prefix|>", "<|inner_suffix|>"}};
}

const std::vector<Syntax>& syntaxes() {
    static const std::vector<Syntax> all = [] {
        std::vector<Syntax> table;
        for (const auto& part : {message_families(), tagged_families(), named_families(), object_families()})
            table.insert(table.end(), part.begin(), part.end());
        return table;
    }();
    return all;
}

} // namespace etna::output
