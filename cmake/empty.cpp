// A shared library made of archives needs one source of its own.
