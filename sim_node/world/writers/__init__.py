"""Writers: the World to files of each format."""
