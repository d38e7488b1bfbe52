"""The Pulumi provider `xmgen` (plugin `pulumi-resource-xmgen`) and the Local executor behind it."""

# Here, where neither side has to import the other: programs load no provider, and the provider no program's classes.
RUN_OUTPUTS = (
    "attempt",
    "exitCode",
    "exitCodes",
    "logPath",
    "outputPath",
    "startedAt",
    "durationSeconds",
    "metrics",
    "runner",
)
"""What a Run tells, by its names on the wire."""

CUSTOM_JOB_OUTPUTS = (
    "name",
    "state",
    "createTime",
    "startTime",
    "endTime",
    "error",
    "consoleUrl",
    "logUrl",
    "webAccessUris",
)
"""What a CustomJob tells."""
