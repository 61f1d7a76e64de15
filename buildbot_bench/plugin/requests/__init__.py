"""People's requests to the farm, checked and stored for the broker."""
