"""Reports about runs: read from run directories, compared, drawn, written as HTML.

`read_run` reads a run directory, finished or not; `group_runs` puts runs together that differ in
their seeds alone. `report_page` and `comparison_page` write HTML.
"""

from typing import TYPE_CHECKING

from ilfo.common.lazy import lazy_exports

if TYPE_CHECKING:
    from ilfo.reports.groups import Group, group_runs
    from ilfo.reports.page import comparison_page, report_page
    from ilfo.reports.records import RunRecord, read_run

__all__ = [
    "Group",
    "RunRecord",
    "comparison_page",
    "group_runs",
    "read_run",
    "report_page",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Group": "groups",
        "RunRecord": "records",
        "comparison_page": "page",
        "group_runs": "groups",
        "read_run": "records",
        "report_page": "page",
    },
)
