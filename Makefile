# Everything a person or CI runs. `make help` prints the line behind each target's `##`.
.DEFAULT_GOAL := help
.PHONY: help install up down reset logs test check types fix gen agent sbom console console-demo bench
MAKEFLAGS += --no-print-directory

NODE := ./tools/node.sh

help: ## List these targets
	@echo "GPUaaS: make up starts the platform, make test runs every test."
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)$$/\1\t\2/p' Makefile | awk -F'\t' '{ printf "  make %-14s%s\n", $$1, $$2 }'
	@echo
	@echo "  up     DETACH=1 in the background, GPUAAS_PORT=8080, DATABASE_URL=postgresql://..."
	@echo "  test   LANE=platform-control|sim|app-control|worker-compute, TIER=fast|slow|node|all,"
	@echo "         FILES=\"path ...\"; GPUAAS_REQUIRE=all makes a skip a failure"
	@echo "  bench  NAME=x for one measurement"

install: ## Install packages as the lockfile names them
	@./tools/install.sh

up: install ## Run the whole platform on this machine
	@exec $(NODE) lab/src/up.ts $(if $(filter 1 true yes,$(DETACH)),--detach)

down: install ## Stop what `make up DETACH=1` started
	@exec $(NODE) lab/src/down.ts

reset: install ## Stop it and clear its state (.gpuaas/)
	@exec $(NODE) lab/src/reset.ts

logs: ## Follow the server's log
	@exec tail -n 50 -F "$${GPUAAS_STATE_DIR:-.gpuaas}/log/server.log"

test: install ## Run every test
	@./tools/test/ensure-packages.sh
	$(if $(filter slow all,$(TIER)),@./tools/test/ensure-keycloak.sh)
	@exec $(NODE) tools/test.ts $(if $(LANE),--lane "$(LANE)") $(if $(TIER),--tier "$(TIER)") $(FILES)

check: install ## Types, lint, format, import rules, dead code, contract and schema drift
	@exec $(NODE) tools/check.ts

types: install ## Only the compiler, for the server and for the console
	@$(NODE) node_modules/typescript7/bin/tsc -p .
	@exec $(NODE) node_modules/typescript7/bin/tsc -p console

fix: install ## Format and apply safe lint fixes
	@exec node_modules/.bin/biome check --write .

gen: install ## Write the generated files: contract documents, schema, types, workflow versions
	@exec $(NODE) tools/gen.ts

agent: install ## Build the node agent: dist/gpuaas-node-agent.mjs and its digest
	@exec $(NODE) tools/bundle-agent.ts

sbom: install ## Write the software bill of materials: dist/sbom.cdx.json (CycloneDX)
	@exec $(NODE) tools/sbom.ts

console: install ## Build the web console and the API reference, which the server serves
	@$(NODE) tools/build-console.ts
	@exec $(NODE) tools/build-reference.ts

console-demo: install ## Run the web console in the browser with no backend (PORT=8090)
	@exec $(NODE) console/test/demo.ts $(PORT)

bench: install ## Measure side by side, one JSON object per line
	@./tools/test/ensure-packages.sh packages.txt bench-packages.txt
	@exec $(NODE) bench/run.ts $(NAME)
