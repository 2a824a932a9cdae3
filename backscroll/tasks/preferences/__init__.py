"""What users prefer and what is lastingly known about them, read from what they say. Pure."""
