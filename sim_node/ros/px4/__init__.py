"""PX4's names on the graph: publishers, subscriptions and the service of a vehicle, from the tables of the bridge."""
