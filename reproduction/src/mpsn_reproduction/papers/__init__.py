"""The experiments, one a table or figure: settings, work, table, figure."""
