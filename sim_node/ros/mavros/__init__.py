"""MAVROS naming scheme on the graph: a vehicle's services, subscriptions and publishers, from the bridge's tables."""
