"""The history as blocks of a prompt, at the level that the compaction in force says. Pure.

`units` cuts a history, `view` shows it, `meter` weighs it, `pieces`, `digest` and `excerpt` are shorter forms of single messages. What is
condensed is decided in `assemble/view/compaction`.
"""
