# `make run` and `make test` are all that a fresh machine needs; the rest is for people who change things.
PYTHON ?= python3
WORLD ?=
ARGS ?=
PEERS ?=
BASE ?=
# Two more than there are cores: many tests wait for programs that they started.
WORKERS ?= $(shell echo $$(($$(nproc) + 2)))
BIN := .venv/bin
SETUP_INPUTS := tools/bootstrap.py setup.py requirements/uv.lock requirements/core.lock requirements/ros.lock requirements/numpy1.lock interfaces/CMakeLists.in $(wildcard interfaces/tf2_msgs/*.* interfaces/tf2_msgs/*/*)

# Set where another Python's ROS wheels have found their libraries; ours would then not look for their own.
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Where it is set, each of the thousand programs that tests start compiles this package again: 0.2 s of the 0.6 that it
# takes to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run setup dist docs test pytest test-nightly test-ros test-peers test-wheel test-times test-coverage lint types imports kernels bench bench-compare stress reliability golden pictures doctor lock changelog clean always

# With the viewer, whose address is printed first, unless ARGS has --no-view, or --view with a port.
run: .venv/.ready
	@exec $(BIN)/sim_node run $(if $(WORLD),"$(WORLD)") $(if $(filter --view --view=% --no-view,$(ARGS)),,--view) $(ARGS)

setup: .venv/.ready

doctor: .venv/.ready
	@exec $(BIN)/sim_node doctor

# One process compiles kernels, and one checks types, which takes longer than all else before the tests: beside each
# other, and then beside the first tests. These begin when the kernels are there, unless something has failed until then.
test: .venv/.ready-for-tests
	@$(MAKE) --no-print-directory -j 2 lint kernels imports types pytest

# Tests that call make are no jobs of this one.
pytest: .venv/.ready-for-tests kernels
	MAKEFLAGS= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# The second tier: the other rows of the matrices of make test, such as all shipped worlds, long soaks, details that take
# seconds, and more examples of hypothesis.
test-nightly: .venv/.ready-for-tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "nightly and not hypothesis" $(ARGS)
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal \
		-m "hypothesis and (nightly or not nightly)" $(ARGS)

# What needs upstream launch, launch_ros, ros2cli and tf2_ros: of a sourced ROS 2, or of the colcon workspace PEERS.
test-ros: .venv/.ready-for-tests
	@$(BIN)/python tools/with_upstream.py "$(PEERS)" \
		$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m upstream --require-upstream $(ARGS)

# What needs programs of others, or takes long: PX4 and ArduPilot, where PX4_DIR and ARDUPILOT_DIR name checkouts that
# are built for software in the loop; MAVSDK, MAVProxy and DroneKit, each in an environment of its own that is made
# here. What is missing is skipped, and said.
test-peers: .venv/.ready-for-tests
	@$(BIN)/python tools/peers.py
	@$(BIN)/sim_node build simulation_interfaces
	@$(BIN)/sim_node build geographic_msgs
	@$(BIN)/sim_node build mavros_msgs
	@$(BIN)/sim_node build px4_msgs
	@$(BIN)/sim_node build ardupilot_msgs
	@$(BIN)/sim_node build control_msgs
	$(BIN)/python -m pytest -m peers $(ARGS)

# Every command with the built wheel in an empty environment, alone and with each extra. Downloads packages.
test-wheel: .venv/.ready-for-tests
	$(BIN)/python -m pytest -m wheel $(ARGS)

# The slowest thirty of all tests.
test-times: .venv/.ready-for-tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --durations=30 --durations-min=0 $(ARGS)

