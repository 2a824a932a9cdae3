"""Names in Chinese text: how they are made, how they are used, places and Latin letters among them."""
