"""What each command does; `xmgen.cli` declares their arguments and imports them when they are called."""
