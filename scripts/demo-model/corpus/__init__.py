"""The text that the demo models learn from: conversations made from grammars, word lists and a seed."""
