"""``python -m adacanon`` is the ``adacanon`` command."""

from adacanon.cli import main

raise SystemExit(main())
