"""The rest of what launch scripts import from XManager: `xmanager.contrib`, `.cloud`, `.vizier` and `.xm_cloud`.

`xmgen.frontends.aliasing` maps the names. What only answers while jobs run, or only with credentials, refuses with an
error that says what to write instead.
"""
