"""The only Jinja2 user: what a reader sees, made from core.report."""
