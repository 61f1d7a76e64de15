"""Mails, and notices on other sites, each written once and sent until accepted."""
