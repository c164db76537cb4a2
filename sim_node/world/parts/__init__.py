"""The kinds of parts of a world: for each its frames, its checks and its names."""
