"""The actions of scenarios: requests to a run, a file for each family. A further one is a function with `@action`."""
