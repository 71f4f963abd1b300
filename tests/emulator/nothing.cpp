// A library without functions, which the backend therefore does without.
