"""A server of the open inference protocol on the official stubs, whose models do one wrong thing each. It prints its port and serves until it is killed.

A request parameter "until" names a file that the server waits for before it answers, and "started" one that it makes when it has the request.
"""
import argparse
import asyncio
import mmap
import os

import grpc
from tritonclient.grpc import model_config_pb2 as mc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc as rpc

SIZES = {"BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2, "UINT32": 4, "INT32": 4, "FP32": 4,
         "UINT64": 8, "INT64": 8, "FP64": 8}
args = None
code = grpc.StatusCode


def count(shape):
    n = 1
    for x in shape:
        n *= x
    return n


class Fault(Exception):
    def __init__(self, status, words):
        super().__init__(words)
        self.status, self.words = status, words


async def wait_for(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.002)


class Server(rpc.GRPCInferenceServiceServicer):
    def __init__(self):
        self.regions, self.in_flight, self.registers, self.refusals = {}, 0, 0, 0
        self.stats, self.loaded = {}, set()

    async def ServerLive(self, q, c):
        return pb.ServerLiveResponse(live=True)

    async def ServerReady(self, q, c):
        return pb.ServerReadyResponse(ready=not args.not_ready)

    async def ServerMetadata(self, q, c):
        if args.restricted:
            await c.abort(code.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-grpc-protocol-x'")
        return pb.ServerMetadataResponse(name=args.dialect, version="0")

    async def ModelReady(self, q, c):
        return pb.ModelReadyResponse(ready=q.name != "unready")

    def kind(self, name):
        """type of input and output of a model"""
        if name.startswith("ident_"):
            return name[6:]
        return {"upper": "BYTES", "countdown": "INT32"}.get(name, "FP32")

    async def ModelMetadata(self, q, c):
        if args.restricted:
            await c.abort(code.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-grpc-protocol-x'")
        if q.name == "nope":
            await c.abort(code.NOT_FOUND, "Request for unknown model: 'nope' is not found")
        k = self.kind(q.name)
        r = pb.ModelMetadataResponse(name=q.name, versions=["1", "3"], platform="python")
        shape = [-1] if q.name in ("grow", "countdown") else [-1, -1]
        r.inputs.add(name="x", datatype=k, shape=shape)
        r.outputs.add(name="y", datatype=k, shape=shape)
        if args.dialect == "mlserver":
            del r.inputs[:], r.outputs[:]
        return r

    async def ModelConfig(self, q, c):
        if args.dialect != "triton":
            await c.abort(code.UNIMPLEMENTED, "Method not implemented!")
        g = mc.ModelConfig(name=q.name, backend="python", max_batch_size=0 if q.name in ("grow", "countdown") else 64)
        g.instance_group.add(count=2)
        g.parameters["labels"].string_value = "a,b"
        g.model_transaction_policy.decoupled = q.name == "countdown"
        p = g.dynamic_batching.default_queue_policy
        p.allow_timeout_override = q.name == "deadline"
        p.default_timeout_microseconds = 5_000_000
        return pb.ModelConfigResponse(config=g)

    async def ModelStatistics(self, q, c):
        if args.dialect != "triton":
            await c.abort(code.UNIMPLEMENTED, "Method not implemented!")
        r = pb.ModelStatisticsResponse()
        m = r.model_stats.add(name=q.name, version="3")
        n = self.stats.get(q.name, 0)
        m.inference_count = n
        m.inference_stats.success.count = n
        m.inference_stats.queue.ns = n * 2_000_000
        m.inference_stats.compute_infer.ns = n * 5_000_000
        return r

    async def RepositoryIndex(self, q, c):
        if args.dialect == "kserve":
            await c.abort(code.UNIMPLEMENTED, "Method not implemented!")
        r = pb.RepositoryIndexResponse()
        r.models.add(name="ident_FP32", version="3", state="READY")
        r.models.add(name="broken", version="1", state="UNAVAILABLE", reason="no such file")
        for m in sorted(self.loaded):
            r.models.add(name=m, version="1", state="READY")
        return r

    async def RepositoryModelLoad(self, q, c):
        if q.model_name == "nope":
            await c.abort(code.INTERNAL, "failed to load 'nope', failed to poll from model repository")
        self.loaded.add(q.model_name)
        return pb.RepositoryModelLoadResponse()

    async def RepositoryModelUnload(self, q, c):
        self.loaded.discard(q.model_name)
        return pb.RepositoryModelUnloadResponse()

    async def SystemSharedMemoryRegister(self, q, c):
        if args.no_shm:
            await c.abort(code.UNIMPLEMENTED, "Client shared memory is disabled. Use --allow-client-shm=true to enable")
        if q.name in self.regions:
            await c.abort(code.ALREADY_EXISTS, "shared memory region '%s' already in manager" % q.name)
        try:
            fd = os.open("/dev/shm" + q.key, os.O_RDWR)
        except OSError:
            await c.abort(code.INTERNAL, "Unable to open shared memory region: '%s'" % q.key)
        if q.byte_size > os.fstat(fd).st_size:
            await c.abort(code.INVALID_ARGUMENT, "failed to register shared memory region '%s': invalid args" % q.name)
        self.regions[q.name] = mmap.mmap(fd, q.byte_size, offset=q.offset)
        os.close(fd)
        self.registers += 1
        if args.lose_first_register and self.registers == 1:
            await c.abort(code.UNAVAILABLE, "connection reset")
        return pb.SystemSharedMemoryRegisterResponse()

    async def SystemSharedMemoryUnregister(self, q, c):
        if self.in_flight or self.refusals < 1:  # once without a reason, as Triton 2.51 does
            self.refusals += 1
            await c.abort(code.INTERNAL, "Cannot unregister shared memory region '%s', it is currently in use." % q.name)
        self.regions.pop(q.name, None)
        return pb.SystemSharedMemoryUnregisterResponse()

    def place(self, p):
        name, size, at = p["shared_memory_region"].string_param, p["shared_memory_byte_size"].int64_param, p["shared_memory_offset"].int64_param
        if name not in self.regions:
            raise Fault(code.NOT_FOUND, "Unable to find shared memory region: '%s'" % name)
        m = self.regions[name]
        if at + size > len(m):
            raise Fault(code.INVALID_ARGUMENT, "Invalid offset + byte size for shared memory region: '%s'" % name)
        return m, at, size

    def inputs(self, q):
        raw, out = list(q.raw_input_contents), []
        for i in q.inputs:
            if "shared_memory_region" in i.parameters:
                m, at, size = self.place(i.parameters)
                out.append(bytes(m[at:at + size]))
            else:
                out.append(raw.pop(0))
            if i.datatype in SIZES and len(out[-1]) != count(i.shape) * SIZES[i.datatype]:
                raise Fault(code.INVALID_ARGUMENT, "[request id: <id_unknown>] input byte size mismatch for input '%s'" % i.name)
        if raw:
            raise Fault(code.INVALID_ARGUMENT, "unexpected additional input data for model '%s'" % q.model_name)
        return out

    async def ModelInfer(self, q, c):
        self.in_flight += 1
        try:
            if q.parameters["started"].string_param:
                open(q.parameters["started"].string_param, "w").close()
            x = self.inputs(q)
            if q.parameters["until"].string_param:
                # as Triton: a cancel does not reach a model that runs
                await asyncio.shield(wait_for(q.parameters["until"].string_param))
            r = await self.run(q, x)
            self.stats[q.model_name] = self.stats.get(q.model_name, 0) + 1
            return r
        except asyncio.CancelledError:
            if q.parameters["until"].string_param:
                await wait_for(q.parameters["until"].string_param)
                await self.run(q, x)
                open(q.parameters["until"].string_param + ".written", "w").close()
            raise
        except Fault as f:
            await c.abort(f.status, f.words)
        finally:
            self.in_flight -= 1

    async def run(self, q, x):
        name, i = q.model_name, q.inputs[0]
        if name == "hang":
            await asyncio.Event().wait()
        faults = {
            "stub": (code.INTERNAL, "Failed to process the request(s) for model instance 'stub_0_0', message: Stub process 'stub_0_0' is not healthy."),
            "boom": (code.INTERNAL, "Failed to process the request(s) for model instance 'boom_0_0', message: ValueError: boom"),
            "queue": (code.UNAVAILABLE, "[request id: <id_unknown>] Exceeds maximum queue size"),
            "expired": (code.UNAVAILABLE, "[request id: <id_unknown>] Request timeout expired"),
            "gone": (code.NOT_FOUND, "Request for unknown model: 'gone' is not found"),
            "loading": (code.NOT_FOUND, "Request for unknown model: 'loading' has no available versions"),
            "refused": (code.INVALID_ARGUMENT, "[request id: <id_unknown>] row refused"),
            "secret": (code.UNAUTHENTICATED, "token wanted"),
            "rate": (code.RESOURCE_EXHAUSTED, "slow down"),
        }
        if name in faults:
            raise Fault(*faults[name])
        y, shape, kind = x[0], list(i.shape), i.datatype
        if name == "wrong_dtype":
            kind, y = "INT64", y * 2
        elif name == "wrong_shape":
            shape[0] += 1
        elif name == "negative_shape":
            shape[0] = -1
        elif name == "grow":
            y, shape = y * 3, [shape[0] * 3]
        elif name == "oversize":
            y, shape = b"\0" * (8 << 20), [1, 2 << 20]
        elif name == "upper":
            y = y.upper() if y.isascii() else y
        elif name == "deadline":
            left = q.parameters["timeout"].int64_param
            y, shape, kind = (float(left)).hex().encode(), shape, kind
            raise Fault(code.INVALID_ARGUMENT, "timeout is %d" % left)
        r = pb.ModelInferResponse(model_name=name, model_version="3", id=q.id)
        o = r.outputs.add(name="y", datatype=kind, shape=shape)
        asked = {z.name: z for z in q.outputs}.get("y")
        if asked is not None and "shared_memory_region" in asked.parameters:
            m, at, size = self.place(asked.parameters)
            if size < len(y):
                raise Fault(code.INTERNAL, "shared memory size specified with the request for output 'y' (%d bytes) should be at least %d bytes to hold the results" % (size, len(y)))
            m[at:at + len(y)] = y
            r.raw_output_contents.append(b"")
        elif args.typed and kind == "FP32":
            import struct
            o.contents.fp32_contents.extend(struct.unpack("<%df" % (len(y) // 4), y))
        else:
            r.raw_output_contents.append(y)
        return r

    async def ModelStreamInfer(self, requests, c):
        async for q in requests:
            try:
                n = int.from_bytes(self.inputs(q)[0], "little")
            except Fault as f:
                yield pb.ModelStreamInferResponse(error_message=f.words)
                continue
            for k in range(n):
                if k == 7:
                    yield pb.ModelStreamInferResponse(error_message="the seventh is unlucky")
                    return
                r = pb.ModelInferResponse(model_name=q.model_name, id=q.id)
                r.outputs.add(name="y", datatype="INT32", shape=[1])
                r.raw_output_contents.append((n - k).to_bytes(4, "little"))
                if args.dialect == "mlserver":  # bare responses: other fields under the same numbers
                    yield pb.ModelStreamInferResponse.FromString(r.SerializeToString())
                else:
                    yield pb.ModelStreamInferResponse(infer_response=r)
            if args.dialect == "triton" and q.parameters["triton_enable_empty_final_response"].bool_param:
                r = pb.ModelInferResponse(model_name=q.model_name, id=q.id)
                r.parameters["triton_final_response"].bool_param = True
                yield pb.ModelStreamInferResponse(infer_response=r)


async def main():
    s = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)])
    rpc.add_GRPCInferenceServiceServicer_to_server(Server(), s)
    port = s.add_insecure_port("127.0.0.1:%d" % args.port)
    await s.start()
    print(port, flush=True)
    await s.wait_for_termination()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--dialect", default="triton")
    for flag in ("no-shm", "restricted", "lose-first-register", "typed", "not-ready"):
        p.add_argument("--" + flag, action="store_true")
    args = p.parse_args()
    asyncio.run(main())
