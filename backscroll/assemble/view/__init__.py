"""The history as prompt blocks, at the levels of the current compaction. Pure.

`units` splits a history, `view` shows it, `meter` counts its tokens, `pieces`, `digest` and `excerpt` are shorter forms of single messages. What is
condensed is decided in `assemble/view/compaction`.
"""
