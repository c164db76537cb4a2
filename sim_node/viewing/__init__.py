"""What shows a world: the browser viewer, rviz, descriptions of robots, pictures and films."""
