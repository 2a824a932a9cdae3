"""Names in Chinese text: their form, their use, places, and Latin letters among them."""
