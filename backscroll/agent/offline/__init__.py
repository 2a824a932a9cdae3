"""The offline assistant, used without a model: explicit commands and quotes from history.

It never invents: `quotes` says what the log holds, `orders` what can be asked for. Nothing here calls a model.
"""
