"""Rule-based extraction of what a turn says about the world: assertions, by language and for code. Pure.

`assertions` is the entry point: it splits a turn into speech (`speech`), picks the reader of a sentence (`language`) and collects. One folder for each reader:
`en`, `zh`, `code`. What a model reads is planned in `derive/models`.
"""
