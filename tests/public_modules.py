"""A contract of import-linter: a package imports another one's public modules only."""

from importlinter import Contract, ContractCheck, fields, output


class PublicModules(Contract):
    """No import of a module whose name, or that of a package around it, begins with _."""

    importer = fields.StringField()
    imported = fields.StringField()

    def check(self, graph, verbose):
        """Collect the imports of private modules."""
        inside = {self.importer, *graph.find_descendants(self.importer)}
        private = sorted(
            (one, other)
            for one in inside
            for other in graph.find_modules_directly_imported_by(one)
            if other.startswith(f"{self.imported}.") and "._" in other
        )
        return ContractCheck(kept=not private, metadata={"private": private})

    def render_broken_contract(self, check):
        """Print them."""
        for one, other in check.metadata["private"]:
            output.print_error(f"{one} imports {other}")
