"""Changes of single operators, numbers and conditions that some test must notice: ``make mutants``.

A driver of our own, because tools such as mutmut and cosmic-ray start the tests in a fresh process for every mutant,
which imports torch each time. Here a process that has imported torch is forked, so that a mutant costs its tests alone.
"""
