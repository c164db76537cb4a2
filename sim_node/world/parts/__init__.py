"""The kinds of parts that worlds are made of: for each its frames, its checks and its names."""
