#include "core/jinja/name_use.hpp"

#include "core/jinja/walk.hpp"

namespace etna::jinja {
namespace {

class NameUse {
public:
    explicit NameUse(Names names) : wanted_(std::move(names)) {}

    void visit(const Block& block);
    Names found;

private:
    void visit(const ExpressionPtr& expression);
    void store(const Target& target);
    void visit(const Macro& macro);
    void visit(const Statement& statement);

    Names wanted_; ///< not yet assigned
};

void NameUse::visit(const ExpressionPtr& expression) {
    if (expression == nullptr)
        return;
    if (const auto* name = std::get_if<Name>(&expression->node)) {
        if (wanted_.count(name->name) > 0)
            found.insert(name->name);
        return;
    }
    std::visit([&](const auto& node) { for_each_child(node, [&](const auto& child) { visit(child); }); },
               expression->node);
}

void NameUse::store(const Target& target) {
    for (const Target& part : target.parts)
        store(part);
    if (!target.is_tuple && target.attribute.empty())
        wanted_.erase(target.name);
}

void NameUse::visit(const Macro& macro) {
    for (const Parameter& parameter : macro.parameters)
        wanted_.erase(parameter.name);
    for (const Parameter& parameter : macro.parameters)
        visit(parameter.fallback);
}

void NameUse::visit(const Block& block) {
    for (const auto& statement : block)
        visit(*statement);
}

void NameUse::visit(const Statement& statement) {
    if (const auto* output = std::get_if<Output>(&statement.node)) {
        visit(output->expression);
    } else if (const auto* choice = std::get_if<If>(&statement.node)) {
        for (const auto& [test, body] : choice->branches) {
            visit(test);
            visit(body);
        }
        visit(choice->otherwise);
    } else if (const auto* loop = std::get_if<For>(&statement.node)) {
        store(loop->target);
        visit(loop->iterable);
        visit(loop->body);
        visit(loop->otherwise);
        visit(loop->test);
    } else if (const auto* set = std::get_if<Set>(&statement.node)) {
        store(set->target);
        visit(set->value);
    } else if (const auto* set_block = std::get_if<SetBlock>(&statement.node)) {
        store(set_block->target);
        visit(set_block->filter);
        visit(set_block->body);
    } else if (const auto* macro = std::get_if<Macro>(&statement.node)) {
        visit(*macro);
        visit(macro->body);
    } else if (const auto* call = std::get_if<CallBlock>(&statement.node)) {
        visit(call->call);
        visit(call->body);
        visit(call->body.body);
    } else if (const auto* filter = std::get_if<FilterBlock>(&statement.node)) {
        visit(filter->body);
        visit(filter->filter);
    } else if (const auto* with = std::get_if<With>(&statement.node)) {
        for (const Target& target : with->targets)
            store(target);
        for (const auto& value : with->values)
            visit(value);
        visit(with->body);
    } else if (const auto* generation = std::get_if<Generation>(&statement.node)) {
        visit(generation->body.body);
    } else if (const auto* autoescape = std::get_if<Autoescape>(&statement.node)) {
        visit(autoescape->wanted);
        visit(autoescape->body);
    } else if (const auto* block = std::get_if<NamedBlock>(&statement.node)) {
        if (block->is_scoped && wanted_.count("loop") > 0)
            found.insert("loop"); // the block may read it
    }
}

} // namespace

Names uses_undeclared(const Block& block, Names names) {
    NameUse use(std::move(names));
    use.visit(block);
    return std::move(use.found);
}

} // namespace etna::jinja
