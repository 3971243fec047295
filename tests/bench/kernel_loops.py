#!/usr/bin/env python3
"""kernel_loops.py FOLDER: the loops of kernels in machine code, and whether they keep their budgets.

FOLDER holds what shader_stats writes: PIPELINE.txt, a disassembly by Mesa's compilers for AMD (ACO) or NVIDIA (NAK).
Prints a line of tab-separated values for each loop: instructions by kind, also for each weight where the pipeline is known
to turn weights into sums. With --budgets FILE and --compiler NAME, lists on stderr the budgets that are not at their goal
yet; exit code 1 if a pipeline exceeds a budget, or a budget names a pipeline that does not exist.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

sys.setrecursionlimit(20_000) # components() visits a block within another: unrolled kernels have thousands

Instruction = collections.namedtuple("Instruction", "operation text")
Block = collections.namedtuple("Block", "name instructions successors")

KINDS = ("valu", "dot", "matrix", "dual", "scalar", "load", "store", "shared", "constant", "control", "other")


def blocks_of_aco(lines):
    """Blocks of a disassembly by ACO: `BB3:`, then instructions; `;` begins the encoding."""
    blocks, falls_through = [], False
    for line in lines:
        label = re.match(r"(BB\d+):", line)
        if label:
            if falls_through:
                blocks[-1].successors.append(label[1])
            blocks.append(Block(label[1], [], []))
            falls_through = True
            continue
        text = line.split(";")[0].strip()
        if not text or not blocks:
            continue
        operation = text.split()[0]
        blocks[-1].instructions.append(Instruction(operation, text))
        target = re.search(r"\bBB\d+\b", text)
        if operation.startswith(("s_cbranch", "s_branch")) and target:
            blocks[-1].successors.append(target[0])
        if operation in ("s_branch", "s_endpgm"):
            falls_through = False
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
    ("shared", ("ld.shared", "st.shared", "ldsm", "lds", "sts")),
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


def components(names, successors):
    """Strongly connected components of more than one block, or of a block that jumps to itself (Tarjan, 1972)."""
    numbers, lowest, stack, found = {}, {}, [], []

    def visit(name):
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for to in successors[name]:
            if to in names and to not in numbers:
                visit(to)
            if to in stack:
                lowest[name] = min(lowest[name], lowest[to])
        if lowest[name] == numbers[name]:
            at = stack.index(name)
            component = set(stack[at:])
            del stack[at:]
            if len(component) > 1 or name in successors[name]:
                found.append(component)

    for name in sorted(names):
        if name not in numbers:
            visit(name)
    return found


class Loop:
    """Blocks that reach each other. `depth` counts the loops around it."""

    def __init__(self, blocks, depth, nak):
        self.name = blocks[0].name # the first in the code; compilers move the loop's entry
        self.blocks = {block.name for block in blocks}
        self.depth = depth
        self.counts = collections.Counter()
        self.lone_loads = 0
        self.moves = 0 # NAK copies the matrices of sums in loops that are not unrolled; NVIDIA's compiler need not
        pending = 0 # loads since the last wait for all of them
        for instruction in (one for block in blocks for one in block.instructions):
            kind = kind_of(instruction, nak)
            self.counts["valu" if kind == "dual" else kind] += 1
            self.counts["dual"] += kind == "dual"
            self.moves += nak and kind == "valu" and instruction.operation == "mov"
            pending += kind == "load"
            if re.search(r"vmcnt\(0\)|loadcnt\(0\)|loadcnt 0x0\b", instruction.text):
                self.lone_loads += pending == 1
                pending = 0
        self.instructions = sum(self.counts.values()) - self.counts["dual"]

    def arithmetic(self):
        """Vector instructions, of a dual instruction both."""
        return self.counts["valu"] + self.counts["dual"] + self.counts["dot"] + self.counts["matrix"]


def other_per_product(loops):
    """Vector instructions beside each product of matrices, without NAK's moves, in the loop with the most products."""
    loop = max(loops, key=lambda one: (one.counts["matrix"], -one.instructions))
    return (loop.arithmetic() - loop.counts["matrix"] - loop.moves) / loop.counts["matrix"]


