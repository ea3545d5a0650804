#!/bin/sh
# Runs the Triton server inside the nvidia-pytriton wheel, on this machine's loopback, with its Python backend.
# usage: triton.sh REPOSITORY SCRATCH HTTP-PORT GRPC-PORT METRICS-PORT [flags of tritonserver]
set -eu
venv=$(cd "$(dirname "$0")/../.." && pwd)/.cache/server-triton
repo=$1 scratch=$2 http=$3 grpc=$4 metrics=$5
shift 5
ask() { "$venv/bin/python" -c "import sys, sysconfig; print($1)"; }
site=$(ask 'sysconfig.get_path("purelib")')
lib=$(ask 'sysconfig.get_config_var("LIBDIR")')
version=$(ask '"%d.%d" % sys.version_info[:2]')
server=$site/pytriton/tritonserver
mkdir -p "$scratch/python"
cp "$server/backends/python/libtriton_python.so" "$server/backends/python/triton_python_backend_utils.py" \
	"$server/python_backend_stubs/$version/triton_python_backend_stub" "$scratch/python/"
export LD_LIBRARY_PATH="$lib:$site/nvidia_pytriton.libs" PATH="$venv/bin:$PATH"
exec "$server/bin/tritonserver" --model-repository="$repo" --backend-directory="$scratch" --cache-directory="$server/caches" \
	--http-port "$http" --grpc-port "$grpc" --metrics-port "$metrics" \
	--http-address 127.0.0.1 --grpc-address 127.0.0.1 --metrics-address 127.0.0.1 \
	--allow-gpu-metrics=false --exit-timeout-secs=5 "$@"
