"""Reading a cluster: run -> parse -> records -> snapshot."""
