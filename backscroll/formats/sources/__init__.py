"""What readers of formats share: JSON in any state, lines, huge documents, trees of messages, bytes inside JSON. No format by name."""
