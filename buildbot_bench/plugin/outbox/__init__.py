"""What leaves the farm: mails, and notices on other sites, each written once."""
