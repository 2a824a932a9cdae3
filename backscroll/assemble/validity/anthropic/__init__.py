"""The rules of the Anthropic Messages wire: `rules` for a whole request, `shape` for one message, `marks` for cache marks, `betas` for fields in beta."""
