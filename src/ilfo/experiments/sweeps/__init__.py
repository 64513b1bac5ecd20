"""The sweeps that `ilfo bench` knows, one module each; `CELLS` lists the cells of a sweep."""
