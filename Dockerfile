# sim_node with everything that make setup installs: rclpy from PyPI, MuJoCo, rendering without a display, the viewer.
#   docker build -t sim_node .
#   docker run --rm -p 127.0.0.1:8080:8080 sim_node run orbit --no-ros --view 8080
FROM debian:12-slim
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv python3-dev make g++ libegl1 libgl1-mesa-dri libopengl0 && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/sim_node
COPY . /opt/sim_node
# Modules are compiled here, or each container would compile what it imports.
RUN make setup && .venv/bin/python -m compileall -qq -j 0 .venv/lib; rm -rf /root/.cache
ENV PATH=/opt/sim_node/.venv/bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /work
ENTRYPOINT ["sim_node"]
CMD ["--help"]
