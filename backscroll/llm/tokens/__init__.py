"""Count tokens: vocabularies, wire overhead, pictures, and calibration against vendors' counts."""
