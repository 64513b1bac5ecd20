"""The paper's figures and tables, made from the files in `results/`.

`catalogue.py` lists them; `exhibit.py` is what each consists of. A family of figures has a module:
`curves.py`, `bars.py`, `demonstrations.py` and `hyper_parameters.py`. `published.py` holds the
paper's own numbers, `claims.py` what it says about its curves and bars; `findings.py` compares.
"""
