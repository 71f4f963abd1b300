config.max_aux_streams = 7
