"""What messages look like: readers turn each type into drawings, which the viewer shows and exports keep."""
