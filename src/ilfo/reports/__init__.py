"""Reports about runs: read from run directories, compared, drawn, written as HTML."""
