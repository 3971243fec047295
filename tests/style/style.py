#!/usr/bin/env python3
"""Checks the rules over the complete tree: style.py ROOT. Exit code 1 and a line for each broken rule."""

import sys

import rooms
import rules
from tree import Tree

CHECKS = [
    rooms.check_cycles,
    rooms.check_directions,
    rooms.check_external_headers,
    rules.check_top_level,
    rules.check_core_is_silent,
    rules.check_headers,
    rules.check_shader_headers,
    rules.check_sizes,
    rules.check_addresses,
    rules.check_page,
    rules.check_scripts,
    rules.check_tests,
    rules.check_first_screen,
    rules.check_prose,
]


def main(root):
    tree = Tree.of_folder(root)
    if "CMakeLists.txt" not in tree.files:
        print(f"{root} is not the project's root")
        return 1
    findings = [finding for check in CHECKS for finding in check(tree)]
    for finding in findings:
        print(finding)
    print(f"{len(tree.files)} files, {len(CHECKS)} rules, {len(findings)} broken; {rules.size_summary(tree)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
