"""How many tokens something is: vocabularies, what a wire adds, pictures, and how far our counts are from the vendor's."""
