"""Readers: world files of each format to the World."""
