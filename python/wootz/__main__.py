"""`python -m wootz`: the command line."""
from _wootz_command import main

if __name__ == "__main__":
    main()
