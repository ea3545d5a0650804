#!/bin/sh
# Regenerates gpu/triton/internal/pb from the descriptors inside Triton's Python client. Run by `make proto`.
set -eu
cd "$(dirname "$0")/../.."
venv=.cache/proto bin=$PWD/.cache/bin out=gpu/triton/internal/pb
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/python -m pip install --quiet --disable-pip-version-check 'tritonclient[grpc]==2.73.0' grpcio-tools==1.81.1
GOBIN=$bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1
set -- $($venv/bin/python hack/proto/dump.py .cache/v2.pb)
PATH=$bin:$PATH $venv/bin/python -m grpc_tools.protoc --descriptor_set_in=.cache/v2.pb \
	--go_out=$out --go_opt=paths=source_relative --go-grpc_out=$out --go-grpc_opt=paths=source_relative "$@"
for f in $out/*.pb.go; do # the licence of the protocol goes on top of what was made from it
	{ sed 's,^,// ,; s, *$,,' $out/LICENSE; echo; cat "$f"; } >"$f.new"
	mv "$f.new" "$f"
done
gofmt -w $out/*.go
