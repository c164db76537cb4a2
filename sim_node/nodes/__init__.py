"""The rclpy nodes. The only room that imports rclpy or message packages."""
