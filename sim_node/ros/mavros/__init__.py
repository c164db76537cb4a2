"""MAVROS' names on the graph: services, subscriptions and publishers of a vehicle, from the tables of the bridge."""
