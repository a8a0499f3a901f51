"""``python -m mirrorlake`` is the command ``mirrorlake``."""

from mirrorlake.cli import main

main()
