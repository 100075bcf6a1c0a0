"""Modules that are generated from protocols are in no table."""
import tinker
import tinker.proto.tinker_public_pb2
from tinker.proto import tinker_public_pb2 as public

service = tinker.ServiceClient()
print(public.ForwardBackwardRequest, tinker.proto.tinker_public_pb2)
