"""Writes the descriptors of the open inference protocol, as Triton's own client ships them, to the file named in argv[1], with the
Go package set in each."""
import sys

from google.protobuf import descriptor_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

out = descriptor_pb2.FileDescriptorSet()
for module in (model_config_pb2, service_pb2):
    f = out.file.add()
    f.ParseFromString(module.DESCRIPTOR.serialized_pb)
    f.options.go_package = "github.com/sluice-data/sluice/gpu/triton/internal/pb;pb"
open(sys.argv[1], "wb").write(out.SerializeToString())
print(" ".join(f.name for f in out.file))