# Which lines of sim_node no test runs, in build/coverage/html; programs that tests start count. Compiled kernels are not
# seen. coverage is not in .venv: where it is, numba imports it, 0.08 s for each of these programs.
COVERAGE = PYTHONPATH=build/coverage/site $(BIN)/python -m
test-coverage: .venv/.ready-for-tests build/coverage/.ready
	rm -f build/coverage/data*
	-COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(COVERAGE) pytest -n $(WORKERS) --dist worksteal -q $(ARGS)
	$(COVERAGE) coverage combine --quiet
	$(COVERAGE) coverage html --quiet
	$(COVERAGE) coverage report --skip-covered --sort=miss

build/coverage/.ready: requirements/coverage.lock
	rm -rf build/coverage
	$(BIN)/python -m pip install --quiet --require-hashes --target build/coverage/site -r requirements/coverage.lock
	@echo "import coverage; coverage.process_startup()" > build/coverage/site/sitecustomize.py
	@touch $@

lint: .venv/.ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.ready-for-tests
	$(BIN)/mypy

imports: .venv/.ready-for-tests
	$(BIN)/lint-imports

kernels: .venv/.ready-for-tests
	$(BIN)/python tools/compile_kernels.py

bench: .venv/.ready-for-tests
	$(BIN)/python -m bench $(ARGS)

# Of two commits in turns: what is slower than in BASE by three percent, of its ratio to an alternative.
bench-compare: .venv/.ready-for-tests
	$(if $(BASE),,$(error BASE is missing; for example: make bench-compare BASE=main))
	$(BIN)/python -m bench.compare "$(BASE)" $(ARGS)

# The long ones: at most three hours on two idle cores, for each part has a limit of its own. Minutes that each takes,
# projected from short runs on a busy machine:
#   11  ten minutes at 60 Hz
#    4  ten million operations on the transform tree by two threads
#    4  half a simulated hour in lockstep with the built-in autopilot
#   80  a million inputs for each door that takes bytes, a hundred thousand for each that takes files
#   40  each long command stopped a hundred times by Ctrl-C and a hundred times by kill -9
STRESS = $(BIN)/python -m
stress: .venv/.ready-for-tests
	timeout 13m $(STRESS) bench.endurance $(ARGS)
	timeout 6m $(STRESS) bench.tree_stress
	timeout 6m $(STRESS) bench.lockstep --over tcp --seconds 1800 --out bench/results/lockstep_stress.json
	timeout 100m $(STRESS) stress
	timeout 55m $(STRESS) stress.stops

# The ten shipped scenarios 1,000 times each, and the table of docs/reliability.md in build/reliability: nights. What is
# judged stays judged: end it at any time, and go on. ARGS="--autopilot px4 --runs 200 -n 1 hover_in_gusts" selects.
reliability: .venv/.ready-for-tests
	$(BIN)/python tools/reliability.py $(ARGS)

# The pictures that pages are compared with, in test/data/first_pictures. Look at them before you commit them.
golden: .venv/.ready-for-tests
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q test/system/test_first_pictures.py -m "nightly or not nightly" $(ARGS)

