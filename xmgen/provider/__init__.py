"""The Pulumi provider `xmgen` (plugin `pulumi-resource-xmgen`) and the Local executor behind it."""
