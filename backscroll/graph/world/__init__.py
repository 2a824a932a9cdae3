"""World descriptions: statements of lorebooks, cards and project pages about nodes, in English and Chinese, as prose, fields and dialogue."""
