"""A viewer in the browser, by viser: a page of its own, served on this machine, which needs no other host."""
