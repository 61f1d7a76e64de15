"""How well and how cheaply the farm searches and judges, against other ways."""
