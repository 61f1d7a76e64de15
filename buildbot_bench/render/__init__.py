"""The text, HTML, Markdown and pictures of a report; the only user of Jinja2."""
