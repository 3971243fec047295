"""The skill of tools: when to call which one, and how to say what it gave."""

from corpus.tools.skills import call, call_seen, call_unseen, conversation, in_a_row, no_tool, result, several_calls

__all__ = ["call", "call_seen", "call_unseen", "conversation", "in_a_row", "no_tool", "result", "several_calls"]
