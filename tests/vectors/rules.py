"""Where our right answer differs on purpose from what XManager recorded. By rule; no example is named here."""

from __future__ import annotations

RULES = {
    "quoting": """XManager writes arguments quoted for a shell; ours are the process's own argv. A recorded token is
        read back as the one text that XManager writes that way; what it cannot have quoted is taken as it stands.""",
    "merging": """XManager keeps a packageable's args and env apart from the job's (it bakes them into the image); ours
        are merged with the job's: an override keeps the first position, env values are strings. Where its executable
        carries the packageable's args to the job, the job's may already be the merged ones. What a job sets to
        None is taken away from what the packageable gave it.""",
    "experiment-id": """<XID> is XManager's clock in milliseconds and our stable number. The clock also stands unmarked
        where the recording missed it: one number of 13 digits, the same throughout a file.""",
    "temporary-folder": """<TMP> is a folder outside the example that was made while the script ran, or its name.""",
    "references": """What only the cloud knows is a reference in ours: a TensorBoard stands for
        `projects/…/locations/us-central1/tensorboards/NAME`, any other for one part of a path, whatever it is.""",
    "architecture": """XManager (since 0.8.5) notes the CPU architecture that an accelerator implies; ours notes only
        what the user asked for.""",
    "service-tier": """XManager does not print `PROD`, its default; ours notes it when the user asked for it.""",
    "docker-options": """An option that was left out is None in XManager's and empty in ours.""",
    "units": """What one work unit launches in several calls, or per executor, is one unit of ours: jobs are compared
        per executor, in order.""",
}
"""Name of the rule -> what it says. `python -m tests.vectors xmanager --rules` prints them."""
