#!/usr/bin/env python3
"""kernel_loops.py FOLDER: the loops of kernels in machine code, and whether they keep their budgets.

FOLDER holds what shader_stats writes: PIPELINE.txt, a disassembly by Mesa's compilers for AMD (ACO) or NVIDIA (NAK).
Prints a line of tab-separated values for each loop: instructions by kind, also for each weight where the pipeline is known
to turn weights into sums. With --budgets FILE and --compiler NAME, exit code 1 if a pipeline exceeds a budget of the file,
or a budget names a pipeline that does not exist.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

Instruction = collections.namedtuple("Instruction", "operation text")
Block = collections.namedtuple("Block", "name instructions successors")

KINDS = ("valu", "dot", "matrix", "dual", "scalar", "load", "store", "shared", "constant", "control", "other")


def blocks_of_aco(lines):
    """Blocks of a disassembly by ACO: `BB3:`, then instructions; `;` begins the encoding."""
    blocks, conditional = [], True
    for line in lines:
        label = re.match(r"(BB\d+):", line)
        if label:
            if blocks and conditional: # falls through
                blocks[-1].successors.append(label[1])
            blocks.append(Block(label[1], [], []))
            conditional = True
            continue
        text = line.split(";")[0].strip()
        if not text or not blocks:
            continue
        operation = text.split()[0]
        blocks[-1].instructions.append(Instruction(operation, text))
        target = re.search(r"\bBB\d+\b", text)
        if operation.startswith("s_cbranch") and target:
            blocks[-1].successors.append(target[0])
        elif operation == "s_branch" and target:
            blocks[-1].successors.append(target[0])
            conditional = False
        elif operation == "s_endpgm":
            conditional = False
    return blocks


def blocks_of_nak(lines):
    """Blocks of a disassembly by NAK: `block 3 ...`, instructions, `} -> {4, 5}` with the successors."""
    blocks = []
    for line in lines:
        head = re.match(r"\s*block(?:\.u)? (\d+)\b", line)
        if head:
            blocks.append(Block(head[1], [], []))
        elif line.lstrip().startswith("}"):
            if blocks:
                blocks[-1].successors.extend(re.findall(r"\d+", line))
        elif blocks:
            text = re.sub(r"//.*", "", line).strip()
            text = re.sub(r"^@\S+\s+", "", text) # a predicate
            result, _, rest = text.partition(" = ")
            text = f"{rest} -> {result}" if rest else text
            if text:
                blocks[-1].instructions.append(Instruction(text.split()[0], text))
    return blocks


def is_nak(text):
    return re.search(r"^\s*block(?:\.u)? \d+ ", text, re.MULTILINE) is not None


def blocks_of(text):
    return (blocks_of_nak if is_nak(text) else blocks_of_aco)(text.splitlines())


PREFIXES_OF_ACO = (
    ("load", ("global_load", "buffer_load", "flat_load", "scratch_load")),
    ("store", ("global_store", "buffer_store", "flat_store", "scratch_store", "global_atomic")),
    ("shared", ("ds_",)),
    ("matrix", ("v_wmma", "v_swmma")),
    ("dot", ("v_dot", "v_dual_dot")),
    ("dual", ("v_dual",)), # two instructions, counted as one valu and one dual
    ("valu", ("v_",)),
    ("constant", ("s_load", "s_buffer")),
    ("control", ("s_wait", "s_clause", "s_delay", "s_nop", "s_branch", "s_cbranch", "s_barrier", "s_endpgm")),
    ("scalar", ("s_",)),
)
PREFIXES_OF_NAK = (
    ("load", ("ld.global", "ldg")),
    ("store", ("st.global", "stg", "atom", "red")),
    ("shared", ("ld.shared", "st.shared", "lds", "sts")),
    ("matrix", ("hmma", "imma")),
    ("dot", ("idp",)),
    ("constant", ("ldc", "ld.")),
    ("control", ("bra", "nop", "bssy", "bsync", "bar", "warpsync", "bclear", "exit")),
)


def kind_of(instruction, nak):
    for kind, prefixes in PREFIXES_OF_NAK if nak else PREFIXES_OF_ACO:
        if instruction.operation.startswith(prefixes):
            return kind
    if not nak:
        return "other"
    return "scalar" if re.search(r"-> .*\bur\d", instruction.text) else "valu" # uniform registers


class Loop:
    """A natural loop: the blocks that reach its header again without leaving it."""

    def __init__(self, header, body, blocks, nak):
        self.header = header
        self.body = body
        self.counts = collections.Counter()
        self.lone_loads = 0
        pending = 0 # loads since the last wait for all of them
        for name in (block.name for block in blocks if block.name in body):
            for instruction in blocks[[b.name for b in blocks].index(name)].instructions:
                kind = kind_of(instruction, nak)
                self.counts["valu" if kind == "dual" else kind] += 1
                self.counts["dual"] += kind == "dual"
                pending += kind == "load"
                if re.search(r"vmcnt\(0\)|loadcnt\(0\)|loadcnt 0x0\b", instruction.text):
                    self.lone_loads += pending == 1
                    pending = 0
        self.instructions = sum(self.counts.values()) - self.counts["dual"]

    def arithmetic(self):
        """Vector instructions, of a dual instruction both."""
        return self.counts["valu"] + self.counts["dual"] + self.counts["dot"] + self.counts["matrix"]


def loops_of(text):
    """Loops of a disassembly, the largest first."""
    blocks = blocks_of(text)
    nak = is_nak(text)
    order = {block.name: index for index, block in enumerate(blocks)}
    predecessors = collections.defaultdict(set)
    for block in blocks:
        for successor in block.successors:
            predecessors[successor].add(block.name)
    bodies = {}
    for block in blocks:
        for header in block.successors:
            if order.get(header, len(blocks)) > order[block.name]:
                continue
            body, waiting = bodies.setdefault(header, {header}), [block.name] # a jump backwards
            while waiting:
                name = waiting.pop()
                if name not in body:
                    body.add(name)
                    waiting.extend(predecessors[name])
    loops = [Loop(header, body, blocks, nak) for header, body in bodies.items()]
    return sorted(loops, key=lambda loop: (-loop.instructions, order[loop.header]))


def inner_loops(loops):
    """How many loops lie within another."""
    return sum(any(one is not other and one.header in other.body for other in loops) for one in loops)


# Weights that one turn of a kernel's loop multiplies, per invocation: see the shader of that name.
def weights_of_turn(pipeline):
    match = re.fullmatch(r"linear_rows_(\w+)_(?:subgroup|shared)-\d+-\d+-(\d+)-\d+", pipeline)
    if not match:
        return None
    unit = {"f32": 4, "f16": 8, "bf16": 8, "q8_0": 16}.get(match[1], 32)
    return unit * int(match[2])


def row_of(pipeline, loop, weights):
    per_weight = [f"{n / weights:.2f}" if weights else "-" for n in (loop.arithmetic(), loop.instructions)]
    return "\t".join([pipeline, loop.header, str(loop.instructions), str(loop.lone_loads), *per_weight,
                      *(str(loop.counts[kind]) for kind in KINDS)])


MEASURES = {
    "arithmetic_per_weight": lambda loops, weights: loops[0].arithmetic() / weights,
    "instructions_per_weight": lambda loops, weights: loops[0].instructions / weights,
    "inner_loops": lambda loops, weights: inner_loops(loops),
    "lone_loads": lambda loops, weights: loops[0].lone_loads if loops else 0,
}


def exceeded(budget, loops, pipeline):
    """What a pipeline has beyond its budget, as a message; empty within it."""
    value = MEASURES[budget["measure"]](loops, weights_of_turn(pipeline))
    if value <= budget["at_most"] + 0.005:
        return ""
    return f"{pipeline}: {budget['measure']} is {value:.2f}, the budget is {budget['at_most']}"


def check(budgets, compiler, all_loops):
    """Messages of every budget for this compiler that is exceeded, or names no pipeline."""
    problems = []
    for budget in budgets:
        if not re.fullmatch(budget["compiler"], compiler):
            continue
        named = [pipeline for pipeline in all_loops if re.fullmatch(budget["pipeline"], pipeline)]
        if not named:
            problems.append(f"no pipeline is named {budget['pipeline']}")
        problems += filter(None, (exceeded(budget, all_loops[pipeline], pipeline) for pipeline in named))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--budgets", type=pathlib.Path)
    parser.add_argument("--compiler", default="")
    arguments = parser.parse_args()
    all_loops = {path.stem: loops_of(path.read_text()) for path in sorted(arguments.folder.glob("*.txt"))}
    print("\t".join(["pipeline", "loop", "instructions", "lone_loads", "arithmetic_per_weight",
                     "instructions_per_weight", *KINDS]))
    for pipeline, loops in all_loops.items():
        for loop in loops:
            print(row_of(pipeline, loop, weights_of_turn(pipeline) if loop is loops[0] else None))
    if not arguments.budgets:
        return 0
    problems = check(json.loads(arguments.budgets.read_text())["budgets"], arguments.compiler, all_loops)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
