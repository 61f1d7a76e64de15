"""Labs with a truth of their own, that the search is judged in; none knows the model's numbers."""
