"""World descriptions: what lorebooks, cards and project pages state about nodes, in English and Chinese, as prose, fields and dialogue."""
