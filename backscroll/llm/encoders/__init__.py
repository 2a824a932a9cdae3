"""Texts to vectors, and small models in this process: nothing here needs the network once its files are there."""
