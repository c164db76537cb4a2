"""PX4 naming scheme on the graph: a vehicle's publishers, subscriptions and service, from the bridge's tables."""
