#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"

namespace etna::jinja {

/// Analyses a parsed template as the reference compiler does and fills in the tree's analysis fields: names
/// hidden by each scope, loops that use `loop`, macros that take `caller`, `varargs` and `kwargs`. Error:
/// corrupt (unknown filter or test that is reached unconditionally, `break` outside a loop, assignment to
/// `loop`).
Status analyse(Tree& tree);

} // namespace etna::jinja
