// Pulumi's provider for Kubernetes, as its releases build it but without the schema, which only SDK generators ask for.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

// The release before the pinned commit; the Python SDK that asks for the plugin has this version.
const version = "4.24.1"

func main() {
	provider.Serve("kubernetes", version, []byte("{}"), []byte("{}"))
}