def loops_of(text):
    """Loops of a disassembly. First the one that loads most, which goes over columns or keys."""
    nak = is_nak(text)
    blocks = (blocks_of_nak if nak else blocks_of_aco)(text.splitlines())
    successors = {block.name: block.successors for block in blocks}
    loops = []

    def find(names, depth):
        for body in components(names, successors):
            loops.append(Loop([block for block in blocks if block.name in body], depth, nak))
            entries = {to for name in names - body for to in successors[name]} & body
            outside = {to for name in set(successors) - names for to in successors[name]} & body
            find(body - (entries | outside or {min(body)}), depth + 1)

    find(set(successors), 0)
    order = {block.name: index for index, block in enumerate(blocks)}
    return sorted(loops, key=lambda loop: (-loop.counts["load"], loop.depth, order[loop.name]))


def weights_of_turn(pipeline):
    """Weights that one turn of a kernel's loop multiplies, per invocation: see the shader of that name."""
    tiles = re.fullmatch(r"(?:linear_tiles|linear_codes|fused_linear|fused_codes|heads_linear|heads_codes)_\w+?"
                         r"-\d+-(\d+)-\d+-(\d+)(?:-\d+)*", pipeline)
    if tiles:
        return 256 // int(tiles[2]) * int(tiles[1])
    experts = re.fullmatch(r"expert_(tiles|codes|down)_\w+?(-\d+)+", pipeline)
    if experts:
        return {"tiles": 2 * 64, "codes": 2 * 64, "down": 64}[experts[1]]
    rows = re.fullmatch(r"linear_rows_(\w+)_(?:subgroup|shared)-\d+-\d+-(\d+)-\d+", pipeline)
    if not rows:
        return None
    unit = {"f32": 4, "f16": 8, "bf16": 8, "q8_0": 16}.get(rows[1], 32)
    return unit * int(rows[2])


def row_of(pipeline, loop, weights):
    per_weight = [f"{n / weights:.2f}" if weights else "-" for n in (loop.arithmetic(), loop.instructions)]
    return "\t".join([pipeline, loop.name, str(loop.depth), str(loop.instructions), str(loop.lone_loads), *per_weight,
                      *(str(loop.counts[kind]) for kind in KINDS)])


MEASURES = {
    "arithmetic_per_weight": lambda loops, weights: loops[0].arithmetic() / weights,
    "instructions_per_weight": lambda loops, weights: loops[0].instructions / weights,
    "other_per_product": lambda loops, weights: other_per_product(loops),
    "inner_loops": lambda loops, weights: sum(loop.blocks < loops[0].blocks for loop in loops),
    "lone_loads": lambda loops, weights: loops[0].lone_loads if loops else 0,
}


def findings(budgets, compiler, all_loops, of_a_part=False):
    """Messages of the budgets for this compiler: of those exceeded or, unless only a part of the kernels is there, without
    a pipeline, and of those short of their goal."""
    exceeded, unmet = [], []
    for budget in budgets:
        if not re.fullmatch(budget["compiler"], compiler):
            continue
        named = [pipeline for pipeline in all_loops if re.fullmatch(budget["pipeline"], pipeline)]
        if not named and not of_a_part:
            exceeded.append(f"no pipeline is named {budget['pipeline']}")
        for pipeline in named:
            value = MEASURES[budget["measure"]](all_loops[pipeline], weights_of_turn(pipeline))
            text = f"{pipeline}: {budget['measure']} is {value:.2f}"
            if value > budget["at_most"] + 0.005: # budgets have two decimals
                exceeded.append(f"{text}, the budget is {budget['at_most']}")
            elif "goal" in budget and value > budget["goal"] + 0.005:
                unmet.append(f"{text}, the goal is {budget['goal']}")
    return exceeded, unmet


def read_budgets(path):
    """The budgets of a file: pipelines and compilers as regular expressions, a measure, its largest value, and its goal."""
    return json.loads(path.read_text())["budgets"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--budgets", type=pathlib.Path)
    parser.add_argument("--compiler", default="")
    parser.add_argument("--of-a-part", action="store_true", help="not all kernels are there")
    arguments = parser.parse_args()
    all_loops = {path.stem: loops_of(path.read_text()) for path in sorted(arguments.folder.glob("*.txt"))}
    print("\t".join(["pipeline", "loop", "depth", "instructions", "lone_loads", "arithmetic_per_weight",
                     "instructions_per_weight", *KINDS]))
    for pipeline, loops in all_loops.items():
        for loop in loops:
            print(row_of(pipeline, loop, weights_of_turn(pipeline) if loop is loops[0] else None))
    if not arguments.budgets:
        return 0
    exceeded, unmet = findings(read_budgets(arguments.budgets), arguments.compiler, all_loops, arguments.of_a_part)
    for message in unmet:
        print(f"not at its goal: {message}", file=sys.stderr)
    for message in exceeded:
        print(f"error: {message}", file=sys.stderr)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
