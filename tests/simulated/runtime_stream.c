/* SPDX-License-Identifier: MIT
 * The CUDA runtime: streams, graphs. */
#include "stream.h"

/* -- streams ----------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER(cudaStreamCreateWithFlags);
    *out = stream_open(device_current());
    if (!*out)
        return runtime_error(cudaErrorMemoryAllocation);
    return cudaSuccess;
}

/* Its remaining work is still done; here it is forgotten. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ENTER_RELEASE(cudaStreamDestroy);
    if (!stream)
        return runtime_error(cudaErrorInvalidResourceHandle);
    stream_close(stream);
    return entered;
}

STUB(cudaError_t, cudaStreamSynchronize, (cudaStream_t stream),
     stream->capture ? cudaErrorStreamCaptureUnsupported : stream_run(stream, true), )
STUB(cudaError_t, cudaStreamQuery, (cudaStream_t stream),
     stream->capture ? cudaErrorStreamCaptureUnsupported : stream_run(stream, false), )

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER(cudaStreamBeginCapture);
    if (stream->capture)
        return runtime_error(cudaErrorIllegalState);
    stream->capture = object_open(OBJECT_GRAPH, sizeof(*stream->capture));
    if (!stream->capture)
        return runtime_error(cudaErrorMemoryAllocation);
    entry_capturing(1);
    return cudaSuccess;
}

/* The capture ends also where this is to fail. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct CUgraph_st *const captured = stream->capture;

    ENTER_RELEASE(cudaStreamEndCapture);
    if (!captured)
        return runtime_error(cudaErrorIllegalState);
    stream->capture = NULL;
    entry_capturing(-1);
    if (entered) {
        op_list_close(&captured->nodes);
        object_close(captured, true);
        return entered;
    }
    *graph = captured;
    return cudaSuccess;
}

/* -- graphs ------------------------------------------------------------------------------------ */

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    struct CUgraphExec_st *exec;

    ENTER(cudaGraphInstantiateWithFlags);
    exec = object_open(OBJECT_EXEC, sizeof(*exec));
    if (!exec || !op_list_copy(&exec->nodes, &graph->nodes))
        return runtime_error(cudaErrorMemoryAllocation);
    exec->references = 1;
    *out = exec;
    return cudaSuccess;
}

STUB(cudaError_t, cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), 0,
     stream->device->made_ns = stream->device->now_ns)

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER(cudaGraphLaunch);
    exec->references++;
    return runtime_error(stream_add(stream, (struct op){.kind = OP_GRAPH, .exec = exec}));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    ENTER_RELEASE(cudaGraphDestroy);
    op_list_close(&graph->nodes);
    object_close(graph, true);
    return entered;
}

/* One that still runs stays until it has ended. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    ENTER_RELEASE(cudaGraphExecDestroy);
    exec_release(exec);
    return entered;
}
