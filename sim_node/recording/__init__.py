"""Bags: rosbag2 recordings of runs and of the live graph, read, repaired, compared and replayed."""
