"""Plots of measurements for mails and files, as PNG and SVG."""
