"""ROS 2 simulation: a world file becomes frames, sensors and a clock."""
