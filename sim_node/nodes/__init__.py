"""The rclpy nodes. Only this package imports rclpy and message packages."""
