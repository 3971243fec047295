"""The skill of tools: when to call which one, and how to say what it gave."""

from corpus.tools.skills import call, call_unseen, conversation, no_tool, result, several_calls

__all__ = ["call", "call_unseen", "conversation", "no_tool", "result", "several_calls"]
