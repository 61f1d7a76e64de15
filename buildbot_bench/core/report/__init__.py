"""The model of a finished search's report, from which mail, page and JSON are rendered."""
