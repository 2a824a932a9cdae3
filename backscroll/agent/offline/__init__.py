"""The companion that answers where no model is configured: orders in a small language, and quotes from the record.

It never invents: `quotes` says what the log holds, `orders` what can be asked for. Nothing here calls a model.
"""
