"""`python -m wootz`: the command line."""
from ._command import main

main()
