# On a fresh machine `make demo` and `make test` do everything, set-up included.
# Works with GNU make 3.81, which macOS has.

PY := .venv/bin/python
READY := .venv/.ready
PYTEST_ARGS ?=
CLIENT := .cache/claude

.PHONY: help demo test check format e2e golden bench docs lock clean

help:
	@echo "make demo    the main job, end to end, on a scratch repository"
	@echo "make test    the tests"
	@echo "make check   formatting, lint, types, freshness of the generated docs"
	@echo "make e2e     the tests with the real Claude Code client"
	@echo "make bench   the benchmarks"
	@echo "make format  format the code    make golden  rewrite the golden files"
	@echo "make docs    generate docs      make lock    renew the lock    make clean"

$(READY): requirements-dev.lock pyproject.toml tools/set_up
	@tools/set_up
	@touch $(READY)

demo: $(READY)
	@$(PY) -m tools.demo

test: $(READY)
	@$(PY) -m pytest -n 2 --dist loadgroup --ignore=tests/e2e $(PYTEST_ARGS)

check: $(READY)
	@$(PY) -m ruff format --check --quiet . || { echo "hint: make format"; exit 1; }
	@$(PY) -m ruff check --quiet .
	@$(PY) -m mypy
	@$(PY) -m tools.generate_docs --check

format: $(READY)
	@$(PY) -m ruff format --quiet .
	@$(PY) -m ruff check --quiet --fix .

e2e: $(READY)
	@client=$$(tools/get_client $(CLIENT)) || { code=$$?; \
		test $$code = 3 && test -z "$$CI" && echo "== e2e skipped: no client here" && exit 0; \
		exit $$code; }; \
	CLAUDE_BIN="$$client" $(PY) -m pytest -n 2 tests/e2e $(PYTEST_ARGS)

golden: $(READY)
	@GOLDEN=write $(PY) -m pytest -n 2 --dist loadgroup --ignore=tests/e2e -m "not slow" $(PYTEST_ARGS)

bench: $(READY)
	@$(PY) -m tests.bench

docs: $(READY)
	@$(PY) -m tools.generate_docs

lock: $(READY)
	@$(PY) -m pip install -q --disable-pip-version-check uv
	@$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-annotate --no-header pyproject.toml --group dev -o requirements-dev.lock

clean:
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
