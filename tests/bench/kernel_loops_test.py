#!/usr/bin/env python3
"""Loops are found and counted in small disassemblies, and budgets over them kept or reported."""

import pathlib
import re
import unittest

import kernel_loops

# A loop that begins with its test, and one in it whose test follows its body: ACO of Mesa 22.3 and of 26.2.
ACO = """
BB0:
	s_load_dwordx2 s[14:15], s[2:3], 0x0                        ; f4040381 fa000000
	v_mov_b32_e32 v2, 0                                         ; 7e040280
BB2:
	s_mov_b32 s13, exec_lo                                      ; be8d007e
	s_cbranch_scc0 BB11                                         ; bfa1000b
BB3:
	global_load_b128 v[4:7], v4, s[14:15]                       ; dc520000 040e0004
	global_load_b32 v8, v4, s[14:15] offset:16                  ; dc520000 040e0004
	s_waitcnt vmcnt(1)                                          ; bf8903f7
	s_waitcnt vmcnt(0)                                          ; bf8903f7
	s_branch BB5                                                ; bfa0fff0
BB4:
	global_load_b32 v3, v3, s[8:9]                              ; ee050008 00000003 00000003
	s_wait_loadcnt 0x0                                          ; bfc00000
	v_dual_add_f32 v2, v2, v3 :: v_dual_add_nc_u32 v1, 64, v1   ; c9200702 020002c0
BB5:
	v_cmpx_le_u32_e32 s11, v1                                   ; 7d96020b
	s_cbranch_scc1 BB4                                          ; bfa2ffef
BB6:
	v_dot4_i32_iu8 v1, v2, v3, v1                               ; cc164001 04060702
	ds_store_b32 v0, v1                                         ; d8340000 00000100
	s_branch BB2                                                ; bfa0fff0
BB11:
	s_endpgm                                                    ; bfb00000
BB12:
	s_branch BB2                                                ; bfa0fff0
"""

NAK = """
block.u 0 L2 [] -> {
      ur0      = s2r sr[0x25]                                       // delay=1 wr:0
      r3       = mov rZ                                             // delay=1
} -> [2]
block 2 L4 [1, 8] -> {
      b1       = bssy b1 pT L6                                      // delay=1
      p0       = isetp.ge.u32 r4 c[0x0][0x74c]                      // delay=13
@!p0             bra pT L10                                         // delay=1
} -> [3, 4]
block 3 L9 [2] -> {
      r5       = mov 0x2                                            // delay=2
} -> [5]
block 4 L10 [2] -> {
      ur2      = imad ur2 ur3 ur4                                   // delay=6
      r6 p0    = iadd3 r5 c[0x0][0x720] rZ                          // delay=13
      r5       = ld.global.a64.constant.b32 [r6..8+rZ], pT          // delay=6 wr:0
      r6       = fadd.ftz r3 r5                                     // delay=3 wt=000001
} -> [2]
block 5 L8 [3] -> {
                 exit pT                                            // delay=1
} -> []
"""


def table(text):
    """(name, depth, instructions, lone loads) of each loop."""
    return [(loop.name, loop.depth, loop.instructions, loop.lone_loads) for loop in kernel_loops.loops_of(text)]


