"""What REST gives and takes, as frozen dataclasses: commands read it by them."""