# The pictures of the README and the docs, drawn by the project itself.
RENDER = $(BIN)/sim_node render
pictures: .venv/.ready-for-tests
	$(RENDER) quadrotor --video docs/images/quadrotor.webp --from 3 --duration 8 --fps 8 --speed 1.6 --size 640x300 \
		--trail drone/base_link --frames drone/base_link --follow drone/base_link --camera=-2.0,-1.35,0.75
	$(RENDER) lidar_room --at 6 --camera=3.6,-9.4,10@0.1,-0.1,0.2,54 --size 1200x560 \
		--frames cart/base_link cart/LIDAR_TOP -o docs/images/lidar_room.png
	$(RENDER) formation --at 21 --camera=-16,-18,12@0,0,4.8,50 --size 800x400 \
		--trail alpha/base_link bravo/base_link charlie/base_link \
		--frames alpha/base_link bravo/base_link charlie/base_link -o docs/images/formation.png
	$(RENDER) arm --at 3.5 --camera=3.9,-3.1,2.5@0.8,-0.1,1.05,50 --size 1000x480 \
		--trail arm/tool0 --frames arm/base_link arm/tool0 -o docs/images/arm.png
	$(RENDER) two_vehicles --at 9 --size 1000x480 --trail rover/base_link scout/base_link \
		-o docs/images/two_vehicles.png
	$(BIN)/python tools/draw_world.py orbit 0 11.2 docs/images/orbit.svg
	$(BIN)/python tools/draw_bodies.py all_joints 0 0.6 cor docs/images/all-joints.svg
	$(BIN)/python tools/draw_world.py quadrotor 0 36 docs/images/quadrotor.svg
	$(BIN)/python tools/draw_house.py
	$(BIN)/python tools/draw_frames.py
	$(BIN)/python tools/draw_sensors.py
	$(BIN)/python tools/draw_assembly.py
	$(BIN)/python tools/draw_physics.py
	$(BIN)/python tools/draw_scene.py
	$(BIN)/python tools/draw_models.py
	rm -rf build/flight && mkdir -p build
	$(BIN)/sim_node run quadrotor --no-ros --speed max --duration 12 --record build/flight
	$(BIN)/sim_node plot build/flight /drone/truth/odom.pose.pose.position.x /drone/truth/odom.pose.pose.position.z \
		/drone/imu/data_raw.angular_velocity.z -o docs/images/bag-plot.png
	$(BIN)/python tools/draw_tutorial.py
	$(BIN)/python tools/draw_pages.py
	$(BIN)/python tools/draw_curves.py
	$(BIN)/python tools/draw_viewer.py

lock:
	tools/lock.sh

# The site in build/site: pages, reference and search, without a network. Fails for broken links and misspelt words.
DOCS = build/docs-env/bin
docs: build/docs-env/.ready .venv/.ready-for-tests
	$(DOCS)/codespell
	$(BIN)/python tools/site_pages.py build/site-pages
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --quiet
	@echo "build/site/index.html"

build/docs-env/.ready: requirements/docs.lock
	$(PYTHON) -m venv build/docs-env
	$(DOCS)/pip install --quiet --require-hashes -r requirements/docs.lock
	@touch $@

# At a release: the sdist and the wheel in dist/, checked. Its tools have an environment of their own.
DIST = build/dist-env/bin/python
dist: build/dist-env/.ready
	@$(DIST) -m check_manifest
	rm -rf dist
	$(DIST) -m build --quiet
	$(DIST) -m twine check --strict dist/*

build/dist-env/.ready: requirements/dist.lock
	$(PYTHON) -m venv build/dist-env
	$(DIST) -m pip install --quiet --require-hashes -r requirements/dist.lock
	@touch $@

# At a release: joins the fragments in changes/ into CHANGELOG.md and deletes them.
changelog: .venv/.ready-for-tests
	$(if $(VERSION),,$(error VERSION is missing; for example: make changelog VERSION=1.2.3))
	$(BIN)/towncrier build --yes --version "$(VERSION)"

clean:
	rm -rf .venv build dist install log bench/results sim_node.egg-info

.venv/.ready: $(SETUP_INPUTS)
	@$(PYTHON) tools/bootstrap.py
	@touch $@

.venv/.ready-for-tests: $(SETUP_INPUTS) requirements/test.lock requirements/elodin.lock requirements/elodin1.lock \
		requirements/film.lock requirements/learn.lock requirements/mcp.lock \
		$(wildcard test/plugin/*.toml test/plugin/*/*.py)
	@$(PYTHON) tools/bootstrap.py elodin film learn mcp test
	@touch .venv/.ready $@

# .venv was made for this folder and for the ROS 2 of the shell; in another one it is made anew.
ifneq ($(wildcard .venv/.made-for),)
ifneq ($(strip $(CURDIR) $(ROS_DISTRO)),$(strip $(shell cat .venv/.made-for)))
.venv/.ready .venv/.ready-for-tests: always
endif
endif
always:
