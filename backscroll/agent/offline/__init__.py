"""The offline assistant, used without a model: explicit commands and quotes from history.

It never invents: `quotes` answers from the log, `orders` parses commands. Nothing here calls a model.
"""
