# `make help` lists the targets; docs/setup.md says what they set up and where.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
PHASES := lint unit programs engine docker kubernetes rehearsal benchmarks
.PHONY: help quickstart test unit lint bench pulumi rehearsal clean $(PHASES:%=test-%)

BIN := .venv/bin
KUBERNETES := kube-apiserver kube-controller-manager kube-scheduler
REHEARSAL := .tools/bin/etcd .tools/bin/kwok $(KUBERNETES:%=.tools/bin/%) .tools/plugins/pulumi-resource-kubernetes
GCP_SDK := .tools/gcp-sdk/.stamp
UPSTREAM := .tools/upstream/.xmanager-0.8.5.post1
AIPLATFORM := .tools/aiplatform/.google-cloud-aiplatform-2.7.0

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A backend of its own, also for those who are logged in to another: the quickstart touches no account.
quickstart: export PULUMI_BACKEND_URL := file://$(CURDIR)/.xmgen/backend
quickstart: .venv/.quickstart pulumi ## set up, compile and run a real sweep on this machine; no account, no Docker
	@mkdir -p .xmgen/backend
	$(BIN)/xmgen compile examples/quickstart/launcher.py --stack quickstart
	$(BIN)/xmgen up quickstart --runner process --yes
	@echo
	@echo "See what a trial printed with: $(BIN)/xmgen logs quickstart 1"
	@echo "Remove it with: PULUMI_BACKEND_URL='$(PULUMI_BACKEND_URL)' $(BIN)/xmgen destroy quickstart"

test: .venv/.test $(UPSTREAM) $(AIPLATFORM) ## set up what the tests need and run them all
	@$(BIN)/python tools/run_tests.py

unit: test-unit ## the unit tests: from the network they need what pip installs, and no tool
lint: test-lint ## style and types

# The phases of `make test`, each with the set-up that it needs.
test-lint: ## ruff and pyright
test-unit: ## rules, compiled stacks, commands; nothing runs but Python
test-programs: ## generated programs with the SDKs of Google Cloud
test-engine: ## the Local executor, CustomJobs and commands through the real Pulumi engine
test-docker: ## trials in containers
test-kubernetes: ## manifests, rights and connections against a real API server
test-rehearsal: ## stacks on GKE through the engine, against a control plane and a simulated cloud
test-benchmarks: ## every benchmark in its quick form, without a verdict
$(PHASES:%=test-%): .venv/.test $(UPSTREAM) $(AIPLATFORM)
	@$(BIN)/python tools/run_tests.py $(@:test-%=%)

bench: .venv/.test $(AIPLATFORM) pulumi $(GCP_SDK) rehearsal ## run every script of benchmarks/ and judge the budgets
	@$(BIN)/python benchmarks

pulumi: | .venv/bin/python ## make sure that there is a Pulumi CLI
	@$(BIN)/python tools/get_pulumi.py

rehearsal: $(REHEARSAL) ## build what a rehearsal runs beside Pulumi

clean: ## remove what the targets above set up; results and state of stacks stay
	rm -rf .venv .tools

# One environment; the stamps say what has been installed into it.
.venv/bin/python: | .venv/.quickstart

.venv/.quickstart: pyproject.toml tools/venv.sh
	@tools/venv.sh --editable '.[examples]'
	@touch $@

.venv/.test: pyproject.toml tools/venv.sh
	@tools/venv.sh --editable . --group test
	@touch $@ .venv/.quickstart

# The tools that Go builds: tools/<name>/go.mod pins each.
.tools/bin/%: tools/%/go.mod tools/%/go.sum | .venv/bin/python
	@$(BIN)/python tools/go_build.py $*

# Kubernetes' own come from one module.
$(KUBERNETES:%=.tools/bin/%): .tools/bin/%: tools/kubernetes/go.mod tools/kubernetes/go.sum | .venv/bin/python
	@$(BIN)/python tools/go_build.py $* kubernetes

.tools/plugins/%: tools/%/go.mod tools/%/go.sum tools/%/main.go | .venv/bin/python
	@$(BIN)/python tools/go_build.py $*

# The language host's helper is a script of the engine's SDK, taken as it is.
.tools/bin/pulumi-language-python-exec: tools/pulumi/go.mod tools/pulumi/go.sum | .venv/bin/python
	@$(BIN)/python tools/go_build.py pulumi --copy github.com/pulumi/pulumi/sdk/v3 python/cmd/$(@F)

# XManager's own package, whose tests our launch API has to pass. Its dependencies are left out.
$(UPSTREAM):
	@rm -rf .tools/upstream
	@$(BIN)/python -m pip install --quiet --no-deps --no-compile --target .tools/upstream $(subst .tools/upstream/.xmanager-,xmanager==,$@)
	@touch $@

# Vertex AI's own messages, by which the tests read what is sent. Without its dependencies: only the messages are used.
$(AIPLATFORM):
	@rm -rf .tools/aiplatform
	@$(BIN)/python -m pip install --quiet --no-deps --no-compile --target .tools/aiplatform \
	    $(subst .tools/aiplatform/.google-cloud-aiplatform-,google-cloud-aiplatform==,$@) proto-plus==1.29.0
	@touch $@

# The SDKs of programs on Google Cloud, apart from our own environment: the engine would ask for the plugin of every SDK
# in it, on every command. The versions are those that the plugins of tools/ match. They are compiled once: they are large,
# and where PYTHONDONTWRITEBYTECODE is set every program would compile them again, which takes longer than all else it does.
$(GCP_SDK): tools/gcp_sdk.txt | .venv/bin/python
	@rm -rf $(@D)
	@$(BIN)/python -m pip install --quiet --no-deps --no-compile --target $(@D) --requirement $<
	@$(BIN)/python -m compileall -q -j 0 $(@D)
	@touch $@

.tools/docker/base.tar: tools/docker_base.sh
	@tools/docker_base.sh

.tools/docker/docker-registry: tools/docker_registry.sh
	@tools/docker_registry.sh
