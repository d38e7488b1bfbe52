"""What launch scripts import from XManager, under XManager's names: `xmanager.xm` is `xm` here, and so on.

`frontends.xmanager.aliasing` answers for them. What only answers while jobs run, or only with credentials, refuses with
an error that says what to write instead.
"""
