#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using namespace etna;
using namespace etna::test;

// Shared pages, copies and truncation: the operations of the engine on page tables and states.
namespace {

constexpr uint32_t fork_vocabulary = 300;

Bytes fork_model(RandomArchitecture architecture) {
    return random_model(
        {.architecture = architecture,
         .layers = architecture == RandomArchitecture::gemma3n || architecture == RandomArchitecture::gemma4
                       ? 4U
                       : 2U, // two that read the keys of others
         .vocabulary = fork_vocabulary,
         .shared_kv_layers = 2,
         .tokenizer = RandomTokenizer::none});
}

/// Rows for positions [first, tokens) of sequence `sequence`, logits for all of them.
void add_rows(engine::Batch& batch, uint32_t sequence, const std::vector<TokenId>& tokens, uint32_t first,
              engine::RowKind kind) {
    for (uint32_t i = first; i < tokens.size(); ++i) {
        engine::Row row;
        row.kind = kind;
        row.output_kind = engine::OutputKind::logits;
        row.value = tokens[i];
        row.sequence = sequence;
        row.set_position(i);
        batch.rows.push_back(row);
    }
}

void check_rows(ModelCase& tested, const engine::Outputs& outputs, std::size_t from,
                const std::vector<TokenId>& tokens, uint32_t first) {
    Logits logits;
    for (std::size_t i = first; i < tokens.size(); ++i)
        logits.push_back(outputs.rows.at(from + i - first).logits);
    check_against_twin({.tokens = tokens, .prompt = first, .want_from = first}, logits,
                       tested.twin().run(tokens), 2e-2);
}

std::vector<TokenId> continued(const std::vector<TokenId>& tokens, uint32_t prefix, uint32_t more,
                               uint32_t seed) {
    std::vector<TokenId> result(tokens.begin(), tokens.begin() + prefix);
    const auto added = random_tokens(more, fork_vocabulary, seed);
    result.insert(result.end(), added.begin(), added.end());
    return result;
}

} // namespace

TEST_CASE("a fork shares full pages, copies the last, and disturbs neither side", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(fork_model(architecture), {});
        const engine::Limits& limits = tested.executor().limits();
        const auto parent = random_tokens(50, fork_vocabulary, 1);
        const GroupTables parent_pages(limits, {9, 4});
        engine::Batch prompt{.copies = {}, .sequences = {parent_pages.view(0, 0)}, .rows = {}};
        add_rows(prompt, 0, parent, 0, engine::RowKind::prefill);
        check_rows(tested, run_batch(tested.executor(), prompt), 0, parent, 0);

        // Page 9 (positions 0 to 31) is shared, page 4 is copied to 7, the state in slot 0 to 2; both sides
        // continue in one step.
        const auto left = continued(parent, 50, 1, 2);
        const auto right = continued(parent, 50, 12, 3);
        const GroupTables right_pages(limits, {9, 7});
        engine::Batch both{
            .copies = {}, .sequences = {parent_pages.view(0, 50), right_pages.view(2, 50)}, .rows = {}};
        if (is_recurrent(architecture))
            both.state_copies = {{.from = 0, .to = 2}};
        for (uint32_t group = 0; group < limits.groups.size(); ++group)
            both.copies.push_back({.group = group, .from = 4 + group, .to = 7 + group});
        add_rows(both, 1, right, 50, engine::RowKind::prefill);
        add_rows(both, 0, left, 50, engine::RowKind::decode);
        const engine::Outputs outputs = run_batch(tested.executor(), both);
        check_rows(tested, outputs, 0, right, 50);
        check_rows(tested, outputs, 12, left, 50);

        const auto left_later = continued(left, 51, 1, 4);
        engine::Batch later{.copies = {}, .sequences = {parent_pages.view(0, 51)}, .rows = {}};
        add_rows(later, 0, left_later, 51, engine::RowKind::decode);
        check_rows(tested, run_batch(tested.executor(), later), 0, left_later, 51);
    }
}

TEST_CASE("a truncated sequence continues from its new end", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(fork_model(architecture), {});
        const auto first = random_tokens(60, fork_vocabulary, 5);
        const GroupTables pages(tested.executor().limits(), {3, 2});
        const std::vector<TokenId> kept(first.begin(), first.begin() + 37);
        engine::Batch beginning{.copies = {}, .sequences = {pages.view(0, 0)}, .rows = {}};
        add_rows(beginning, 0, kept, 0, engine::RowKind::prefill);
        check_rows(tested, run_batch(tested.executor(), beginning), 0, kept, 0);
        // A recurrent state cannot be truncated: slot 5 keeps a copy of the state at the new end.
        engine::Batch rest{.copies = {}, .sequences = {pages.view(0, 37)}, .rows = {}};
        if (is_recurrent(architecture))
            rest.state_copies = {{.from = 0, .to = 5}};
        add_rows(rest, 0, first, 37, engine::RowKind::prefill);
        check_rows(tested, run_batch(tested.executor(), rest), 0, first, 37);

        const auto second = continued(first, 37, 9, 6);
        engine::Batch cut{.copies = {}, .sequences = {pages.view(0, 37)}, .rows = {}};
        if (is_recurrent(architecture))
            cut.state_copies = {{.from = 5, .to = 0}};
        add_rows(cut, 0, second, 37, engine::RowKind::prefill);
        check_rows(tested, run_batch(tested.executor(), cut), 0, second, 37);
    }
}