class Loops(unittest.TestCase):
    def test_a_loop_of_aco_contains_the_loop_inside_it(self):
        self.assertEqual(table(ACO), [("BB2", 0, 15, 1), ("BB4", 1, 5, 1)])

    def test_instructions_are_counted_by_kind(self):
        outer, inner = kernel_loops.loops_of(ACO)
        self.assertEqual(dict(+outer.counts), {"scalar": 1, "control": 7, "load": 3, "valu": 2, "dual": 1, "dot": 1, "shared": 1})
        self.assertEqual(outer.arithmetic(), 4) # of the dual instruction both
        self.assertEqual(inner.arithmetic(), 3)

    def test_uniform_registers_and_predicates_of_nak_are_understood(self):
        (loop,) = kernel_loops.loops_of(NAK)
        self.assertEqual((loop.name, loop.depth, loop.instructions), ("2", 0, 7))
        self.assertEqual(dict(+loop.counts), {"control": 2, "scalar": 1, "valu": 3, "load": 1})

    def test_code_without_loops_has_none(self):
        self.assertEqual(kernel_loops.loops_of("BB0:\n\ts_endpgm ; bfb00000\n"), [])
        self.assertEqual(kernel_loops.loops_of(""), [])

    def test_other_instructions_are_counted_for_each_product_of_matrices(self):
        text = "\n".join(["BB0:", "\ts_nop 0 ; 0", "BB1:", "\tglobal_load_b128 v[0:3], v4, off ; 0", "BB2:",
                          "\tv_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] ; 0",
                          "\tv_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7] ; 0", "\tv_pk_fma_f16 v0, v1, v2, v3 ; 0",
                          "\tds_load_b128 v[0:3], v4 ; 0", "\ts_cbranch_scc1 BB1 ; 0", "BB3:", "\ts_endpgm ; 0"])
        self.assertEqual(kernel_loops.other_per_product(kernel_loops.loops_of(text)), 0.5)

    def test_weights_of_a_turn_follow_from_format_and_rows(self):
        self.assertEqual(kernel_loops.weights_of_turn("linear_rows_q4_k_subgroup-64-0-2-1"), 64)
        self.assertEqual(kernel_loops.weights_of_turn("linear_rows_q8_0_shared-64-0-1-8"), 16)
        self.assertEqual(kernel_loops.weights_of_turn("linear_tiles_q6_k-256-2-1-4"), 128)
        self.assertEqual(kernel_loops.weights_of_turn("linear_codes_q6_k-512-2-1-4-2"), 128)
        self.assertEqual(kernel_loops.weights_of_turn("expert_tiles_q6_k-256-2-4-4-0-1-1-0-0-1"), 128)
        self.assertEqual(kernel_loops.weights_of_turn("expert_codes_q6_k-256-2-4-4-1-1-1-0-0-2"), 128)
        self.assertEqual(kernel_loops.weights_of_turn("expert_down_codes_q6_k-128-1-1-4-2-0"), 64)
        self.assertIsNone(kernel_loops.weights_of_turn("attention-64-128-4"))


def budget(measure, at_most, **more):
    return {"pipeline": "linear_rows_q4_k_subgroup-.*", "compiler": "radv-.*", "measure": measure, "at_most": at_most, **more}


class Budgets(unittest.TestCase):
    loops = {"linear_rows_q4_k_subgroup-64-0-1-1": kernel_loops.loops_of(ACO), "embed_f32_rows-": []}

    def findings(self, *budgets, compiler="radv-navi31"):
        return kernel_loops.findings(budgets, compiler, self.loops)

    def test_a_budget_that_is_kept_reports_nothing(self):
        for measure, value in [("inner_loops", 1), ("lone_loads", 1), ("arithmetic_per_weight", 0.13), ("instructions_per_weight", 0.47)]:
            self.assertEqual(self.findings(budget(measure, value)), ([], []))

    def test_a_budget_that_is_exceeded_is_reported_with_its_numbers(self):
        self.assertEqual(self.findings(budget("inner_loops", 0)),
                         (["linear_rows_q4_k_subgroup-64-0-1-1: inner_loops is 1.00, the budget is 0"], []))

    def test_a_value_between_goal_and_budget_is_listed(self):
        self.assertEqual(self.findings(budget("lone_loads", 2, goal=0)),
                         ([], ["linear_rows_q4_k_subgroup-64-0-1-1: lone_loads is 1.00, the goal is 0"]))

    def test_a_budget_of_another_compiler_does_not_apply(self):
        self.assertEqual(self.findings(budget("inner_loops", 0), compiler="nvk-sid-ada"), ([], []))

    def test_a_budget_without_a_pipeline_is_an_error(self):
        self.assertEqual(self.findings({**budget("inner_loops", 0), "pipeline": "linear_guess.*"}),
                         (["no pipeline is named linear_guess.*"], []))

    def test_a_pipeline_without_loops_has_no_inner_loops(self):
        self.assertEqual(self.findings({**budget("inner_loops", 0), "pipeline": "embed.*"}), ([], []))

    def test_every_budget_of_the_table_can_be_read(self):
        for one in kernel_loops.read_budgets(pathlib.Path(__file__).with_name("kernel_budgets.json")):
            self.assertIn(one["measure"], kernel_loops.MEASURES)
            self.assertTrue(one["what"])
            re.compile(one["pipeline"])
            re.compile(one["compiler"])
            self.assertLess(one.get("goal", -1), one["at_most"], "a goal that is met is the budget")


if __name__ == "__main__":
    unittest.main()
