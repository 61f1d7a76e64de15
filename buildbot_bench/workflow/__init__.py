"""bench.yml as frozen models: builds, measurements, verdicts and mails."""
