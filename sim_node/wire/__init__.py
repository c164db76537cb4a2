"""CDR bytes of the ROS messages that are sent every tick: laid out once, rewritten in place. Knows no ROS."""
